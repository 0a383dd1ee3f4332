/** What one visit of a node uses: surely, and at most. */
import type { Dimension, FlowBody, ModelEffect, Node, NodeId } from '../../ir/nodes.ts';
import { DEFAULT_MODEL } from '../../ir/price.ts';
import type { Price } from '../../ir/price.ts';
import { STEPS } from '../lower/budget-meters.ts';
import type { Edge, Graph } from '../verify/graph.ts';

/** What must be free for the visit to be made: what it reserves. */
export function needOf(node: Node, dimension: Dimension): number {
  if (dimension === 'steps') return node.charges?.includes(STEPS) === true ? 1 : 0;
  return node.op === 'do' ? (node.effect.reserve[dimension] ?? 0) : 0;
}

/** All attempts together; infinite where nothing known bounds it. */
export function mostOf(node: Node, dimension: Dimension, body: FlowBody): number {
  if (dimension === 'steps') return needOf(node, dimension);
  if (node.op !== 'do') return 0;
  const { effect, retry } = node;
  const standIns = effect.kind === 'model' ? (effect.fallback ?? []) : [];
  if (dimension === 'retries') return retry.max + standIns.length;
  if (effect.kind !== 'model') return (effect.reserve[dimension] ?? 0) * (1 + retry.max);
  const own = times(1 + retry.max, modelMost(effect, dimension, body));
  return standIns.reduce((sum, alias) => sum + modelMost(effect, dimension, body, alias), own);
}

function modelMost(effect: ModelEffect, dimension: Dimension, body: FlowBody, standIn?: string): number {
  const agent = body.agents[effect.agent];
  const model = body.models[standIn ?? agent?.model ?? DEFAULT_MODEL] as ModelFacts | undefined;
  const input = model?.limits?.context_tokens ?? Infinity;
  const output = agent?.maxOutputTokens ?? Infinity;
  switch (dimension) {
    case 'modelCalls':
      return 1;
    case 'inputTokens':
    case 'contextTokens':
      return input;
    case 'outputTokens':
      return output;
    case 'costMicros':
      return model?.price === undefined ? Infinity : costMost(model.price, input, output);
    default:
      return effect.reserve[dimension] ?? 0;
  }
}

function costMost({ input, output, long }: Price, inputTokens: number, outputTokens: number): number {
  const short = times(inputTokens, input) + times(outputTokens, output);
  return long === undefined || inputTokens <= long.above
    ? short
    : Math.max(short, times(inputTokens, long.input) + times(outputTokens, long.output));
}

interface ModelFacts {
  readonly price?: Price;
  readonly limits?: { readonly context_tokens?: number };
}

/** What is free stays free, however much of it there is. */
export function times(amount: number, price: number): number {
  return price === 0 || amount === 0 ? 0 : amount * price;
}

/** One visit of a node, and then the costliest way on. */
export function through(
  graph: Graph,
  dimension: Dimension,
  id: NodeId,
  then: (to: NodeId, kind: Edge['kind']) => number,
): number {
  const node = graph.node(id);
  let onward = 0;
  let over = 0;
  for (const { to, kind } of graph.edges(id)) {
    if (kind === 'over') over = Math.max(over, then(to, kind));
    else if (kind !== 'branch') onward = Math.max(onward, then(to, kind));
  }
  return Math.max(over, mostOf(node, dimension, graph.body) + onward + branches(node, (to) => then(to, 'branch')));
}

/** A list may have any length. */
export function branches(node: Node, most: (head: NodeId) => number): number {
  if (node.op !== 'fork') return 0;
  if ('heads' in node.over) return node.over.heads.reduce((sum, { to }) => sum + most(to), 0);
  return times(Infinity, most(node.over.head));
}
