/** Warns about a budget that is smaller than the reservations of the shortest successful run. */
import { BUDGET_ROWS, shownAmount } from '@sluice-internal/kernel/ir';
import type { Dimension, FlowBody } from '@sluice-internal/kernel/ir';
import { STEPS } from '@sluice-internal/compile/lower';
import type { Bounds } from '@sluice-internal/compile/prove';
import type { Path, Range, Report } from '@sluice-internal/compile/source';
import type { Budgets, ReadDocument } from '@sluice-internal/compile/document';

export function warnAboutBudgets(
  { flow, verified }: Bounds,
  body: FlowBody,
  document: ReadDocument,
  report: Report,
): void {
  const limitOf = (meter: string, dimension: Dimension): number | null => {
    const max = body.meters[meter]?.max ?? null;
    return max === null ? null : shownAmount(dimension, max);
  };
  for (const { key: field, name: dimension, measure } of BUDGET_ROWS) {
    const limit = limitOf(dimension === 'steps' ? STEPS : `budget.${dimension}`, dimension);
    const needs = flow[measure].least;
    const at = ['budgets', field];
    if (limit !== null && needs > limit)
      warn(document, report, { field, what: `\`budgets.${field}\``, at, limit, needs, verified });
  }
  for (const [index, { id, name }] of (document.sections.value.agents ?? []).entries())
    for (const { key: field, name: dimension } of RESERVED) {
      const agent = id ?? name ?? '';
      const limit = limitOf(`budget.${dimension}@${agent}`, dimension);
      const needs = shownAmount(dimension, reserved(body, agent, dimension));
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

/** Dimensions that one model call reserves for its reply. An agent's budget can be too small for any call. */
const RESERVED = BUDGET_ROWS.filter(({ name }) => name === 'outputTokens' || name === 'costMicros');

interface Short {
  readonly field: keyof Budgets;
  readonly what: string;
  readonly at: Path;
  readonly limit: number;
  readonly needs: number;
  /** The verifier is part of what is needed. */
  readonly verified?: boolean;
}

function warn(
  { sections }: ReadDocument,
  report: Report,
  { field, what, at, limit, needs, verified = false }: Short,
): void {
  const replies = field === 'output_tokens' || field === 'cost_usd';
  const shorter = replies
    ? ', or give the agents a smaller `max_output_tokens`: a call reserves its longest reply'
    : '';
  report.warning(
    'budget-too-small',
    sections.at(...at),
    `${what} is ${limit}, but no run can succeed with less than ${needs}${verified ? ', its verifier included' : ''}`,
    { help: `Set it to at least ${needs}${shorter}.` },
  );
}

const ABSURD_USD = 10_000;
const ABSURD_COUNT = 100_000;

/** Steps and calls: a run without a bound on them has no bound on its work. */
const COUNTED = BUDGET_ROWS.filter(({ charged, call }) => charged === 'visit' || call !== undefined);

export function warnAboutCost({ flow }: Bounds, body: FlowBody, at: Range, report: Report): void {
  const { most } = flow.costUsd;
  if (most !== null && most > ABSURD_USD) {
    report.warning(
      'huge-bound',
      at,
      `at worst this flow costs ${Math.round(most)} dollars, which is unlikely to be meant`,
      { help: 'Lower its caps, or set `budgets.cost_usd`.' },
    );
  }
  if (most === null && usesPricedModel(body)) {
    report.warning('unbounded-cost', at, 'nothing bounds the cost of this flow', {
      help: 'Set `budgets.cost_usd`, or `limits.context_tokens` of the models and `max_output_tokens` of the agents.',
    });
  }
}

/** Warns about unbounded counts, except money. */
export function warnAboutCounts({ flow }: Bounds, at: Range, report: Report): void {
  const unbounded = COUNTED.filter(({ measure }) => flow[measure].most === null);
  if (unbounded.length > 0)
    report.warning('unbounded-cost', at, `nothing bounds the ${all(unbounded.map(({ many }) => many))} of a run`, {
      help: `Set ${all(unbounded.map(({ key }) => `\`budgets.${key}\``))}.`,
    });
  // A bound that was already reported as huge is the reason.
  if (report.list().some(({ code }) => code === 'huge-bound')) return;
  const absurd = COUNTED.filter(({ measure }) => (flow[measure].most ?? 0) > ABSURD_COUNT);
  if (absurd.length === 0) return;
  const amounts = absurd.map(({ measure, many }) => `${flow[measure].most} ${many}`);
  report.warning('huge-bound', at, `at worst a run makes ${all(amounts)}, which is unlikely to be meant`, {
    help: `Lower its caps, or set ${all(absurd.map(({ key }) => `\`budgets.${key}\``))}.`,
  });
}

function all(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

/** True if the price of a model is known. Without one, the cost cannot be computed. */
function usesPricedModel(body: FlowBody): boolean {
  return Object.values(body.nodes).some((node) => {
    if (node.op !== 'do' || node.effect.kind !== 'model') return false;
    // The document cannot limit a model that it does not name.
    const alias = body.agents[node.effect.agent]?.model ?? null;
    const model = alias !== null && Object.hasOwn(body.models, alias) ? body.models[alias] : null;
    return typeof model === 'object' && model !== null && 'price' in model;
  });
}
