/** `sluice memory`, and what `erase`, `prune`, `backup` and `kill -9` do to memory, through the command line. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { memoryFileOf } from '@sluice-internal/store-sqlite';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const LOOP = `
agents: [{ id: clerk, tools: [find] }]
tools: { find: { effect: read, trust: trusted } }
budgets: { tool_calls: 5 }
loop: { id: orders, agent: clerk, memory: true }
`;
const SCRIPT = `
agents:
  clerk:
    - { when: "input.contains('memory of run')", text: "I remember A-17." }
    - { tools: [{ name: find, args: { q: 1 } }], text: "" }
    - "The order is A-17."
tools: { find: [{ result: "order A-17" }] }
`;
const FILES = { 'm.loop.yaml': LOOP, 's.yaml': SCRIPT };

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly tenant: string | null;
  readonly user: string | null;
  readonly run: string;
  readonly released: { readonly by: string } | null;
}

function run(cwd: string, id: string, ...more: string[]) {
  return sluice(['run', 'm.loop.yaml', '--script', 's.yaml', '--run', id, '--input', 'Which order?', ...more], { cwd });
}

async function listed(cwd: string, ...more: string[]): Promise<readonly Listed[]> {
  const { stdout } = await sluice(['memory', 'list', '--json', ...more], { cwd });
  return JSON.parse(stdout) as Listed[];
}

describe('memory across runs', () => {
  test('the same tenant, user and agent remember; all others do not', async () => {
    const cwd = folder(FILES);
    await run(cwd, 'r1', '--tenant', 'acme', '--user', 'ann');
    const again = await run(cwd, 'r2', '--tenant', 'acme', '--user', 'ann');
    expect(again.stdout).toContain('I remember A-17.');
    for (const other of [
      ['--tenant', 'bank', '--user', 'ann'],
      ['--tenant', 'acme', '--user', 'bob'],
      ['--user', 'ann'],
      [],
    ])
      expect((await run(cwd, `r${other.join('')}`.replaceAll('-', '_'), ...other)).stdout).toContain('The order is');
    expect(await listed(cwd)).toHaveLength(5);
    expect(await listed(cwd, '--tenant', 'acme', '--user', 'ann')).toMatchObject([{ tenant: 'acme', run: 'r1' }]);
  });

  test('a replay needs no memory', async () => {
    const cwd = folder(FILES);
    await run(cwd, 'r1');
    await run(cwd, 'r2');
    const [entry] = await listed(cwd);
    await sluice(['memory', 'forget', entry?.id ?? ''], { cwd });
    expect((await sluice(['replay', 'r2'], { cwd })).status).toBe(0);
  });

  test('a search finds words, and filters go together', async () => {
    const cwd = folder(FILES);
    await run(cwd, 'r1', '--user', 'ann');
    expect(await listed(cwd, '--search', 'ORDER')).toHaveLength(1);
    expect(await listed(cwd, '--search', 'nothing')).toEqual([]);
    expect(await listed(cwd, '--state', 'quarantined')).toEqual([]);
    expect(await listed(cwd, '--agent', 'clerk', '--state', 'active', '--limit', '1')).toHaveLength(1);
    const wrong = await sluice(['memory', 'list', '--state', 'gone'], { cwd });
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('quarantined')]);
  });
});

describe('operators', () => {
  test('release once, and the database records it', async () => {
    const cwd = folder({ ...FILES, 'm.loop.yaml': LOOP.replace(', trust: trusted', '') });
    const first = await run(cwd, 'r1', '--tenant', 'acme');
    expect(first.stderr).toContain('is in quarantine');
    expect((await run(cwd, 'r2', '--tenant', 'acme')).stdout).toContain('The order is');
    const [, entry] = await listed(cwd);
    const id = entry?.id ?? '';
    const released = await sluice(['memory', 'release', id, '--tenant', 'acme', '--as', 'olga', '--json'], { cwd });
    expect(JSON.parse(released.stdout)).toMatchObject({ id, state: 'active', released: { by: 'olga' } });
    expect((await sluice(['memory', 'release', id, '--as', 'tom'], { cwd })).status).toBe(0);
    expect((await run(cwd, 'r3', '--tenant', 'acme')).stdout).toContain('I remember');
    expect(JSON.parse((await sluice(['memory', 'log', '--json', '--tenant', 'acme'], { cwd })).stdout)).toMatchObject([
      { what: 'memory.released', entry: id, by: 'olga' },
    ]);
    expect(JSON.parse((await sluice(['memory', 'log', '--json', '--tenant', 'bank'], { cwd })).stdout)).toEqual([]);
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  });

  test('of another tenant get a violation that is recorded, and change nothing', async () => {
    const cwd = folder(FILES);
    await run(cwd, 'r1', '--tenant', 'acme');
    const id = (await listed(cwd))[0]?.id ?? '';
    for (const act of ['show', 'release', 'forget']) {
      const { status, stderr } = await sluice(['memory', act, id, '--tenant', 'bank'], { cwd });
      expect([status, stderr]).toEqual([1, expect.stringContaining('error[memory-violation]')]);
      expect(stderr).not.toContain('A-17');
    }
    expect(await listed(cwd, '--tenant', 'bank')).toEqual([]);
    expect(await listed(cwd, '--tenant', 'acme')).toHaveLength(1);
    const log = await sluice(['memory', 'log', '--json'], { cwd });
    expect(JSON.parse(log.stdout)).toMatchObject([1, 2, 3].map(() => ({ what: 'memory.violated', entry: id })));
  });

  test.each([
    [['memory', 'show', 'm_none'], 1, 'error[memory-not-found]'],
    [['memory', 'shwo', 'm_none'], 2, 'Did you mean `show`?'],
    [['memory', 'list', '--limit', '0'], 2, '--limit'],
  ])('%j is an error', async (args, status, message) => {
    const cwd = folder(FILES);
    await run(cwd, 'r1');
    const ran = await sluice(args, { cwd });
    expect([ran.status, ran.stderr]).toEqual([status, expect.stringContaining(message)]);
  });

  test('without a database there is no memory', async () => {
    const { status, stderr } = await sluice(['memory', 'list'], { cwd: folder() });
    expect([status, stderr]).toEqual([1, expect.stringContaining('error[memory-not-found]: there is no memory')]);
  });
});

describe('the end of an entry', () => {
  test('`erase` and `prune` delete what a run remembered', async () => {
    const cwd = folder(FILES);
    await run(cwd, 'r1', '--user', 'ann');
    await run(cwd, 'r2', '--user', 'bob');
    const erased = await sluice(['erase', 'r1', '--json'], { cwd });
    expect(JSON.parse(erased.stdout)).toMatchObject({ run: 'r1', memory: 1 });
    expect((await listed(cwd)).map(({ run: from }) => from)).toEqual(['r2']);
    await sluice(['prune', '--keep', '0'], { cwd });
    expect(await listed(cwd)).toEqual([]);
  });

  test('no original value of personal data is in any file beside the database', async () => {
    const cwd = folder({
      'm.loop.yaml': `pii: { mode: tokenize, types: [email] }\n${LOOP}`,
      's.yaml': SCRIPT.replaceAll('A-17', 'A-17 of carla@corp.example'),
    });
    expect((await run(cwd, 'r1', '--input', 'Mail to carla@corp.example?')).status).toBe(0);
    const dir = join(cwd, '.sluice');
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const leaks = files.filter((file) => readFileSync(join(file.parentPath, file.name), 'latin1').includes('carla@'));
    expect(files.map(({ name }) => name)).toContain('sluice.db.memory');
    expect(leaks.map(({ name }) => name)).toEqual([]);
    expect(JSON.stringify(await listed(cwd))).toContain('[EMAIL]');
  });

  test.each([
    ['a changed answer', "UPDATE entries SET body = replace(body, 'A-17', 'A-18')", 'was changed'],
    ['a later expiry', 'UPDATE entries SET expires_at = expires_at + 1', 'was changed'],
    ['another owner', 'UPDATE entries SET owner = \'["bank",null,"clerk",null]\'', 'was changed'],
    ['a release by hand', "UPDATE entries SET state = 'active'", 'was changed'],
    ['an empty entry', "UPDATE entries SET body = '{}'", 'was changed'],
    ['an entry that is not JSON', "UPDATE entries SET body = 'A-17'", 'was changed'],
    ['an entry of another run', 'UPDATE entries SET body = replace(body, \'"r1"\', \'"r9"\')', 'does not exist'],
  ])('no agent gets a changed entry, and `audit verify` finds it: %s', async (_, change, message) => {
    const quarantines = LOOP.replace(', trust: trusted', '');
    const cwd = folder({ ...FILES, 'm.loop.yaml': change.includes('state') ? quarantines : LOOP });
    await run(cwd, 'r1');
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
    const db = new DatabaseSync(join(cwd, memoryFileOf('.sluice/sluice.db')));
    db.exec(change);
    db.close();
    const { status, stderr } = await sluice(['audit', 'verify'], { cwd });
    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect((await listed(cwd)).map(({ state }) => state)).toEqual(['quarantined']);
    await run(cwd, 'r2');
    const { stdout } = await sluice(['trace', 'r2', '--prompts'], { cwd });
    expect(stdout).not.toMatch(/memory of run|A-18/);
  });

  test('`backup` copies the memory', async () => {
    const cwd = folder(FILES);
    await run(cwd, 'r1');
    await sluice(['backup', 'copy.db'], { cwd });
    expect(existsSync(join(cwd, memoryFileOf('copy.db')))).toBe(true);
    expect(await listed(cwd, '--db', 'copy.db')).toHaveLength(1);
  });
});
