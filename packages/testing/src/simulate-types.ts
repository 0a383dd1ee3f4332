/** Options and results of a simulation. */
import type {
  Answer,
  Command,
  CompiledFlow,
  Event,
  Outcome,
  Question,
  RunState,
  Settled,
} from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Store } from '@sluice-internal/engine/ports';

/**
 * The world of a simulation.
 * @example
 * const world: SimulatedWorld = {
 *   perform: () => ({ ok: true, value: { text: 'ok' } }),
 *   answer: ({ choices }) => ({ choice: choices[0] ?? '', by: 'anna' }),
 * };
 */
export interface SimulatedWorld {
  /** A pure function of the command that never uses more than was reserved. Null if the call never returns. */
  perform(command: Command): Settled | null;
  /** A person's answer; null if no one ever answers. */
  answer(question: Question): Answer | null;
}
/**
 * Options of `simulate`.
 * @example
 * const options = (compiled: CompiledFlow, world: SimulatedWorld): SimulateOptions => ({ flow: compiled, seed: 1, world, faults: 'harmless' });
 */
export interface SimulateOptions {
  readonly flow: CompiledFlow;
  readonly input?: Json;
  readonly seed: number;
  readonly world: SimulatedWorld;
  /**
   * `harmless` faults change nothing but time: crashes, duplicates, results after the deadline, clocks set back. `any` adds
   * faults that may change how a run ends: cancellations, clocks set forward, late answers of people.
   */
  readonly faults: 'none' | 'harmless' | 'any';
  /** The largest number of crashes. Default 8; of harmless faults 3, after which a call in flight is not made again. */
  readonly crashesMax?: number;
  readonly store?: Store;
}
/**
 * The result of a simulation.
 * @example
 * const isGood = ({ violations }: Simulation) => violations.length === 0;
 */
export interface Simulation {
  readonly seed: number;
  readonly outcome: Outcome | null;
  readonly state: RunState;
  readonly events: readonly Event[];
  readonly faults: FaultCounts;
  readonly violations: readonly string[];
}
/**
 * How many faults a simulation has made.
 * @example
 * const total = ({ crashes, duplicates }: FaultCounts) => crashes + duplicates;
 */
export interface FaultCounts {
  crashes: number;
  pauses: number;
  duplicates: number;
  late: number;
  jumps: number;
  cancels: number;
}
/**
 * A call that a simulation has performed.
 * @example
 * const isFirst = ({ attempt }: Performed) => attempt === 1;
 */
export interface Performed {
  readonly life: number;
  readonly key: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly input: string;
  readonly kind: Command['kind'];
  readonly name: string;
  /** It has changed the world, or never answered. */
  readonly took: boolean;
}
