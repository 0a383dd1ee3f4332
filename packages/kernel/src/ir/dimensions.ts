/**
 * The budget dimensions: one row each. Documents, meters, certificates, reports and the CLI derive their fields, keys and
 * words from this table, so a new dimension is one row, plus the effects that reserve it.
 */
interface Row {
  /** The key under `budgets` in a document. */
  readonly key: string;
  /** The field in reports and certificates. Default: the name of the row. */
  readonly measure?: string;
  /** Words for one and for many, and for the amount if `many` does not fit. `many` is by default `one` and an s. */
  readonly one: string;
  readonly many?: string;
  readonly label?: string;
  /** The number of journal units in one unit of the document: money is counted in millionths of a dollar. */
  readonly scale?: number;
  /**
   * The time of the charge. `visit`: a node is entered. `attempt`: a call is sent, in the amount that its effect reserves.
   * `retry`: an attempt is repeated. `measured`: the answer reports the amount. `undo`: the engine undoes a call.
   */
  readonly charged: 'visit' | 'attempt' | 'retry' | 'measured' | 'undo';
  /** Calls of this kind charge one per attempt, even if nothing is reserved. */
  readonly call?: 'model' | 'tool';
  /** A report shows the largest amount of this dimension in one call, instead of a sum. */
  readonly largest?: string;
  /** The dimensions that it is the sum of. */
  readonly sums?: readonly string[];
  /** The reserved amount depends on the tokens of the input, which are counted only if a budget limits it. */
  readonly byInput?: true;
  /** Only reports show it: a budget for it would add nothing, because another dimension contains it. */
  readonly reportOnly?: true;
  /** The live line of the CLI shows it, with this word. */
  readonly live?: string;
}

const ROWS = {
  steps: { key: 'steps', one: 'step', charged: 'visit', live: 'steps' },
  modelCalls: { key: 'model_calls', one: 'model call', charged: 'attempt', call: 'model', live: 'model calls' },
  toolCalls: { key: 'tool_calls', one: 'tool call', charged: 'attempt', call: 'tool', live: 'tool calls' },
  undoCalls: { key: 'undo_calls', one: 'undo call', charged: 'undo' },
  externalCalls: { key: 'external_calls', one: 'external call', charged: 'attempt' },
  inputTokens: { key: 'input_tokens', one: 'input token', charged: 'measured', byInput: true, live: 'tokens in' },
  outputTokens: { key: 'output_tokens', one: 'output token', charged: 'measured', live: 'tokens out' },
  cachedInputTokens: {
    key: 'cached_input_tokens',
    one: 'cached input token',
    charged: 'measured',
    reportOnly: true,
  },
  cacheWriteTokens: { key: 'cache_write_tokens', one: 'cache write token', charged: 'measured', reportOnly: true },
  reasoningTokens: { key: 'reasoning_tokens', one: 'reasoning token', charged: 'measured', reportOnly: true },
  tokens: { key: 'tokens', one: 'token', charged: 'measured', sums: ['inputTokens', 'outputTokens'], byInput: true },
  costMicros: {
    key: 'cost_usd',
    measure: 'costUsd',
    one: 'dollar',
    label: 'cost',
    scale: 1_000_000,
    charged: 'measured',
    byInput: true,
    live: '',
  },
  retries: { key: 'retries', one: 'retry', many: 'retries', charged: 'retry' },
  reflections: { key: 'reflections', one: 'reflection', charged: 'attempt' },
  contextTokens: {
    key: 'context_tokens',
    one: 'context token',
    charged: 'measured',
    largest: 'inputTokens',
    byInput: true,
  },
  memoryWrites: { key: 'memory_writes', one: 'memory write', charged: 'attempt' },
  sideEffects: { key: 'side_effects', one: 'side effect', charged: 'attempt' },
} as const satisfies { readonly [name: string]: Row };

type Rows = typeof ROWS;
export type Dimension = keyof Rows;
export type BudgetKey = {
  [name in Dimension]: Rows[name] extends { readonly reportOnly: true } ? never : Rows[name]['key'];
}[Dimension];
/** A dimension as people read it: money is in dollars. */
export type Measure = Exclude<Dimension, 'costMicros'> | Rows['costMicros']['measure'];
export type Amounts = { readonly [dimension in Dimension]?: number };

export interface DimensionRow extends Row {
  readonly name: Dimension;
  readonly measure: Measure;
  readonly many: string;
  readonly label: string;
  readonly scale: number;
  readonly largest?: Dimension;
  readonly sums?: readonly Dimension[];
}
export interface BudgetRow extends DimensionRow {
  readonly key: BudgetKey;
}
const TABLE = Object.fromEntries((Object.keys(ROWS) as Dimension[]).map((name) => [name, fullRow(name)])) as {
  readonly [dimension in Dimension]: DimensionRow;
};

function fullRow(name: Dimension): DimensionRow {
  const many = `${ROWS[name].one}s`;
  const row = { measure: name, many, scale: 1, ...ROWS[name], name } as Omit<DimensionRow, 'label'>;
  return { label: row.many, ...row };
}

export const DIMENSION_ROWS: readonly DimensionRow[] = Object.values(TABLE);
/** The dimensions that a budget can limit. */
export const BUDGET_ROWS = DIMENSION_ROWS.filter((row): row is BudgetRow => row.reportOnly !== true);
export const BUDGET_DIMENSIONS = BUDGET_ROWS.map(({ name }) => name);

export function dimensionRow(dimension: Dimension): DimensionRow {
  return TABLE[dimension];
}

/** One unit of each dimension that counts calls of this kind. */
export function callAmounts(kind: Row['call'], amount = 1): Amounts {
  return Object.fromEntries(DIMENSION_ROWS.flatMap(({ call, name }) => (call === kind ? [[name, amount]] : [])));
}

/** True for tokens and money: the measured amount counts. The others count as they were reserved. */
export function isMeasured(dimension: string): boolean {
  return Object.hasOwn(TABLE, dimension) && TABLE[dimension as Dimension].charged === 'measured';
}

/** The amount of a measured dimension in the usage that an answer reports. */
export function measuredAmount(used: Amounts, dimension: Dimension): number {
  const { sums = [dimension] } = TABLE[dimension];
  return sums.reduce((sum, each) => sum + (used[each] ?? 0), 0);
}

/** An amount of the journal in the unit of documents and reports. */
export function shownAmount(dimension: Dimension, amount: number): number {
  return amount / TABLE[dimension].scale;
}
