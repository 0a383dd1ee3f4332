/** Circuit breakers: first the damage without them, then the protection. §flow/circuit-breaker */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { BreakerRules } from '@sluice-internal/kernel/ir';
import { probeAt, setByHand } from '@sluice-internal/engine/limits';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { CLOSED, enter, leave } from '../../src/limits/breaker.ts';
import { AGENTS, DOWN, FLOW, flowOf, lab, says } from './run-flow.ts';

const RULES: BreakerRules = {
  identicalCalls: 3,
  schemaFailures: 2,
  providerErrors: 5,
  cooldownMs: 30_000,
  maxTrips: 3,
  fallback: null,
};
const ID = 'bot@openai/big';
const withBreaker = (breaker: object | false, more: object = {}) =>
  flowOf({ ...AGENTS, ...more, flow: FLOW, protections: { breaker } });

describe('the state machine', () => {
  const trip = (times: number, from = CLOSED) => {
    let state = from;
    for (let index = 0; index < times; index++) state = leave(state, RULES, `c${index}`, 'provider_error', 1000).state;
    return state;
  };

  test('CLOSED to OPEN at the threshold; a success in between starts the count again', () => {
    expect(trip(4).status).toBe('closed');
    expect(trip(5)).toMatchObject({ status: 'open', trips: 1, cause: 'provider_errors' });
    expect(trip(4, leave(trip(4), RULES, 'ok', 'ok', 1000).state).status).toBe('closed');
  });

  test('OPEN to HALF_OPEN after the cooldown, for one call at a time', () => {
    const open = trip(5);
    expect(enter(open, 'a', 30_999).allowed).toBe(false);
    const probing = enter(open, 'a', 31_000);
    expect(probing).toMatchObject({ allowed: true, state: { status: 'half_open' } });
    expect(enter(probing.state, 'b', 31_001).allowed).toBe(false);
    expect(enter(probing.state, 'b', 31_000 + 300_001).allowed).toBe(true);
  });

  test('HALF_OPEN to CLOSED on success, and to OPEN on failure', () => {
    const probing = enter(trip(5), 'a', 31_000).state;
    expect(leave(probing, RULES, 'a', 'ok', 31_001).state).toMatchObject({ status: 'closed', trips: 0 });
    expect(leave(probing, RULES, 'a', 'provider_error', 31_001)).toMatchObject({
      state: { status: 'open', trips: 2 },
      change: { cause: 'probe_failed', until: 61_001 },
    });
    expect(leave(probing, RULES, 'late', 'ok', 31_001).state.status).toBe('half_open');
  });

  test('after max_trips it probes for ever, and the cooldown doubles with each trip, up to an hour', () => {
    let state = trip(5);
    let now = 1000;
    const waits: number[] = [];
    for (let index = 0; index < 12; index++) {
      const at = probeAt(state) as number;
      expect(enter(state, 'a', at - 1).allowed).toBe(false);
      const entered = enter(state, 'a', at);
      expect(entered.allowed).toBe(true);
      waits.push((at - now) / 1000);
      now = at;
      state = leave(entered.state, RULES, 'a', 'provider_error', now).state;
    }
    expect(waits).toEqual([30, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]);
    expect(enter(setByHand(state, 'closed', 'anna', now), 'a', now).allowed).toBe(true);
    const probing = enter(state, 'a', probeAt(state) as number).state;
    expect(leave(probing, RULES, 'a', 'ok', now).state).toMatchObject({ status: 'closed', trips: 0 });
  });

  test('a breaker that an operator opened stays open', () => {
    const state = setByHand(CLOSED, 'open', 'anna', 1000);
    expect(probeAt(state)).toBe(null);
    expect(enter(state, 'a', 1e12).allowed).toBe(false);
  });

  test('runs after a long outage need no operator', async () => {
    let isDown = true;
    const flow = withBreaker({ provider_errors: 1, cooldown: 10, max_trips: 2 });
    const { run, sent, clock, store, close } = lab(() => (isDown ? DOWN : says('yes')));
    for (let index = 0; index < 40; index++) {
      const report = await run(flow);
      expect(report.state).toBe('failed');
      await clock.sleep(10_000);
    }
    const [cell] = await store.shared.list('breaker:');
    const { status, trips } = Object(cell?.value) as { readonly status: string; readonly trips: number };
    expect(status).toBe('open');
    expect(trips).toBeGreaterThan(4);
    // A call and the probes after 10, 20, 40, 80 and 160 seconds, each at the next run.
    expect(sent.length).toBeLessThan(9);
    isDown = false;
    await clock.sleep(3_600_000);
    expect(await run(flow)).toMatchObject({ state: 'completed' });
    expect((await store.shared.list('breaker:'))[0]?.value).toMatchObject({ status: 'closed', trips: 0 });
    await close();
  });

  test('a call with its repair turn is one schema failure', () => {
    const once = leave(CLOSED, RULES, 'c1', 'unfit', 1).state;
    const repaired = leave(once, RULES, 'c1', 'schema_failure', 1).state;
    expect(repaired.schemaFailures).toBe(1);
    const enforced = { ...RULES, fallback: { answer: 'Later.' } };
    const second = leave(repaired, enforced, 'c2', 'unfit', 2);
    expect(second).toMatchObject({ state: { status: 'closed' }, change: null });
    expect(leave(second.state, enforced, 'c2', 'schema_failure', 2).state.status).toBe('open');
    // Without a repair, the next reply that does not fit opens it.
    expect(leave(second.state, enforced, 'c3', 'unfit', 3).state.status).toBe('open');
  });

  test('a probe whose reply is repaired ends with its repair', () => {
    const probing = enter(trip(5), 'a', 31_000).state;
    const sentBack = leave(probing, RULES, 'a', 'unfit', 31_000);
    expect(sentBack).toMatchObject({ state: { status: 'half_open' }, change: null });
    expect(enter(sentBack.state, 'a', 31_000).allowed).toBe(true);
    expect(leave(sentBack.state, RULES, 'a', 'schema_failure', 31_000).state.status).toBe('open');
    expect(leave(sentBack.state, RULES, 'a', 'ok', 31_000).state.status).toBe('closed');
  });
});

