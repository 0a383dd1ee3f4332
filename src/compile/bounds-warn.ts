/** Says so where a flow's worst case is unbounded or absurd, as far as money is at stake at all. */
import type { FlowBody } from '../core/ir.ts';
import type { Bounds } from './bounds.ts';
import type { Report } from './diagnostics.ts';
import type { Range } from './range.ts';

const ABSURD_USD = 10_000;

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
    report.warning('unbounded-cost', at, 'nothing bounds what this flow may cost', {
      help: 'Set `budgets.cost_usd`, or `limits.context_tokens` of the models and `max_output_tokens` of the agents.',
    });
  }
}

/** Without a price there is nothing to count with, and no claim to make. */
function usesPricedModel(body: FlowBody): boolean {
  return Object.values(body.nodes).some((node) => {
    if (node.op !== 'do' || node.effect.kind !== 'model') return false;
    // A model that the document does not name is not the document's to bound.
    const alias = body.agents[node.effect.agent]?.model ?? null;
    const model = alias !== null && Object.hasOwn(body.models, alias) ? body.models[alias] : null;
    return typeof model === 'object' && model !== null && 'price' in model;
  });
}
