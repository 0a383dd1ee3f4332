/** Says so where a budget is smaller than what the shortest good run has to reserve: such a run ends before it gets anywhere. */
import type { Dimension, FlowBody } from '../../ir/nodes.ts';
import { BUDGET_DIMENSIONS, STEPS } from '../lower/budget-meters.ts';
import type { Bounds } from '../certificate/certificate.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import type { Path } from '../source/located.ts';
import type { Budgets } from '../document/section-bounds.ts';

export function warnAboutBudgets({ flow }: Bounds, body: FlowBody, document: ReadDocument, report: Report): void {
  const limitOf = (meter: string, dimension: Dimension): number | null => {
    const max = body.meters[meter]?.max ?? null;
    return max === null ? null : max / scaleOf(dimension);
  };
  for (const [field, dimension] of DIMENSIONS) {
    const limit = limitOf(dimension === 'steps' ? STEPS : `budget.${dimension}`, dimension);
    const needs = flow[dimension === 'costMicros' ? 'costUsd' : dimension].least;
    const at = ['budgets', field];
    if (limit !== null && needs > limit)
      warn(document, report, { field, what: `\`budgets.${field}\``, at, limit, needs });
  }
  for (const [index, { id, name }] of (document.sections.value.agents ?? []).entries())
    for (const [field, dimension] of RESERVED) {
      const agent = id ?? name ?? '';
      const limit = limitOf(`budget.${dimension}@${agent}`, dimension);
      const needs = reserved(body, agent, dimension) / scaleOf(dimension);
      const at = ['agents', index, 'budget', field];
      if (limit !== null && needs > limit)
        warn(document, report, { field, what: `\`budget.${field}\` of \`${agent}\``, at, limit, needs });
    }
}

/** The most that one call of the agent reserves. */
function reserved({ nodes }: FlowBody, agent: string, dimension: Dimension): number {
  return Object.values(nodes).reduce((most, node) => {
    const called = node.op === 'do' && node.effect.kind === 'model' && node.effect.agent === agent;
    return called ? Math.max(most, node.effect.reserve[dimension] ?? 0) : most;
  }, 0);
}

function scaleOf(dimension: Dimension): number {
  return dimension === 'costMicros' ? 1_000_000 : 1;
}

const DIMENSIONS = [['steps', 'steps'] as const, ...BUDGET_DIMENSIONS];
/** What one call of a model has to reserve, so that what an agent has of it can be too little for any. */
const RESERVED = BUDGET_DIMENSIONS.filter(([field]) => field === 'output_tokens' || field === 'cost_usd');

interface Short {
  readonly field: keyof Budgets;
  readonly what: string;
  readonly at: Path;
  readonly limit: number;
  readonly needs: number;
}

function warn({ sections }: ReadDocument, report: Report, { field, what, at, limit, needs }: Short): void {
  const replies = field === 'output_tokens' || field === 'cost_usd';
  const shorter = replies
    ? ', or give the agents a smaller `max_output_tokens`: a call reserves its longest reply'
    : '';
  report.warning(
    'budget-too-small',
    sections.at(...at),
    `${what} is ${limit}, but no run can succeed with less than ${needs}`,
    { help: `Set it to at least ${needs}${shorter}.` },
  );
}