describe('the rate of failures', () => {
  const RATE = { errors: 0.5, soft: 0.5, calls: 10, windowMs: 60_000 };
  const rules: BreakerRules = { ...RULES, rate: RATE };
  /** `x` is a provider error, `s` a reply that does not fit, `.` a success; one call each second. */
  const after = (calls: string, within: BreakerRules = rules, everyMs = 1000) => {
    let state = CLOSED;
    for (const [index, letter] of [...calls].entries()) {
      const outcome = letter === 'x' ? 'provider_error' : letter === 's' ? 'schema_failure' : 'ok';
      state = leave(state, within, `c${index}`, outcome, index * everyMs).state;
    }
    return state;
  };

  test('off: errors that are never five in a row do not open the breaker', () => {
    expect(after('xxxx.'.repeat(20), { ...rules, rate: null }).status).toBe('closed');
  });

  test('half of the calls of a minute fail: the breaker opens', () => {
    expect(after('x.x.x.x.x.').status).toBe('closed');
    expect(after('x.x.x.x.x.x')).toMatchObject({ status: 'open', cause: 'provider_rate', rate: [] });
  });

  test.each([
    ['too few calls', 'xxx.xxx', 1000],
    ['too small a share', 'x..x..x..x..x..x..x..x..x', 1000],
    ['spread over more than the window', 'x.x.x.x.x.x.x.x', 20_000],
  ])('near miss: %s', (_, calls, everyMs) => {
    expect(after(calls, rules, everyMs).status).toBe('closed');
  });

  test('replies that are not usable: recorded without a fallback, and enforced with one', () => {
    const soft: BreakerRules = { ...rules, schemaFailures: 50 };
    expect(after('s.s.s.s.s.s', soft)).toMatchObject({ status: 'closed', rate: [] });
    const enforced = after('s.s.s.s.s.s', { ...soft, fallback: { answer: 'Later.' } });
    expect(enforced).toMatchObject({ status: 'open', cause: 'soft_rate' });
  });

  test('a healthy breaker keeps nothing', () => {
    expect(after('..........').rate).toEqual([]);
  });

  test('a run that meets an open breaker names the rate; successful calls in between count', async () => {
    let calls = 0;
    const flow = withBreaker({ provider_errors: 50, rate: { errors: 0.5, calls: 6, window: 60 } });
    const { run, sent, close } = lab(() => (calls++ % 2 === 0 ? DOWN : says('yes')));
    for (let index = 0; index < 7; index++) await run(flow);
    expect(sent).toHaveLength(7);
    const report = await run(flow);
    expect(sent).toHaveLength(7);
    expect(report).toMatchObject({
      code: 'UNAVAILABLE_DEP',
      error: { type: 'BreakerOpenError', message: expect.stringContaining('too many of its recent calls failed') },
      decisions: [{ failure: 'provider_error', action: 'block' }],
    });
    await close();
  });

  test('a share above 1 is refused', () => {
    const { diagnostics } = compile({ ...AGENTS, flow: FLOW, protections: { breaker: { rate: { errors: 50 } } } });
    expect(diagnostics).toContainEqual(expect.objectContaining({ severity: 'error', code: 'bad-value' }));
  });
});

