/** L8 for teams: all strategies run at once in a process that is killed several times, and end as if it had not been killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { CODE_CACHE } from '../../scripts/tool.ts';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { replay } from '@sluice-internal/engine/audit';
import { readRun } from '@sluice-internal/engine/journal';
import { reportOf } from '@sluice-internal/engine/report';
import { program } from '../support/programs.ts';
import { exampleNames } from '../dialects/team-example-files.ts';
import { compileExample, playExample } from '../dialects/team-examples.ts';

const KILLS = 3;
const SEED = Number(process.env['SEED'] ?? 7);

test(`L8: ${KILLS} times kill -9 under all strategies (seed ${SEED})`, { timeout: 240_000 }, async () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-teams-'));
  const db = join(root, 'teams.db');
  const flows = exampleNames().map((name) => [name, compileExample(name).flow] as const);
  writeFileSync(join(root, 'flows.json'), JSON.stringify(Object.fromEntries(flows)));
  let chance = SEED;
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      chance = (chance * 1_103_515_245 + 12_345) % 2_147_483_648;
      await work(db, root, kill, 15 + (chance % 120));
    }
    expect(await work(db, root, KILLS, null)).toBe('done');
    const store = openSqlite(db);
    for (const [name, flow] of flows) {
      const run = reportOf(await readRun(store.journal, name));
      const { report } = await playExample(name, flow);
      expect({ name, code: run.code, path: run.path, output: run.output }).toEqual({
        name,
        code: report.code,
        path: report.path,
        output: report.output,
      });
      expect(await replay(store.journal, name)).toMatchObject({ agrees: true });
    }
    await store.close();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

/** Works until all have ended, or is killed that many milliseconds after it has begun to; gives the last thing it said. */
async function work(db: string, root: string, life: number, killAfterMs: number | null): Promise<string> {
  const child = spawn(process.execPath, [program('test/crash/team-worker.ts'), db, root, String(life)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: CODE_CACHE },
  });
  let last = '';
  const exit = once(child, 'exit');
  createInterface(child.stdout).on('line', (line) => {
    last = line;
    if (line === 'ready' && killAfterMs !== null) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  });
  await exit;
  return last;
}
