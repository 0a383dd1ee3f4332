/**
 * Every bound on an expression, in one place. Source and tree limits hold at compile time; fuel holds while it runs.
 */
export const LIMITS = {
  /** Characters of source text. Large, because a prompt template is stored as one expression. */
  sourceMax: 1_000_000,
  nodesMax: 20_000,
  depthMax: 400,
  elementsMax: 10_000,
  /** Macros inside macros: `a.map(x, x.all(y, …))` is two. */
  macroNestingMax: 2,
  /** Elements that one macro walks. */
  macroListMax: 10_000,
  patternMax: 2_000,
  /** Units of work of one evaluation: about one per node evaluated in a loop, element compared, or eight characters touched. */
  fuel: 10_000_000,
} as const;
