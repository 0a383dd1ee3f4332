/** The retry budget, and an outage against many runs at once. §flow/retry-budget */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSqlite } from '@sluice-internal/library';
import type { Report } from '@sluice-internal/library';
import { allOf, createVirtualClock } from '@sluice-internal/engine/ports';
import type { BudgetState } from '@sluice-internal/engine/limits';
import type { Settled } from '@sluice-internal/kernel/ir';
import { spend } from '../../src/limits/retry-budget.ts';
import { AGENTS, DOWN, FLOW, flowOf, lab, says } from './run-flow.ts';
import type { Lab } from './run-flow.ts';

const RETRIES = { ...FLOW, nodes: [{ ...FLOW.nodes[0], retry: { max_attempts: 4, backoff_ms: 100 } }] };
const flowWith = (protections: object) => flowOf({ ...AGENTS, flow: RETRIES, protections });

describe('the token bucket', () => {
  const RULES = { share: 0.15, burst: 10 };

  test('a full bucket, then a share of the calls', () => {
    let state: BudgetState | null = null;
    let granted = 0;
    for (let index = 0; index < 200; index++) {
      const spent = spend(state, RULES, 1, 'asks', index);
      state = spent.state;
      granted += spent.granted ? 1 : 0;
    }
    expect(granted).toBeLessThanOrEqual(200 * 0.15 + 10);
    expect(granted).toBeGreaterThanOrEqual(200 * 0.15 + 8);
    expect(state).toMatchObject({ calls: 200, retries: granted, denied: 200 - granted });
  });

  test('a declared retry takes a token and is made without one too; the next default finds the bucket empty', () => {
    let state = spend(null, { share: 0, burst: 1 }, 0, 'takes', 1).state;
    expect(state).toMatchObject({ tokens: 0, retries: 1, denied: 0 });
    const again = spend(state, { share: 0, burst: 1 }, 0, 'takes', 2);
    expect(again).toMatchObject({ granted: true, state: { tokens: 0, retries: 2, denied: 0 } });
    state = again.state;
    expect(spend(state, { share: 0, burst: 1 }, 0, 'asks', 3)).toMatchObject({ granted: false, state: { denied: 1 } });
  });

  test('it is full again after a quiet time', () => {
    const empty = { ...spend(null, RULES, 0, 'asks', 0).state, tokens: 0 };
    expect(spend(empty, RULES, 0, 'asks', 599_999).granted).toBe(false);
    expect(spend(empty, RULES, 0, 'asks', 600_000).granted).toBe(true);
  });
});

/** Runs start over two minutes. The provider answers 503 during the first one. */
async function outage(labs: readonly Lab[], protections: object, runs: number): Promise<void> {
  const flow = flowOf({ ...AGENTS, flow: FLOW, protections });
  const [{ clock }] = labs as [Lab];
  const begun: Promise<unknown>[] = [];
  for (let index = 0; index < runs; index++) {
    const own = labs[index % labs.length] as Lab;
    const start = async (): Promise<void> => {
      await clock.sleep(Math.floor((index / runs) * 120_000));
      await own.settled(await own.start(flow, { seed: index }));
    };
    begun.push(start());
  }
  await Promise.all(begun);
}
/** A request that does not get through is repeated twice, although no document declares it. */
const OUT: Settled = {
  ok: false,
  error: { class: 'transient', type: 'APIError', message: '503 overloaded', transportRetries: 2 },
};
const provider = (_: unknown, at: number): Settled => (at < 60_000 ? OUT : says('fine'));

