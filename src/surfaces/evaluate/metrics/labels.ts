/** A run with the facts that its metrics need beyond the journal: the replay, and the expectations of its case, if any. */
import type { RunRecord } from '../journal/record.ts';

/** The expectations of a case. A run of production has none. */
export interface Labels {
  /** The code that the run must end with. */
  readonly code?: string;
  /** The number of steps of the reference run. */
  readonly steps?: number;
  /** True if a person must take over, or the run must fail closed. */
  readonly escalates?: boolean;
  /** The output is the expected one, as far as the case expects one. */
  readonly isRight?: boolean;
}
export interface Measured extends RunRecord {
  readonly labels: Labels;
  /** The first event that a replay does not come to; null if the replay agrees. */
  readonly differsAt: number | null;
}

export function hasEnded({ report }: RunRecord): boolean {
  return report.state === 'completed' || report.state === 'failed' || report.state === 'cancelled';
}
