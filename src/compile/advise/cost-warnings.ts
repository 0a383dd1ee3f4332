/** Says so where a flow's worst case is unbounded or absurd: in money as far as prices are known, and in what it does. */
import type { FlowBody } from '../../ir/nodes.ts';
import type { Bounds } from '../certificate/certificate.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { Range } from '../source/range.ts';

const ABSURD_USD = 10_000;
const ABSURD_COUNT = 100_000;

const COUNTED = [
  ['steps', 'steps', 'budgets.steps'],
  ['modelCalls', 'model calls', 'budgets.model_calls'],
  ['toolCalls', 'tool calls', 'budgets.tool_calls'],
] as const;

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

/** What a run may do at most, money apart. */
export function warnAboutCounts({ flow }: Bounds, at: Range, report: Report): void {
  const unbounded = COUNTED.filter(([measure]) => flow[measure].most === null);
  if (unbounded.length > 0)
    report.warning('unbounded-cost', at, `nothing bounds the ${all(unbounded.map(([, words]) => words))} of a run`, {
      help: `Set ${all(unbounded.map(([, , budget]) => `\`${budget}\``))}.`,
    });
  // Whatever else is said to be huge is the reason.
  if (report.list().some(({ code }) => code === 'huge-bound')) return;
  const absurd = COUNTED.filter(([measure]) => (flow[measure].most ?? 0) > ABSURD_COUNT);
  if (absurd.length === 0) return;
  const amounts = absurd.map(([measure, words]) => `${flow[measure].most} ${words}`);
  report.warning('huge-bound', at, `at worst a run makes ${all(amounts)}, which is unlikely to be meant`, {
    help: `Lower its caps, or set ${all(absurd.map(([, , budget]) => `\`${budget}\``))}.`,
  });
}

function all(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
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
