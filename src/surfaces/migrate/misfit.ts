/** A part of a run that does not fit the new version of its flow. */
export interface Misfit {
  /** As in "node `gate`" or "value `triage.output`". */
  readonly part: string;
  readonly problem: string;
}