describe('provider errors', () => {
  test('off: every run calls a provider that is down', async () => {
    const { run, sent, close } = lab(() => DOWN);
    for (let index = 0; index < 12; index++) await run(withBreaker(false));
    expect(sent).toHaveLength(12);
    await close();
  });

  test('on: after five errors no call is made; the runs fail at once and say why', async () => {
    const { run, sent, events, close } = lab(() => DOWN);
    const flow = withBreaker({});
    const reports = [];
    for (let index = 0; index < 12; index++) reports.push(await run(flow));
    expect(sent).toHaveLength(5);
    const last = reports[11];
    expect(last).toMatchObject({
      state: 'failed',
      code: 'UNAVAILABLE_DEP',
      usage: { modelCalls: 0 },
      error: { type: 'BreakerOpenError' },
      decisions: [{ failure: 'provider_error', action: 'block', mast: null }],
    });
    const opened = (await events(reports[4]?.run ?? '')).find(({ type }) => type === 'breaker.changed');
    expect(opened).toMatchObject({ breaker: ID, from: 'closed', to: 'open', cause: 'provider_errors', enforced: true });
    expect(await events(last?.run ?? '')).toContainEqual(expect.objectContaining({ type: 'breaker.denied' }));
    await close();
  });

  test('a model that answers again is noticed by one probe', async () => {
    let down = true;
    const { run, sent, clock, close } = lab(() => (down ? DOWN : says('fine')));
    const flow = withBreaker({ cooldown: 10 });
    for (let index = 0; index < 6; index++) await run(flow);
    down = false;
    await clock.sleep(9000);
    expect(await run(flow)).toMatchObject({ state: 'failed' });
    await clock.sleep(1001);
    expect(await run(flow)).toMatchObject({ state: 'completed', output: 'fine' });
    expect(await run(flow)).toMatchObject({ state: 'completed' });
    expect(sent).toHaveLength(7);
    await close();
  });

  test('fallback: another model answers while the breaker is open, and is reserved at its own price', async () => {
    const { run, sent, events, close } = lab(({ command }) => (command.target === 'cheap' ? says('cheap') : DOWN));
    const flow = withBreaker(
      { provider_errors: 2, fallback: { model: 'cheap' } },
      { budgets: { model_calls: 3, cost_usd: 1 } },
    );
    await run(flow);
    await run(flow);
    const report = await run(flow);
    expect(report).toMatchObject({
      state: 'completed',
      output: 'cheap',
      usage: { modelCalls: 1 },
      decisions: [{ failure: 'provider_error', action: 'fallback' }],
    });
    expect(sent.map(({ model }) => model)).toEqual([undefined, undefined, 'cheap']);
    await events(report.run);
    await close();
  });

  test('fallback: a fixed answer', async () => {
    const { run, sent, events, close } = lab(() => DOWN);
    const flow = withBreaker({ provider_errors: 1, fallback: { answer: 'Try later.' } });
    await run(flow);
    const report = await run(flow);
    expect(report).toMatchObject({
      state: 'completed',
      output: 'Try later.',
      usage: { modelCalls: 0, inputTokens: 0 },
    });
    expect(report.decisions).toMatchObject([{ action: 'fallback' }]);
    expect(sent).toHaveLength(1);
    await events(report.run);
    await close();
  });

  test('fallback: a person decides', async () => {
    let down = true;
    const { run, answer, settled, clock, close } = lab(() => (down ? DOWN : says('fine')));
    const flow = withBreaker({ provider_errors: 1, fallback: { escalate: true } });
    await run(flow);
    const report = await run(flow);
    expect(report).toMatchObject({
      state: 'suspended',
      waiting: [{ choices: ['retry', 'stop'], payload: { escalation: { row: 'provider_outage' } } }],
      decisions: [{ failure: 'provider_error', action: 'escalate' }],
    });
    down = false;
    await clock.sleep(31_000);
    await answer(report.waiting[0]?.id ?? '', 'retry');
    expect(await settled(report.run)).toMatchObject({ state: 'completed', output: 'fine' });
    await close();
  });

  test('a failure that is not the provider’s does not count', async () => {
    const { run, sent, close } = lab(() => ({
      ok: false,
      error: { class: 'refused', type: 'RefusalError', message: 'no' },
    }));
    for (let index = 0; index < 8; index++) await run(withBreaker({}));
    expect(sent).toHaveLength(8);
    await close();
  });
});

