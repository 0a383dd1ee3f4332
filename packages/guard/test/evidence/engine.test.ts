/** Tools and checks under the engine itself: real files and commands, a script's clock, and a gate that fails before it holds. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { evidencePerformer } from '@sluice-internal/guard/evidence';
import { openMemory } from '@sluice-internal/engine/memory';
import { shellRunner } from '@sluice-internal/tools/calls';
import { builtinTool } from '@sluice-internal/kernel/catalog';
import type { CompiledFlow, DoNode, Node } from '@sluice-internal/kernel/ir';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Performer } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { toolPerformer } from '../../../library/src/host/performer.ts';
import { workDirWith } from './ask.ts';

const act = (effect: DoNode['effect'], writes: DoNode['writes'], next: string, timeoutMs = 5_000): DoNode => ({
  op: 'do',
  label: { name: next },
  effect,
  writes,
  timeoutMs,
  retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
  next,
  failed: [],
  fail: 'failed',
});
const command = (line: string): string => `{'command': '${line}'}`;
const record = (tool: string, args: string): DoNode['writes'] => [
  {
    slot: 'observations',
    mode: 'append',
    value: { id: "'o1'", turn: '1', agent: "'Dev'", tool: `'${tool}'`, args, ok: 'true', result: 'it' },
  },
];
const gate = (slot: string, next: string): DoNode =>
  act(
    {
      kind: 'check',
      check: 'validator:RequireShellPass',
      input: { observations: 'observations', turn: '1', agent: "'Dev'", config: '{}' },
      reserve: {},
    },
    [{ slot, mode: 'set', value: 'it' }],
    next,
  );

const nodes: { [id: string]: Node } = {
  start: {
    op: 'let',
    label: { name: 'start' },
    writes: [{ slot: 'observations', mode: 'set', value: '[]' }],
    next: 'before',
  },
  before: gate('first', 'failing'),
  failing: act(
    { kind: 'tool', tool: 'shell_run', input: { args: command('sleep 0.3; touch made; exit 3') }, reserve: {} },
    record('shell_run', command('x')),
    'between',
  ),
  between: gate('second', 'passing'),
  passing: act(
    { kind: 'tool', tool: 'shell_run', input: { args: command('test -e made') }, reserve: {} },
    record('shell_run', command('test -e made')),
    'after',
  ),
  after: gate('third', 'done'),
  done: { op: 'end', label: { name: 'done' }, state: 'completed', code: 'SUCCESS', output: '[first, second, third]' },
  failed: { op: 'end', label: { name: 'failed' }, state: 'failed', code: 'error', output: 'null' },
};
const flow: CompiledFlow = {
  ir: 1,
  id: 'gated',
  notation: 'flow',
  entry: 'start',
  fail: 'failed',
  nodes,
  meters: {},
  agents: {},
  tools: { shell_run: builtinTool('shell_run') as never },
  models: {},
  least: {},
  hash: 'sha256:gated',
};

test('a gate holds by what really ran, and a real command under a virtual clock has its time', async () => {
  const workDir = workDirWith({});
  const tools = toolPerformer({ workDir });
  const checks = evidencePerformer({ workDir, run: shellRunner() });
  const performer: Performer = { perform: (call) => (call.command.kind === 'tool' ? tools : checks).perform(call) };
  const store = openMemory();
  const engine = createRuntime({ store, performer, clock: createVirtualClock() });
  onTestFinished(() => engine.close());
  const run = await engine.start(flow, { input: {} });
  const { state, output } = await engine.settled(run);
  expect(state).toBe('completed');
  expect(output).toMatchObject([
    { ok: false, failure: 'MissingEvidence' },
    { ok: false, failure: 'InvalidTransition', evidence: ['o1'] },
    { ok: true, evidence: ['o1'] },
  ]);
  expect(existsSync(join(workDir, 'made'))).toBe(true);
});
