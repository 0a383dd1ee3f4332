/** Keys that tighten a certificate: each would bound a measure without a bound, or lower a bound far above the least. */
import { BUDGET_ROWS } from '@sluice-internal/kernel/ir';
import type { BudgetRow, CompiledFlow, Measure } from '@sluice-internal/kernel/ir';
import { STEPS } from '../lower/budget-meters.ts';
import type { Bounds } from './certificate.ts';

export type Tightening = { readonly [measure in Measure]?: readonly string[] };

/** Only for measures of a whole run. The largest single input is not one of them. */
export function tighteningKeys(flow: CompiledFlow, bounds: Bounds): Tightening {
  const entries = BUDGET_ROWS.flatMap((row) => {
    const keys = row.largest === undefined ? keysFor(flow, bounds, row) : [];
    return keys.length === 0 ? [] : [[row.measure, keys]];
  });
  return Object.fromEntries(entries) as Tightening;
}

/** A bound this many times above the least is loose. */
const LOOSE_FACTOR = 10;

function keysFor(flow: CompiledFlow, bounds: Bounds, row: BudgetRow): readonly string[] {
  const { least, most } = bounds.flow[row.measure];
  const budget = `budgets.${row.key}`;
  const ofTeam = flow.notation === 'orchestration' ? teamKeys(flow, bounds, row) : [];
  if (most === null) return [...ofTeam, budget];
  const isLoose = most >= LOOSE_FACTOR * Math.max(1, least);
  if (!isLoose || row.charged === 'measured' || isDeclared(flow, row)) return [];
  return [...capsOf(bounds), ...ofTeam, budget];
}

/** Each call of a tool adds to these measures. */
const OF_TOOLS: readonly Measure[] = ['toolCalls', 'externalCalls', 'sideEffects', 'memoryWrites', 'retries'];

function teamKeys(flow: CompiledFlow, { flow: whole }: Bounds, { measure, charged }: BudgetRow): readonly string[] {
  if (measure === 'tokens') return ['MaxTotalTokens'];
  const isByCalls = OF_TOOLS.includes(measure) && (measure === 'toolCalls' || whole.toolCalls.most === null);
  const isByItems = charged !== 'measured' && whole[measure].most === null && mapsItems(flow);
  return [...(isByCalls ? ['MaxToolCallsPerTurn'] : []), ...(isByItems ? ['protections.spawn.max'] : [])];
}

/** The strategy `mapreduce` works on a list that an agent makes. */
function mapsItems({ nodes }: CompiledFlow): boolean {
  return Object.values(nodes).some((node) => node.op === 'fork' && 'each' in node.over && node.over.as === 'item');
}

/** The document has a budget of this dimension already. */
function isDeclared({ meters }: CompiledFlow, { name }: BudgetRow): boolean {
  return (meters[name === 'steps' ? STEPS : `budget.${name}`]?.max ?? null) !== null;
}

const CAP = /\b(max_iterations|max_visits of \S+|MaxIterations|MaxRoundCount|MaxRevisits of .+)/;

/** The caps of cycles that the document declares, or could declare. */
function capsOf({ cycles }: Bounds): readonly string[] {
  const keys = cycles.flatMap(({ caps }) => caps.flatMap(({ label }) => CAP.exec(label)?.[1] ?? []));
  return [...new Set(keys)];
}
