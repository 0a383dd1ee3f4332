/**
 * Simulates a run under faults, all from one seed: latencies, crashes before, after and between commits, paused processes that
 * wake up too late, duplicate and late results, clock jumps, late or missing answers, cancellations. The laws (L1, L2, L4, L5,
 * L7, L8, L11) are checked after every turn and at the end; `violations` lists what failed. A simulation takes no real time.
 */
import { isDeepStrictEqual } from 'node:util';
import { openMemory } from '@sluice-internal/engine/memory';
import type { Json } from '@sluice-internal/kernel/expr';
import { readRun } from '@sluice-internal/engine/journal';
import { createChance } from './chance.ts';
import { live } from './simulate-life.ts';
import { journalViolations } from './simulate-checks.ts';
import type { FaultCounts, Performed, SimulateOptions, Simulation } from './simulate-types.ts';

/**
 * Runs a flow in one generated future with crashes and other faults, and checks the laws of the engine.
 * @example
 * const check = async (options: SimulateOptions) => (await simulate(options)).violations;
 */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { seed, flow, store = openMemory() } = options;
  const run = `s_${seed >>> 0}`;
  const chance = createChance(seed);
  const faults: FaultCounts = { crashes: 0, pauses: 0, duplicates: 0, late: 0, jumps: 0, cancels: 0 };
  const violations = new Set<string>();
  const performed: Performed[] = [];
  const committed = new Set<string>();
  let time = { elapsed: 1_000_000, ahead: 0 };
  for (let number = 0; number < 100; number++) {
    const life = await live({
      options,
      run,
      store,
      number,
      time,
      chance: chance.fork(`life ${number}`),
      faults,
      performed,
      committed,
      violate: (what) => violations.add(what),
    });
    time = life.time;
    if (life.ended) break;
  }
  const { state, events } = await readRun(store.journal, run);
  for (const violation of await journalViolations(store.journal, run, flow, state, events, performed))
    violations.add(violation);
  return { seed, outcome: state.outcome, state, events, faults: { ...faults }, violations: [...violations] };
}

/**
 * Two runs in the same world must have the same outcome and slots, under any faults. Null if they do.
 * @example
 * const isSame = (first: Simulation, second: Simulation) => differenceBetween(first, second) === null;
 */
export function differenceBetween(quiet: Simulation, disturbed: Simulation): string | null {
  const seen = ({ outcome, state: { threads, spent } }: Simulation): Json =>
    JSON.parse(JSON.stringify({ outcome, spent, slots: threads.get('0')?.slots })) as Json;
  const [before, after] = [seen(quiet), seen(disturbed)];
  return isDeepStrictEqual(before, after)
    ? null
    : `L8: ends as ${JSON.stringify(after)}, undisturbed as ${JSON.stringify(before)}`;
}