describe('a provider that answers 503 for a minute, against 200 runs', () => {
  test('without protections every failed call is repeated twice', async () => {
    const one = lab(provider);
    await outage([one], { breaker: false, retry_budget: false }, 200);
    expect(one.sent.filter(({ at }) => at < 60_000).length).toBeGreaterThan(280);
    await one.close();
  });

  test('the retry budget alone keeps retries at a share of the calls', async () => {
    const one = lab(provider);
    await outage([one], { retry_budget: { share: 0.15, burst: 10 } }, 200);
    const firsts = new Set(one.sent.map(({ run }) => run)).size;
    expect(firsts).toBe(200);
    expect(one.sent.length).toBeLessThanOrEqual(200 * 1.15 + 10);
    await one.close();
  });

  test('with the breaker, two processes on one database stop at once, probe, and go on', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
    const clock = createVirtualClock(0);
    const open = () => lab(provider, { store: openSqlite(join(dir, 'one.db')), clock });
    const labs = [open(), open()];
    await outage(labs, { retry_budget: {}, breaker: { cooldown: 10, max_trips: 20 } }, 200);
    const sent = labs.flatMap((each) => each.sent);
    const during = sent.filter(({ at }) => at < 60_000);
    // Five errors open it; then one probe for every ten seconds.
    expect(during.length).toBeLessThanOrEqual(5 + 2 + 6);
    expect(during.length).toBeGreaterThanOrEqual(5 + 4);
    const after = sent.filter(({ at }) => at >= 60_000);
    expect(after.length).toBeGreaterThan(80);
    const states: string[] = [];
    for (const one of labs)
      for (const { run } of await allOf((page) => one.store.index.list(page)))
        for (const event of await one.events(run))
          if (event.type === 'breaker.changed') states.push(`${String(event['from'])} ${String(event['to'])}`);
    expect(new Set(states)).toEqual(new Set(['closed open', 'open half_open', 'half_open open', 'half_open closed']));
    expect(await labs[0]?.store.shared.list('breaker:')).toMatchObject([{ value: { status: 'closed' } }]);
    for (const one of labs) await one.close();
    rmSync(dir, { recursive: true });
  }, 60_000);
});

describe('200 runs at the same instant, of which each needs an answer within the outage', () => {
  /** All runs start at once. Each call takes a second, so every first call is on its way before the first error is seen. */
  async function burst(protections: object): Promise<{ readonly sent: number; readonly runs: readonly Report[] }> {
    const clock = createVirtualClock(0);
    const one = lab(
      async (call, at) => {
        await call.clock.sleep(1000);
        return provider(null, at);
      },
      { clock },
    );
    const flow = flowOf({ ...AGENTS, flow: FLOW, protections });
    const runs = await Promise.all(
      Array.from({ length: 200 }, async (_, seed) => one.settled(await one.start(flow, { seed }))),
    );
    const sent = one.sent.length;
    await one.close();
    return { sent, runs };
  }

  test('without protections: 600 requests', async () => {
    expect((await burst({ breaker: false, retry_budget: false })).sent).toBe(600);
  });

  test('with the retry budget and the breaker: each run asks once, and hardly any asks again', async () => {
    const { sent, runs } = await burst({ retry_budget: { share: 0.15, burst: 10 }, breaker: { cooldown: 10 } });
    expect(sent).toBeGreaterThanOrEqual(200);
    expect(sent).toBeLessThanOrEqual(200 * 1.15 + 10);
    expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['failed']));
    expect(runs.every(({ decisions }) => decisions.some(({ action }) => action === 'block'))).toBe(true);
  });
});

describe('the gate before a retry', () => {
  test('a denied retry is not sent, is an event, and does not count as a call', async () => {
    const one = lab(() => OUT);
    const report = await one.run(
      flowOf({ ...AGENTS, flow: FLOW, protections: { retry_budget: { share: 0, burst: 1 } } }),
    );
    expect(one.sent).toHaveLength(2);
    expect(report).toMatchObject({
      state: 'failed',
      code: 'UNAVAILABLE_DEP',
      usage: { modelCalls: 1 },
      error: { type: 'RetryBudgetError', message: expect.stringContaining('the retry budget is used up') },
    });
    expect(report.decisions.at(-1)).toMatchObject({ action: 'block' });
    expect(await one.events(report.run)).toContainEqual(
      expect.objectContaining({ type: 'retry.denied', share: 0, burst: 1 }),
    );
    await one.close();
  });

  test('a request that did not get through is repeated within the budget, also without a declaration', async () => {
    const failure: Settled = {
      ok: false,
      error: { class: 'transient', type: 'APIError', message: '503', transportRetries: 2 },
    };
    const one = lab(() => failure);
    const flow = flowOf({ ...AGENTS, flow: FLOW });
    for (let index = 0; index < 20; index++) await one.run(flow);
    expect(one.sent.length).toBeLessThanOrEqual(20 * 1.15 + 10);
    const free = lab(() => failure);
    for (let index = 0; index < 20; index++)
      await free.run(flowOf({ ...AGENTS, flow: FLOW, protections: { retry_budget: false } }));
    expect(free.sent).toHaveLength(60);
    await one.close();
    await free.close();
  });
});

