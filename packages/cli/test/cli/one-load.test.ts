/** A command that continues or shows a run reads the rows of its journal once, however long the journal is. */
import { StatementSync } from 'node:sqlite';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const FLOW = `agents: [{ id: bot, instructions: Speak. }]
flow:
  id: f
  entry: talk
  nodes:
    - { id: talk, type: agent, agent: bot, routes: [{ to: gate }] }
    - { id: gate, type: approval, message: Go on?, routes: [{ to: shipped }] }
    - { id: shipped, type: wait, signal: shipped, routes: [{ to: later }] }
    - { id: later, type: approval, message: And now? }
`;
const SCRIPT = 'agents: { bot: [hello] }\n';

let loads = 0;
beforeEach(() => {
  const all = StatementSync.prototype.all;
  vi.spyOn(StatementSync.prototype, 'all').mockImplementation(function (this: StatementSync, ...given) {
    // The statement that reads the appends of a run to their end. A page has a limit.
    if (/FROM log\s+WHERE run = \? AND after >= \? ORDER BY after$/.test(this.sourceSQL)) loads += 1;
    return all.apply(this, given);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

test('answer, signal, resume, cancel and show load a journal once', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'f.yaml'), FLOW);
  writeFileSync(join(cwd, 's.yaml'), SCRIPT);
  const started = await sluice(['run', 'f.yaml', '--script', 's.yaml', '--input', 'x', '--run', 'r1', '--json'], {
    cwd,
  });
  expect(started.status, started.stderr).toBe(3);
  for (const [args, status] of [
    [['show', 'r1'], 0],
    [['answer', 'a_r1.0.1', 'approve'], 3],
    [['signal', 'r1', 'shipped'], 3],
    [['resume', 'r1'], 3],
    [['cancel', 'r1'], 0],
  ] as const) {
    loads = 0;
    const ran = await sluice([...args, '--json'], { cwd });
    expect({ args, status: ran.status, loads }, ran.stderr).toEqual({ args, status, loads: 1 });
  }
});
