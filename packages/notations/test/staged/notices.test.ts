/** Alerts and tickets: two cells of the decision table tell an operator, by the hooks of `notify`. §flow/decision-table */
import { expect, onTestFinished, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { createRuntime } from '@sluice-internal/engine/worker';
import { realClock } from '@sluice-internal/engine/ports';
import type { Notification, Performer, Store } from '@sluice-internal/engine/ports';
import { openMemory } from '@sluice-internal/engine/memory';
import { compiled } from '../../../../test/support/harness.ts';
import { AGENTS, SUPERVISOR } from './drive.ts';

const NOTIFY = [{ command: ['./page.sh'] }];

function flowIn(tier: string, sections: object = {}): CompiledFlow {
  return compiled({ agents: AGENTS, notify: NOTIFY, staged: { ...SUPERVISOR, tier }, ...sections });
}

/** Every agent replies with the same text, and hooks are recorded. */
function host(store: Store, reply: string, hook: Performer['notify'], now = Date.now) {
  const engine = createRuntime({
    store,
    clock: { ...realClock, now },
    pickUp: false,
    performer: {
      perform: () =>
        Promise.resolve({ ok: true, value: { text: reply, toolCalls: [] }, used: { inputTokens: 1, outputTokens: 1 } }),
      ...(hook === undefined ? {} : { notify: hook }),
    },
  });
  onTestFinished(() => engine.close());
  return engine;
}

const PLAN = '{"tasks": [{"id": "a", "brief": "Find A."}]}';
const EMPTY = '{"tasks": []}';
const POOR = { budgets: { model_calls: 1 } };

test.each([
  ['batch', POOR, PLAN, 'alert', 'cost_overrun', 'BUDGET_EXHAUSTED'],
  ['regulated', {}, EMPTY, 'ticket', 'malformed_plan', 'VALIDATION_FAIL'],
] as const)('%s: an operator is told of the abort', async (tier, sections, reply, type, failure, code) => {
  const sent: Notification[] = [];
  const engine = host(openMemory(), reply, async (notification) => void sent.push(notification));
  const run = await engine.start(flowIn(tier, sections), { input: 'Compare.' });
  const report = await engine.settled(run);
  expect(report).toMatchObject({ code, decisions: [{ failure, action: 'abort', notice: type }] });
  await expect.poll(() => sent).toHaveLength(1);
  const { id, body, hook } = sent[0] as Notification;
  const [decision] = report.decisions;
  expect(id).toBe(`${run}.${decision?.seq ?? 0}`);
  expect(hook).toEqual({ command: ['./page.sh'] });
  expect(JSON.parse(body)).toMatchObject({
    type,
    flow: 'demo',
    run,
    decision: { ...decision },
    error: { message: report.error?.message },
  });
});

test.each([
  ['interactive', POOR, PLAN],
  ['regulated', POOR, PLAN],
  ['interactive', {}, EMPTY],
  ['batch', {}, EMPTY],
] as const)('near miss: the other cells of these rows announce no decision (%s)', async (tier, sections, reply) => {
  const sent: string[] = [];
  const engine = host(
    openMemory(),
    reply,
    async ({ body }) => void sent.push((JSON.parse(body) as { type: string }).type),
  );
  const report = await engine.settled(await engine.start(flowIn(tier, sections), { input: 'Compare.' }));
  expect(report.decisions.every(({ notice }) => notice === undefined)).toBe(true);
  await engine.close();
  expect(sent.filter((type) => type !== 'question.asked')).toEqual([]);
});

test('a hook that fails does not change the end of the run, and is tried again', async () => {
  let calls = 0;
  const engine = host(openMemory(), PLAN, () => {
    calls += 1;
    return calls < 3 ? Promise.reject(new Error('exit 1')) : Promise.resolve();
  });
  const report = await engine.settled(await engine.start(flowIn('batch', POOR), { input: 'Compare.' }));
  expect(report.code).toBe('BUDGET_EXHAUSTED');
  await expect.poll(() => calls).toBe(3);
});

test('an alert whose process died before its hook is sent by the next process, once', async () => {
  const store = openMemory();
  const died = host(store, PLAN, undefined, () => Date.now() - 60_000);
  const run = await died.start(flowIn('batch', POOR), { input: 'Compare.' });
  await died.settled(run);
  const sent: string[] = [];
  const hook = async ({ body }: Notification): Promise<void> =>
    void sent.push((JSON.parse(body) as { run: string }).run);
  const second = host(store, PLAN, hook);
  await expect.poll(() => sent).toEqual([run]);
  await expect.poll(() => store.shared.list('notify.notice:')).toHaveLength(1);
  await second.close();
  const third = host(store, PLAN, hook);
  await third.close();
  expect(sent).toEqual([run]);
});
