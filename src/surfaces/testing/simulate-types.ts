/** What a simulation is given and what it finds. */
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Answer, Command, Event, Outcome, Question, RunState, Settled } from '../../ir/events.ts';
import type { Store } from '../../runtime/ports.ts';

export interface SimulatedWorld {
  /** A pure function of the command, which never uses more than was reserved for it; null when no answer ever comes. */
  perform(command: Command): Settled | null;
  /** What somebody would say; null when nobody ever does. */
  answer(question: Question): Answer | null;
}
export interface SimulateOptions {
  readonly flow: CompiledFlow;
  readonly input?: Json;
  readonly seed: number;
  readonly world: SimulatedWorld;
  /**
   * `harmless` faults may change nothing but time: crashes, duplicates, answers that come after the deadline, clocks set
   * back. `any` adds what may change how a run ends: cancellations, clocks set forward, people who take their time.
   */
  readonly faults: 'none' | 'harmless' | 'any';
  /** Crashes at the most. Default 8. */
  readonly crashesMax?: number;
  readonly store?: Store;
}
export interface Simulation {
  readonly seed: number;
  readonly outcome: Outcome | null;
  readonly state: RunState;
  readonly events: readonly Event[];
  readonly faults: FaultCounts;
  readonly violations: readonly string[];
}
export interface FaultCounts {
  crashes: number;
  pauses: number;
  duplicates: number;
  late: number;
  jumps: number;
  cancels: number;
}
export interface Performed {
  readonly life: number;
  readonly key: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly input: string;
}
