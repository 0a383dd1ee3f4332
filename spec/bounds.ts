/** What meters mean: how much is left of each, and where a thread goes that one of them turns away. */
import type { Amounts, CompiledFlow, Dimension, DoNode, Meter, Node, NodeId } from '../src/core/ir.ts';
import type { Slots } from './meaning.ts';

export class Bounds {
  readonly spent: { [meter: string]: number } = {};
  readonly usage: { [dimension: string]: number } = {};
  readonly #recent: { [meter: string]: string[] } = {};
  readonly #flow: CompiledFlow;

  constructor(flow: CompiledFlow) {
    this.#flow = flow;
  }

  /** Where to go instead of acting here, when a visit does not fit or the least that is still to come does not. */
  noVisitLeft(at: NodeId, node: Node): NodeId | undefined {
    const meters = this.#of(node);
    const full = meters.find(({ unit, left }) => isVisit(unit) && left < 1);
    const least = node.needs ?? this.#flow.least[at] ?? {};
    return (full ?? meters.find(({ unit, left }) => left < (least[unit as Dimension] ?? 0)))?.over;
  }

  repeatsTooOften(node: Node, print: string): NodeId | undefined {
    return this.#of(node).find(({ id, unit, max, window }) => {
      if (unit !== 'repeats') return false;
      const earlier = (this.#recent[id] ?? []).slice(window === undefined ? 0 : 1 - window);
      return earlier.filter((each) => each === print).length + 1 > (max ?? Infinity);
    })?.over;
  }

  noBudgetFor(node: Node, need: Amounts): NodeId | undefined {
    return this.#of(node).find(({ unit, left }) => isBudget(unit) && (need[unit] ?? 0) > left)?.over;
  }

  visit(node: Node, print?: string): void {
    for (const { id, unit } of this.#of(node)) {
      if (isVisit(unit)) add(this.spent, id, 1);
      if (unit === 'repeats' && print !== undefined) (this.#recent[id] ??= []).push(print);
    }
  }

  /** Settles to the measured use, or to all that was reserved where nobody can know. */
  pay(node: Node, need: Amounts, used: Amounts, unknown: boolean): void {
    for (const { id, unit } of this.#of(node)) {
      const reserved = isBudget(unit) ? (need[unit] ?? 0) : 0;
      const measured = COUNTED.has(unit) || unknown ? reserved : (used[unit as Dimension] ?? 0);
      if (reserved > 0) add(this.spent, id, measured);
    }
  }

  use(dimension: string, amount: number): void {
    add(this.usage, dimension, amount);
  }

  measure(used: Amounts): void {
    for (const [dimension, amount] of Object.entries(used)) if (!COUNTED.has(dimension)) this.use(dimension, amount);
  }

  /** Agents of random flows have no tools and no schema, and their models no price for long inputs. */
  worstCase(node: DoNode, input: Slots, model: string | undefined, countTokens: (text: string) => number): Amounts {
    const { effect } = node;
    if (effect.kind !== 'model' || !this.#of(node).some(({ unit }) => TOKENS.has(unit))) return effect.reserve;
    const agent = this.#flow.agents[effect.agent];
    const { price } = (this.#flow.models[model ?? agent?.model ?? ''] ?? {}) as {
      price?: { input: number; output: number };
    };
    const inputTokens = countTokens(`${agent?.instructions ?? ''}\n${JSON.stringify(input)}`);
    const outputTokens = effect.reserve.outputTokens ?? 0;
    const costMicros = Math.ceil(inputTokens * (price?.input ?? 0) + outputTokens * (price?.output ?? 0));
    return { ...effect.reserve, inputTokens, costMicros, contextTokens: inputTokens };
  }

  #of(node: Node): readonly (Meter & { readonly id: string; readonly left: number })[] {
    return (node.charges ?? []).map((id) => {
      const meter = this.#flow.meters[id] as Meter;
      return { ...meter, id, left: (meter.max ?? Infinity) - (this.spent[id] ?? 0) };
    });
  }
}

/** Counted when they are sent, whatever becomes of them. */
const COUNTED: ReadonlySet<string> = new Set([
  'steps',
  'modelCalls',
  'toolCalls',
  'externalCalls',
  'retries',
  'reflections',
  'memoryWrites',
  'sideEffects',
]);
const TOKENS: ReadonlySet<string> = new Set(['inputTokens', 'costMicros', 'contextTokens']);

function isVisit(unit: Meter['unit']): boolean {
  return unit === 'visits' || unit === 'steps';
}

function isBudget(unit: Meter['unit']): unit is Dimension {
  return !isVisit(unit) && unit !== 'repeats';
}

function add(counts: { [name: string]: number }, name: string, amount: number): void {
  counts[name] = (counts[name] ?? 0) + amount;
}
