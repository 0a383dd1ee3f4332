/** The least and the most that one visit of a node uses. */
import { DEFAULT_MODEL, dimensionRow, highestFactor } from '@sluice-internal/kernel/ir';
import type { Amounts, Dimension, DoNode, FlowBody, ModelEffect, Node, Price } from '@sluice-internal/kernel/ir';
import { STEPS } from '../lower/budget-meters.ts';

/** The amount that a visit reserves. It must be free before the visit. */
export function needOf(node: Node, dimension: Dimension): number {
  if (dimension === 'steps') return node.charges?.includes(STEPS) === true ? 1 : 0;
  return node.op === 'do' ? (node.effect.reserve[dimension] ?? 0) : 0;
}

/** The most that all attempts of one visit use together. Infinite where no known limit applies. */
export function mostOf(node: Node, dimension: Dimension, body: FlowBody): number {
  if (dimension === 'steps') return needOf(node, dimension);
  if (node.op !== 'do') return 0;
  const { effect, retry, fit } = node;
  const fallbacks = retry.fallback?.targets ?? [];
  const repairs = fit?.repairs ?? 0;
  const agent = effect.kind === 'model' ? body.agents[effect.agent] : undefined;
  if (dimension === 'retries')
    return needOf(node, dimension) + retry.max + fallbacks.length + repairs + (agent?.continuations ?? 0);
  if (effect.kind !== 'model') return (effect.reserve[dimension] ?? 0) * (1 + retry.max) + judgedMost(node, dimension);
  const own = callMost(effect, dimension, body, agent?.model ?? DEFAULT_MODEL);
  const others = fallbacks.map((alias) => callMost(effect, dimension, body, alias));
  // A repair is asked of the model that replied.
  return others.reduce((sum, most) => sum + most, times(1 + retry.max, own) + times(repairs, Math.max(own, ...others)));
}

/** The worst case of the checks of a call: each is performed once, again after each change by a person, and as often as it waits. */
function judgedMost({ controls: { walk } = { walk: [] } }: DoNode, dimension: Dimension): number {
  const edits = walk.reduce((most, each) => (each.how === 'ask' ? Math.max(most, each.with.edits) : most), 0);
  return walk.reduce((sum, each) => {
    if (each.how !== 'check') return sum;
    const again = each.volatile === true ? 1 : 0;
    return sum + (each.with.reserve?.[dimension] ?? 0) * (1 + edits + again + (each.with.waits ?? 0));
  }, 0);
}

/** The attempts after the first one of a visit: how many there can be, the most that each uses, and the most of all. */
export interface Repeated {
  readonly count: number;
  readonly each: number;
  readonly all: number;
}

/** Null where further attempts use nothing of the dimension. */
export function repeatedIn(node: Node, dimension: Dimension, body: FlowBody): Repeated | null {
  if (node.op !== 'do' || dimension === 'steps') return null;
  const { retry, fit } = node;
  const count = retry.max + (retry.fallback?.targets.length ?? 0) + (fit?.repairs ?? 0);
  if (dimension === 'retries') return count > 0 ? { count, each: 1, all: count } : null;
  const costs = costsOfTargets(node, dimension, body);
  const all = mostOf(node, dimension, body) - (costs[0] ?? 0);
  return all > 0 && Number.isFinite(all) ? { count, each: Math.max(...costs), all } : null;
}

/** The most of one attempt: at the model of the agent, then at each fallback. */
function costsOfTargets({ effect, retry }: DoNode, dimension: Dimension, body: FlowBody): readonly number[] {
  if (effect.kind !== 'model') return [effect.reserve[dimension] ?? 0];
  const models = [body.agents[effect.agent]?.model ?? DEFAULT_MODEL, ...(retry.fallback?.targets ?? [])];
  return models.map((alias) => callMost(effect, dimension, body, alias));
}

function callMost(effect: ModelEffect, dimension: Dimension, body: FlowBody, alias: string): number {
  const model = body.models[alias] as ModelFacts | undefined;
  const input = model?.limits?.context_tokens ?? Infinity;
  const agent = body.agents[effect.agent];
  const output = agent?.maxOutputTokens ?? Infinity;
  const requests = 1 + (agent?.continuations ?? 0);
  if (dimensionRow(dimension).call === 'model') return 1;
  const most: Amounts = {
    contextTokens: input,
    inputTokens: requests * input,
    outputTokens: requests * output,
    tokens: requests * (input + output),
    costMicros: model?.price === undefined ? Infinity : requests * costMost(model.price, input, output),
  };
  return most[dimension] ?? effect.reserve[dimension] ?? 0;
}

function costMost(price: Price, inputTokens: number, outputTokens: number): number {
  const { input, output, long } = price;
  const factor = highestFactor(price);
  const short = times(inputTokens, input * factor) + times(outputTokens, output);
  return long === undefined || inputTokens <= long.above
    ? short
    : Math.max(short, times(inputTokens, long.input * factor) + times(outputTokens, long.output));
}

interface ModelFacts {
  readonly price?: Price;
  readonly limits?: { readonly context_tokens?: number };
}

/** Zero times infinity is zero. */
export function times(amount: number, price: number): number {
  return price === 0 || amount === 0 ? 0 : amount * price;
}
