/** Waiting as long as one is asked to, and turning to other models: both recorded, both within every budget (L2, L4). */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow, DoNode, Event, Fact, Failure, Meter, Retry, RunState } from '@sluice-internal/kernel/ir';
import { createProgram, outstanding, settle } from '@sluice-internal/kernel/core';
import { pure } from '@sluice-internal/engine/ports';

const DOWN: Failure = { class: 'transient', type: 'TransientError', message: 'down' };
const BUSY: Failure = { class: 'rate_limit', type: 'RateLimitError', message: 'busy', retryAfterMs: 9000 };
const NONE: Retry = { max: 0, baseMs: 0, capMs: 0, on: [] };
const TWICE: Retry = { max: 2, baseMs: 500, capMs: 1000, on: ['transient', 'rate_limit'] };

function flowWith(
  node: Partial<DoNode>,
  meters: { readonly [id: string]: Meter } = {},
  deadlineMs: number | null = null,
): CompiledFlow {
  const ask = {
    op: 'do',
    label: { name: 'ask' },
    effect: { kind: 'model', agent: 'a', input: { prompt: '"hi"' }, reserve: { modelCalls: 1, outputTokens: 10 } },
    charges: Object.keys(meters),
    writes: [{ slot: 'said', mode: 'set', value: 'it.text' }],
    timeoutMs: null,
    retry: NONE,
    next: 'end',
    failed: [],
    fail: 'failed',
    ...node,
  };
  const end = { op: 'end', label: { name: 'end' }, state: 'completed', code: 'SUCCESS', output: 'said' };
  const failed = { op: 'end', label: { name: 'end' }, state: 'failed', code: 'error', output: 'null' };
  const agent = {
    id: 'a',
    name: 'a',
    model: 'own',
    instructions: '',
    tools: [],
    output: null,
    maxOutputTokens: 10,
    temperature: null,
  };
  const models = {
    own: { price: { input: 0, output: 1 } },
    second: { price: { input: 0, output: 5 } },
    third: { price: { input: 0, output: 50 } },
  };
  return {
    ir: 1,
    id: 'f',
    notation: 'flow',
    hash: 'h',
    entry: 'ask',
    fail: 'failed',
    nodes: { ask, end, failed },
    meters: { ...meters, time: { unit: 'time', max: deadlineMs, halts: true, over: 'failed', label: 'time' } },
    agents: { a: agent },
    tools: {},
    models,
    ...(deadlineMs === null ? {} : { clock: 'time' }),
    least: {},
  } as unknown as CompiledFlow;
}

class Life {
  readonly #program;
  state: RunState | null = null;
  events: Event[] = [];
  at = 1000;
  constructor(flow: CompiledFlow) {
    this.#program = createProgram(flow, pure);
    this.tell({ type: 'start', run: 'r', flow: 'h', input: null, seed: 1, origin: {} });
  }
  tell(fact: Fact): void {
    const { state, events } = settle(this.#program, this.state, [fact], this.at);
    this.state = state;
    this.events.push(...events);
  }
  get owed() {
    return outstanding(this.#program, this.state as RunState).commands[0];
  }
  fails(error: Failure): this {
    this.tell({
      type: 'settle',
      key: this.owed?.key ?? '',
      attempt: this.owed?.attempt ?? 0,
      result: { ok: false, error },
    });
    return this;
  }
}
const fallbackTo = (targets: readonly string[], retry: Retry = NONE): Partial<DoNode> => ({
  retry: { ...retry, fallback: { targets, on: ['transient', 'rate_limit'] } },
});

describe('how long to wait', () => {
  test('the longer of jitter and what was asked for §controls/retry-storm', () => {
    const life = new Life(flowWith({ retry: TWICE })).fails(BUSY);
    expect(life.owed).toMatchObject({ attempt: 2, notBefore: 1000 + 9000 });
    const soon = new Life(flowWith({ retry: TWICE })).fails({ ...BUSY, retryAfterMs: 0 });
    expect(soon.owed?.notBefore).toBeGreaterThanOrEqual(1000);
    expect(soon.owed?.notBefore).toBeLessThanOrEqual(2000);
  });

  test('holds for every kind of failure, and also where the policy waits for nothing', () => {
    const life = new Life(flowWith({ retry: { ...TWICE, baseMs: 0 } })).fails({ ...DOWN, retryAfterMs: 1234 });
    expect(life.owed?.notBefore).toBe(2234);
  });

  test('never beyond the end of the run', () => {
    const life = new Life(flowWith({ retry: TWICE }, {}, 5000)).fails(BUSY);
    expect(life.state?.outcome).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP' });
  });

  test('is no part of the error that the flow sees', () => {
    const life = new Life(flowWith({})).fails(BUSY);
    expect(life.state?.outcome?.error).toEqual({
      class: 'rate_limit',
      type: 'RateLimitError',
      message: 'busy',
      node: 'ask',
      code: 'UNAVAILABLE_DEP',
    });
  });
});

describe('fallback targets', () => {
  test('one attempt each, in order, at once, after the retries of the agent’s own; each an event §handoffs/production-pathologies', () => {
    const life = new Life(flowWith(fallbackTo(['second', 'third'], TWICE)));
    const seen = [];
    for (; life.owed !== undefined; life.fails(DOWN)) {
      seen.push([life.owed.attempt, life.owed.target ?? 'own']);
      life.at = Math.max(life.at, life.owed.notBefore);
    }
    expect(seen).toEqual([
      [1, 'own'],
      [2, 'own'],
      [3, 'own'],
      [4, 'second'],
      [5, 'third'],
    ]);
    expect(
      life.events.flatMap((event) =>
        event.type === 'effect.judged' && event.verdict === 'retry' ? [event.target] : [],
      ),
    ).toEqual([undefined, undefined, 'second', 'third']);
    expect(life.state?.outcome).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE' });
  });

  test('a busy provider is not waited for where another can do it', () => {
    expect(new Life(flowWith(fallbackTo(['second']))).fails(BUSY).owed).toMatchObject({
      target: 'second',
      notBefore: 1000,
    });
  });

  test.each(['fatal', 'refused', 'semantic', 'timeout', 'policy'] as const)(
    'not for a %s failure, which says nothing about the provider',
    (kind) => {
      expect(new Life(flowWith(fallbackTo(['second']))).fails({ ...DOWN, class: kind }).owed).toBeUndefined();
    },
  );

  test('L4: at their own price, or not at all', () => {
    const money = (max: number): { readonly [id: string]: Meter } => ({
      money: { unit: 'costMicros', max, over: 'failed', label: 'budgets.cost_usd' },
    });
    expect(new Life(flowWith(fallbackTo(['second']), money(50))).fails(DOWN).owed).toMatchObject({ target: 'second' });
    expect(new Life(flowWith(fallbackTo(['second']), money(49))).fails(DOWN).owed).toBeUndefined();
    const held = new Life(flowWith(fallbackTo(['second']), money(50))).fails(DOWN);
    expect(held.state?.reserved).toEqual({ money: 50 });
  });
});
