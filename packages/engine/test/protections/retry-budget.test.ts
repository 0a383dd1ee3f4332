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
      const spent = spend(state, RULES, 1, true, index);
      state = spent.state;
      granted += spent.granted ? 1 : 0;
    }
    expect(granted).toBeLessThanOrEqual(200 * 0.15 + 10);
    expect(granted).toBeGreaterThanOrEqual(200 * 0.15 + 8);
    expect(state).toMatchObject({ calls: 200, retries: granted, denied: 200 - granted });
  });

  test('it is full again after a quiet time', () => {
    const empty = { ...spend(null, RULES, 0, true, 0).state, tokens: 0 };
    expect(spend(empty, RULES, 0, true, 599_999).granted).toBe(false);
    expect(spend(empty, RULES, 0, true, 600_000).granted).toBe(true);
  });
});

/** Runs start over two minutes. The provider answers 503 during the first one. */
async function outage(labs: readonly Lab[], protections: object, runs: number): Promise<void> {
  const flow = flowWith(protections);
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
const provider = (_: unknown, at: number): Settled => (at < 60_000 ? DOWN : says('fine'));

describe('a provider that answers 503 for a minute, against 200 runs', () => {
  test('without protections every failed call is repeated three times', async () => {
    const one = lab(provider);
    await outage([one], { breaker: false, retry_budget: false }, 200);
    expect(one.sent.filter(({ at }) => at < 60_000).length).toBeGreaterThan(380);
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
    const flow = flowWith(protections);
    const runs = await Promise.all(
      Array.from({ length: 200 }, async (_, seed) => one.settled(await one.start(flow, { seed }))),
    );
    const sent = one.sent.length;
    await one.close();
    return { sent, runs };
  }

  test('without protections: 800 requests', async () => {
    expect((await burst({ breaker: false, retry_budget: false })).sent).toBe(800);
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
    const one = lab(() => DOWN);
    const report = await one.run(flowWith({ retry_budget: { share: 0, burst: 1 } }));
    expect(one.sent).toHaveLength(2);
    expect(report).toMatchObject({
      state: 'failed',
      code: 'REPEATED_FAILURE',
      usage: { modelCalls: 2 },
      error: { type: 'RetryBudgetError' },
      decisions: [{ action: 'retry' }, { action: 'retry' }, { action: 'block' }],
    });
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

  test('retries that a document declares are the author’s unless it declares the budget', async () => {
    const one = lab(() => DOWN);
    for (let index = 0; index < 10; index++) await one.run(flowOf({ ...AGENTS, flow: RETRIES }));
    expect(one.sent).toHaveLength(40);
    await one.close();
  });
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
