/** The rate limit of a tool holds for a run whatever happens to the process: the times of calls are part of the run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { policyPerformer } from '@sluice-internal/guard/policy';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { CONTROLS_CHECK } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import { replay } from '@sluice-internal/engine/audit';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Engine, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { readRun } from '@sluice-internal/engine/journal';
import { scriptedPerformer } from '../../../library/src/host/scripted/performer.ts';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compile } from '../../../library/src/compile.ts';

const T0 = 1_000_000;
const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function compiled(document: object): CompiledFlow {
  const { flow, diagnostics } = compile(document);
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  return flow;
}

/** A process of its own: nothing in its memory, and a check before the call that lets everything pass. */
function engineOf(store: Store, script: Script, start: number, calls: number[]): Engine {
  const policy = policyPerformer();
  const scripted = scriptedPerformer(script, {
    perform: async (call) => {
      const { command } = call;
      if (command.name !== CONTROLS_CHECK) return policy.perform(call);
      const listed = command.input['controls'] as unknown as readonly { readonly control: string }[];
      const controls = listed.filter(({ control }) => control !== 'rate') as never;
      const settled = await policy.perform({ ...call, command: { ...command, input: { ...command.input, controls } } });
      const { verdicts } = (settled.ok ? settled.value : {}) as { readonly verdicts: object };
      return { ok: true, value: { verdicts: { ...verdicts, rate: { ok: true } } } };
    },
  });
  return createRuntime({
    store,
    clock: createVirtualClock(start),
    pickUp: false,
    performer: {
      ...scripted,
      perform: (call) => {
        if (call.command.kind === 'tool') calls.push(call.clock.now());
        return scripted.perform(call);
      },
    },
  });
}

const LOOK = { effect: 'read', rate_limit: { calls: 1, per_seconds: 60 } };
const look = { name: 'web.look', args: {} };
const agent = (tools: object, more: object = {}) =>
  compiled({
    tools,
    agents: [{ id: 'bot', tools: Object.keys(tools) }],
    ...more,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
const waits = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === 'effect.requested' && event.notBefore !== undefined ? [event] : []));

test('a run that was taken up by another process still knows when it called', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rate-'));
  folders.push(folder);
  const open = (): Store => openSqlite(join(folder, 'runs.db'));
  const flow = agent({ 'web.look': LOOK, 'mail.send': { effect: 'communication' } });
  const script: Script = {
    agents: {
      bot: [
        { text: '', tools: [look] },
        { text: '', tools: [{ name: 'mail.send', args: {} }] },
        { text: '', tools: [look] },
        'done',
      ],
    },
    tools: { 'web.look': [{ result: 1 }], 'mail.send': [{ result: 1 }] },
  };
  const calls: number[] = [];
  const first = engineOf(open(), script, T0, calls);
  const run = await first.start(flow, { input: { message: 'x' }, seed: 1 });
  const waiting = await first.settled(run);
  await first.close();

  const second = engineOf(open(), script, T0 + 10_000, calls);
  await second.answer(waiting.waiting[0]?.id ?? '', { choice: 'approve', by: 'ann' });
  expect((await second.settled(run)).code).toBe('SUCCESS');
  await second.close();

  expect(calls).toEqual([T0, T0 + 10_000, T0 + 60_000]);
  const store = open();
  const { events } = await readRun(store.journal, run);
  expect(waits(events)).toMatchObject([{ name: 'web.look', at: T0 + 10_000, notBefore: T0 + 60_000 }]);
  expect((await replay(store.journal, run)).difference).toBeNull();
  await store.close();
});

async function play(flow: CompiledFlow, script: Script) {
  const calls: number[] = [];
  const store = openMemory();
  const engine = engineOf(store, script, T0, calls);
  try {
    const run = await engine.start(flow, { input: { message: 'x' }, seed: 1 });
    const report = await engine.settled(run);
    const { events, state } = await readRun(store.journal, run);
    const { difference } = await replay(store.journal, run);
    return { report, events, state, difference, calls: calls.map((time) => time - T0) };
  } finally {
    await engine.close();
  }
}

test('several calls of one reply wait for each other', async () => {
  const script: Script = {
    agents: { bot: [{ text: '', tools: [1, 2, 3].map((page) => ({ ...look, args: { page } })) }, 'done'] },
    tools: { 'web.look': [{ result: 1 }] },
  };
  const { report, calls, events, difference } = await play(agent({ 'web.look': LOOK }), script);
  expect([report.code, calls]).toEqual(['SUCCESS', [0, 60_000, 120_000]]);
  expect(waits(events)).toHaveLength(2);
  expect(difference).toBeNull();
});

test('branches share the limit, and none of them starves', async () => {
  const nodes = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, type: 'tool', tool: 'web.look', params: {} }));
  const flow = compiled({
    tools: { 'web.look': { ...LOOK, rate_limit: { calls: 2, per_seconds: 10 } } },
    flow: {
      id: 'demo',
      entry: 'all',
      nodes: [{ id: 'all', type: 'parallel', branches: nodes.map(({ id }) => ({ to: id })) }, ...nodes],
    },
  });
  const { report, calls, state } = await play(flow, { tools: { 'web.look': [{ result: 1 }] } });
  expect([report.code, calls]).toEqual(['SUCCESS', [0, 0, 10_000, 10_000, 20_000]]);
  expect(state.paced?.['rate:web.look']?.length).toBeLessThanOrEqual(2);
});

test('a call that cannot wait long enough is refused, and the agent is told', async () => {
  const script: Script = {
    agents: { bot: [{ text: '', tools: [look] }, { text: '', tools: [look] }, 'done'] },
    tools: { 'web.look': [{ result: 1 }] },
  };
  const flow = agent({ 'web.look': LOOK }, { budgets: { wall_clock_seconds: 30 } });
  const { report, calls, events } = await play(flow, script);
  expect([report.code, calls]).toEqual(['SUCCESS', [0]]);
  expect(events.find(({ type }) => type === 'expression.failed')).toMatchObject({
    error: { class: 'rate_limit', type: 'RateLimitError' },
  });
});
