/** Data for reports and stores; the core does not read it. */
export interface View {
  /** Reports list the result of each step. */
  readonly stepResults?: boolean;
  /** The kind of state that a slot holds, in notations that separate them. */
  readonly stores?: { readonly [slot: string]: 'scratchpad' | 'task' | 'observations' };
  /** The slots of the main line with the refused answer, the marked statements and the reason of a partial success. */
  readonly judgement?: {
    readonly rejected?: string;
    readonly violations?: string;
    readonly reason?: string;
    readonly verdict?: string;
  };
  /** Number of ended runs of this notation that are kept; all of them if absent. */
  readonly keepEnded?: number;
  readonly retain?: Retention;
}
/** The rule for removing ended runs of a flow: by number for each tenant, by the days since their end, or both. */
export interface Retention {
  readonly runs?: number;
  readonly days?: number;
  /** The folder that each run is exported to before it is removed. */
  readonly export?: string;
}
