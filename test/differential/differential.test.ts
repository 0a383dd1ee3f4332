/**
 * Random flows through the engine and through the reference interpreter, in the same random world. Both must agree on how
 * the run ends, on every slot, on what was spent, and on what each branch asked of the world.
 *
 * A failure prints its seed; SEED runs it again, SLUICE_RUNS sets how many flows are tried.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verify } from '@sluice-internal/compile/prove';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Meaning } from '../../spec/interpreter.ts';
import { compare, usageOf } from './compare.ts';
import type { Usage } from './compare.ts';
import { runBoth } from './engine.ts';
import type { Ran } from './engine.ts';
import { lower } from './lower.ts';
import { plans } from './plan.ts';
import type { Plan } from './plan.ts';
import { createWorld } from './world.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env['SLUICE_RUNS'] ?? 300);

test(
  `L2, L3, L4, L5, L6, L13: the engine agrees with the reference interpreter, seed ${seed}`,
  { timeout: 30_000 + numRuns * 100 },
  async () => {
    console.log(`differential: seed ${seed}, ${numRuns} flows`);
    const seen = {
      requests: 0,
      forks: 0,
      dropped: 0,
      tripped: 0,
      undone: 0,
      fallbacks: 0,
      failed: 0,
      onBudget: 0,
      raised: 0,
      unfit: 0,
      judged: 0,
      refused: 0,
      approved: 0,
      waited: 0,
    };
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { ran, meaning, usage } = await both(plan);
        compare(plan.forks === 'sequential', ran, meaning, usage);
        const count = (type: string): number => ran.events.filter((event) => event.type === type).length;
        seen.requests += count('effect.requested');
        seen.forks += count('thread.forked');
        seen.tripped += count('meter.tripped');
        seen.undone += count('undo.requested');
        seen.raised += count('meter.raised');
        seen.onBudget += ran.events.filter((event) => event.type === 'meter.tripped' && event.noted === true).length;
        const verdicts = ran.events.flatMap((event) => (event.type === 'call.judged' ? [event] : []));
        seen.judged += verdicts.length;
        seen.refused += verdicts.filter((event) => 'refusal' in event).length;
        seen.approved += verdicts.filter((event) => 'walk' in event && event.walk?.approved !== undefined).length;
        seen.waited += verdicts.filter((event) => event.controls.some(([, verdict]) => verdict === 'wait')).length;
        seen.unfit += ran.events.filter(
          (event) => event.type === 'expression.failed' && event.error.type === 'ArgumentError',
        ).length;
        seen.fallbacks += ran.events.filter(
          (event) => event.type === 'effect.judged' && event.verdict === 'retry' && event.target !== undefined,
        ).length;
        seen.dropped += meaning.dropped.length;
        seen.failed += ran.state.outcome?.state === 'failed' ? 1 : 0;
      }),
      { seed, numRuns },
    );
    console.log(JSON.stringify(seen));
    // A generator that never got anywhere would agree trivially.
    for (const [what, count] of Object.entries(seen)) expect({ what, found: count > 0 }).toEqual({ what, found: true });
  },
);

test(`L5: random flows are flows that the compiler would let pass, seed ${seed}`, () => {
  const found = new Set<string>();
  for (const plan of fc.sample(plans, { seed, numRuns: 200 })) {
    const error = (code: string, _at: unknown, message: string): void => {
      if (!isOfTools(code)) found.add(`${code}: ${message}`);
    };
    verify({ body: lower(plan), places: new Map() }, { error } as never);
  }
  expect([...found]).toEqual([]);
});

/** Random tools have no definitions: how they are called is not what is tested here. */
function isOfTools(code: string): boolean {
  return code === 'unknown-tool' || code === 'incomplete-tool';
}

async function both(plan: Plan): Promise<{ ran: Ran; meaning: Meaning; usage: Usage }> {
  const flow = lower(plan);
  const input = plan.input as unknown as Json;
  // Whether the compensation of a dropped branch holds decides how the run ends, and which are dropped depends on time.
  const world = createWorld(plan.world, flow, { undoHolds: plan.forks === 'early' });
  const { ran, meaning } = await runBoth(flow, input, world, plan.world);
  return { ran, meaning, usage: usageOf(meaning.asked, world) };
}