describe('soft failures', () => {
  const output = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  const agents = [{ id: 'bot', model: 'main', instructions: 'Answer.', output }];

  test('two calls in a row whose replies do not fit, repaired or not, open the breaker if there is a fallback', async () => {
    const { run, sent, close } = lab(({ command }) => says(command.target === 'cheap' ? '{"ok":true}' : 'not JSON'));
    const flow = withBreaker({ fallback: { model: 'cheap' } }, { agents });
    for (const _ of [1, 2])
      expect(await run(flow)).toMatchObject({ code: 'VALIDATION_FAIL', usage: { modelCalls: 2 } });
    expect(sent).toHaveLength(4);
    expect(await run(flow)).toMatchObject({ state: 'completed', output: { ok: true }, usage: { modelCalls: 1 } });
    expect(sent.at(-1)?.model).toBe('cheap');
    await close();
  });

  test('a reply that the run accepts, with its JSON in a fence or in prose, is no failure', async () => {
    const { run, events, close } = lab(() => says('Sure!\n```json\n{"ok": true}\n```\nAnything else?'));
    const flow = withBreaker({}, { agents });
    const runs = [await run(flow), await run(flow), await run(flow)];
    expect(runs.map(({ output }) => output)).toEqual([{ ok: true }, { ok: true }, { ok: true }]);
    const found = (await Promise.all(runs.map(({ run: id }) => events(id)))).flat();
    expect(found.filter(({ type }) => type === 'breaker.changed')).toEqual([]);
    await close();
  });

  test('without a fallback the trip is an event only', async () => {
    const { run, sent, events, close } = lab(() => says('not JSON'));
    const flow = withBreaker({}, { agents });
    const runs = [await run(flow), await run(flow), await run(flow)];
    expect(sent.length).toBeGreaterThanOrEqual(3);
    const found = (await Promise.all(runs.map(({ run: id }) => events(id)))).flat();
    expect(found.filter(({ type }) => type === 'breaker.changed')).toMatchObject([
      { cause: 'schema_failures', enforced: false },
    ]);
    await close();
  });

  test('three identical tool calls in a row', async () => {
    const tools = { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read' } };
    const call: Json = [{ id: 'c', name: 'find', args: { q: 'x' } }];
    let hits = 0;
    const { run, events, close } = lab(({ command }) => {
      if (command.kind === 'tool') return { ok: true, value: `hit ${hits++}` };
      return command.target === 'cheap' ? says('done') : says('', call);
    });
    const flow = withBreaker(
      { fallback: { model: 'cheap' } },
      { tools, agents: [{ id: 'bot', model: 'main', instructions: 'Find.', tools: ['find'] }] },
    );
    const report = await run(flow);
    expect(report).toMatchObject({ state: 'completed', output: 'done', usage: { toolCalls: 3 } });
    expect(await events(report.run)).toContainEqual(
      expect.objectContaining({ type: 'breaker.changed', cause: 'identical_calls' }),
    );
    await close();
  });
});

describe('invariant violations', () => {
  const staged = (breaker: object | false) =>
    flowOf({
      ...AGENTS,
      agents: ['planner', 'worker', 'editor'].map((id) => ({ id, model: 'main' })),
      protections: { breaker, velocity: false },
      staged: {
        plan: { agent: 'planner' },
        workers: { agent: 'worker' },
        aggregate: { agent: 'editor' },
        validate: { invariants: [{ when: "aggregate.contains('source')", reason: 'no source' }] },
        replans: 0,
      },
    });
  const provider = ({ command }: Call) =>
    says(
      command.name === 'planner'
        ? '{"tasks": [{"id": "a", "brief": "A"}]}'
        : command.target === 'cheap'
          ? 'As the source says.'
          : 'Trust me.',
    );

  test('off: the same agent breaks the invariant again and again', async () => {
    const one = lab(provider);
    for (let index = 0; index < 4; index++)
      expect(await one.run(staged(false))).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
    await one.close();
  });

  test('on: two results in a row that break an invariant open the breaker of the agent that gave them', async () => {
    const one = lab(provider);
    const flow = staged({ fallback: { model: 'cheap' } });
    const runs = [await one.run(flow), await one.run(flow), await one.run(flow)];
    expect(runs.map(({ state }) => state)).toEqual(['failed', 'failed', 'completed']);
    expect(one.sent.at(-1)?.model).toBe('cheap');
    const events = await one.events(runs[1]?.run ?? '');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'breaker.changed', breaker: 'editor@openai/big', cause: 'invariant_violations' }),
    );
    await one.close();
  });

  test('a result that keeps them in between starts the count again; without a fallback the trip is an event only', async () => {
    let good = false;
    const one = lab((call) => (call.command.name === 'editor' && good ? says('A source.') : provider(call)));
    const flow = staged({});
    await one.run(flow);
    good = true;
    expect(await one.run(flow)).toMatchObject({ state: 'completed' });
    good = false;
    const [third, fourth] = [await one.run(flow), await one.run(flow)];
    const changes = async (run: string) => (await one.events(run)).filter(({ type }) => type === 'breaker.changed');
    expect(await changes(third.run)).toEqual([]);
    expect(await changes(fourth.run)).toMatchObject([{ cause: 'invariant_violations', enforced: false }]);
    await one.close();
  });
});