describe('retries that a document declares', () => {
  const counted = async (one: Lab): Promise<BudgetState> =>
    (await one.store.shared.list('retry_budget'))[0]?.value as unknown as BudgetState;

  test.each([
    ['without a declared budget', flowOf({ ...AGENTS, flow: RETRIES })],
    ['beside a declared budget that is empty', flowWith({ retry_budget: { share: 0, burst: 1 } })],
  ])('are counted and never refused: %s', async (_, flow) => {
    const one = lab(() => DOWN);
    for (let index = 0; index < 10; index++) expect((await one.run(flow)).error?.type).toBe('APIError');
    expect(one.sent).toHaveLength(40);
    expect(await counted(one)).toMatchObject({ retries: 30, denied: 0 });
    await one.close();
  });

  test('use up what defaults may take', async () => {
    const one = lab(({ command }) => (command.node === 'a' ? OUT : DOWN));
    await one.run(flowWith({ retry_budget: { share: 0, burst: 3 } }));
    const bare = flowOf({ ...AGENTS, flow: FLOW, protections: { retry_budget: { share: 0, burst: 3 } } });
    expect((await one.run(bare)).error?.type).toBe('RetryBudgetError');
    expect(await counted(one)).toMatchObject({ retries: 3, denied: 1 });
    await one.close();
  });

  test('of a model: a request that does not get through', async () => {
    const models = { main: { ...AGENTS.models.main, retries: 2 } };
    const one = lab(() => OUT);
    const flow = flowOf({ ...AGENTS, models, flow: FLOW, protections: { retry_budget: { share: 0, burst: 0 } } });
    expect((await one.run(flow)).error?.type).toBe('APIError');
    expect(one.sent).toHaveLength(3);
    expect(await counted(one)).toMatchObject({ retries: 2, denied: 0 });
    await one.close();
  });

  test('of a loop and of a stage', async () => {
    const documents = [
      { ...AGENTS, budgets: { retries: 3 }, loop: { agent: 'bot' } },
      {
        ...AGENTS,
        protections: {
          on_failure: { provider_error: JSON.parse('{"retries": 3, "then": "abort"}') as object },
          breaker: false,
        },
        staged: { plan: { agent: 'bot' }, workers: { agent: 'bot' } },
      },
    ];
    for (const document of documents) {
      const one = lab(() => DOWN);
      const protections = {
        ...('protections' in document ? document.protections : {}),
        retry_budget: { burst: 0, share: 0 },
      };
      await one.run(flowOf({ ...document, protections }));
      expect(one.sent).toHaveLength(4);
      expect(await counted(one)).toMatchObject({ retries: 3, denied: 0 });
      await one.close();
    }
  });

  test('of a step with several calls: one token for each further attempt', async () => {
    const one = lab(() => DOWN);
    const tools = { look: { effect: 'read' } };
    const agents = [{ ...AGENTS.agents[0], tools: ['look'] }];
    const flow = flowOf({ ...AGENTS, agents, tools, flow: RETRIES });
    expect((await one.run(flow)).error?.type).toBe('APIError');
    expect(one.sent).toHaveLength(4);
    expect(await counted(one)).toMatchObject({ retries: 3, denied: 0 });
    await one.close();
  });
});

test('an item of a map that is lost to the budget says so', async () => {
  const one = lab(() => OUT);
  const map = {
    id: 'each',
    entry: 'all',
    nodes: [
      {
        ...{ id: 'all', type: 'map', over: [1, 2, 3], as: 'item', do: 'one' },
        ...{ on_item_error: 'collect', routes: [{ to: 'end' }] },
      },
      { id: 'one', type: 'agent', agent: 'bot' },
    ],
  };
  const report = await one.run(flowOf({ ...AGENTS, flow: map, protections: { retry_budget: { share: 0, burst: 1 } } }));
  expect(JSON.stringify(report.output)).toContain('RetryBudgetError');
  await one.close();
});

test('the retries of a notation itself stay within the budget', async () => {
  const one = lab(() => DOWN);
  const team = flowOf({
    Orchestration: {
      Agents: [{ Name: 'bot', Instructions: 'Answer.' }],
      Selection: { Type: 'sequential' },
    },
  });
  for (let index = 0; index < 20; index++) await one.run(team);
  expect(one.sent.length).toBeLessThanOrEqual(20 * 1.15 + 10);
  await one.close();
});
