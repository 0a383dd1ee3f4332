/**
 * What a flow means, told as directly as possible: one recursive walk, no events, no journal, no time. The engine must
 * agree with it on random flows (test/differential). It shares types, names, codes, prices and the evaluator of
 * expressions with the engine, and no rule. The whole definition is this file,
 * `controls.ts`, `forks.ts` and `values.ts`.
 *
 * A thread is a branch and has a path for a name: `0`, then `0:2.1` for branch 1 of the fork that was the root's act 2.
 * Threads are walked one after the other. Where a flow leaves open which branches end before a join, the world says so.
 */
import { costOf, isMeasured, measuredAmount, priceIn } from '@sluice-internal/kernel/ir';
import type {
  Amounts,
  CompiledFlow,
  Dimension,
  DoNode,
  EndNode,
  ErrorRecord,
  Failure,
  ForkNode,
  Meter,
  Node,
  NodeId,
  Settled,
  Slots,
} from '@sluice-internal/kernel/ir';
import { nameOf } from '@sluice-internal/kernel/core';
import type { Json } from '@sluice-internal/kernel/expr';
import canonicalize from 'canonicalize';
import { addsEffects } from '../packages/kernel/src/core/failure.ts';
import { Checks, failed } from './controls.ts';
import { branchesOf, isSpent, verdict } from './forks.ts';
import type { Ended } from './forks.ts';
import type { Asked, Done } from './values.ts';
import {
  callerOf,
  evaluate,
  fields,
  gathered,
  holds,
  problem,
  readings,
  repeats,
  semantic,
  spelling,
  written,
} from './values.ts';

export function interpret(flow: CompiledFlow, input: Json, world: World): Meaning {
  const walk = new Walk(flow, world);
  const ended = walk.thread({ id: '0', acts: 0, slots: { input }, undo: [] }, flow.entry);
  const review = walk.undoFailed ? ({ state: 'failed', code: 'REVIEW_REQUIRED' } as const) : {};
  return { ...ended, ...review, ...walk };
}

export interface World {
  /** A pure function of what is asked; null when no answer ever comes. */
  answer(asked: Asked): Settled | null;
  /** Of a fork whose join depends on time: which branches ended before it, in order, and whether the clock made it. */
  joined(fork: string): { readonly ended: readonly number[]; readonly late: boolean } | undefined;
  validate(schema: Json, value: Json): string | null;
  countTokens(text: string): number;
}
export type Meaning = Ended & Pick<Walk, 'spent' | 'raised' | 'asked' | 'dropped' | 'illegal'>;
interface Undone {
  readonly node: NodeId;
  readonly name: string;
  readonly args: Json;
  result: Json;
}
interface Thread {
  readonly id: string;
  acts: number;
  slots: Slots;
  readonly undo: Undone[];
}

class Walk {
  readonly spent: { [meter: string]: number } = {};
  /** What people have added to the limits. */
  readonly raised: { [meter: string]: number } = {};
  readonly asked: Asked[] = [];
  /** Threads that a join dropped. How far they came depends on time, so nothing is said about them. */
  readonly dropped: string[] = [];
  /** Joins that the world reported and the flow does not allow. */
  readonly illegal: string[] = [];
  undoFailed = false;
  /** The calls under each meter, for those that compare them. */
  readonly #calls: { [meter: string]: Done[] } = {};
  readonly #flow: CompiledFlow;
  readonly #world: World;

  constructor(flow: CompiledFlow, world: World) {
    this.#flow = flow;
    this.#world = world;
  }

  thread(thread: Thread, start: NodeId): Ended {
    for (let at = start; ;) {
      const node = this.#flow.nodes[at] as Node;
      try {
        // A visit has to fit, and so has the least that is still to come.
        const least = node.needs ?? this.#flow.least[at] ?? {};
        const over = this.#over(thread, at, VISIT) ?? this.#over(thread, at, least, 'foreseen');
        const to = over ?? this.#act(thread, at, node);
        if (typeof to !== 'string') return to;
        at = to;
      } catch (cause) {
        const ways =
          node.op === 'do' ? node : { failed: [], fail: (node.op === 'let' && node.fail) || this.#flow.fail };
        at = failed(thread, ways, problem(node, semantic('ExpressionError', cause)));
      }
    }
  }

  #act(thread: Thread, at: NodeId, node: Node): NodeId | Ended {
    this.#spend(node, VISIT);
    if (node.op === 'do') return this.#do(thread, at, node);
    if (node.op === 'end') return this.#end(thread, node);
    if (node.op === 'fork') return this.#fork(thread, node);
    if (node.op === 'pick') return node.cases.find(({ when }) => holds(when, thread.slots))?.to ?? node.otherwise;
    if (node.undoes !== undefined) {
      this.#rollBack(thread, node.undoes);
      if (this.undoFailed)
        return this.#end(thread, { ...node, op: 'end', state: 'failed', code: 'REVIEW_REQUIRED', output: 'null' });
    }
    thread.slots = written(thread.slots, node.writes, null);
    return node.next;
  }

  /** Work that is repeated is undone first. A thread of its own does it. */
  #rollBack(thread: Thread, names: 'all' | readonly string[]): void {
    const isRepeated = ({ node }: Undone): boolean => {
      const { name = '' } = this.#flow.nodes[node]?.label ?? {};
      return names === 'all' || names.some((each) => name === each || name.startsWith(`${each}/`));
    };
    const repeated = thread.undo.filter(isRepeated);
    if (repeated.length === 0) return;
    this.#undo(`${thread.id}:${thread.acts++}.0`, 0, repeated);
    thread.undo.splice(0, thread.undo.length, ...thread.undo.filter((each) => !repeated.includes(each)));
  }

  /** Last in, first out; one that fails does not stop the others. */
  #undo(thread: string, acts: number, undo: readonly Undone[]): void {
    for (const { node, name, ...input } of undo.toReversed()) {
      const { charges = [] } = this.#flow.nodes[node] as Node;
      const meters = charges.filter((id) => this.#flow.meters[id]?.unit === 'undoCalls');
      const isOver = meters.some((id) => (this.#flow.meters[id]?.max ?? Infinity) - (this.spent[id] ?? 0) < 1);
      // A call for whose undo there is no budget stays, and somebody has to look at it.
      if (isOver) {
        this.undoFailed = true;
        continue;
      }
      for (const id of meters) this.spent[id] = (this.spent[id] ?? 0) + 1;
      const key = `${thread}#u${acts++}`;
      const given = this.#ask({ thread, key, attempt: 1, kind: 'tool', name, node, input });
      if (given?.ok !== true && given?.error.ran !== true) this.undoFailed = true;
    }
  }

  #end({ id, slots, ...thread }: Thread, { state, ...node }: EndNode): Ended {
    const error = (slots['error'] ?? null) as ErrorRecord | null;
    const output = evaluate(node.output, slots);
    const code = node.code === 'error' ? (error?.code ?? 'UNAVAILABLE_DEP') : node.code;
    if (state === 'completed') return { state, code, output, error: null, slots };
    this.#undo(id, thread.acts, thread.undo);
    return { state, code, output, error, slots };
  }

  /** Asks until an answer is accepted and written, or until there is no reason to ask again. */
  #do(thread: Thread, at: NodeId, node: DoNode): NodeId {
    const { effect, retry } = node;
    const name = nameOf(node);
    const { controls } = node;
    if (controls !== undefined) {
      const around = { ask: (asked: Asked) => this.#ask(asked), test: () => this.#test(thread, at, node) };
      const refused = this.#unfit(thread, node) ?? new Checks(around, thread, at, node, controls).walk();
      if (refused !== null) return refused;
    }
    const input = fields(effect.input, thread.slots);
    // How to undo it is fixed before it is asked for.
    const args = undoArgs(node, input, thread.slots);
    const undo = { node: at, name: node.undo?.tool ?? '', args, result: null as Json };
    const unfit = this.#unfit(thread, node);
    if (unfit !== null) return unfit;
    const call: Done = {
      name,
      print: `${name} ${canonicalize(spelling(input))}`,
      ok: null,
      result: '',
      caller: callerOf(thread.id),
    };
    let need = this.#worstCase(node, input);
    const over = this.#over(thread, at, call) ?? this.#over(thread, at, need);
    if (over !== undefined) {
      // Who is turned away has not been here.
      this.#spend(node, { visits: -1, steps: -1 });
      return over;
    }
    for (const id of node.charges ?? []) (this.#calls[id] ??= []).push(call);
    const asked = { thread: thread.id, key: `${thread.id}#${thread.acts++}`, kind: effect.kind, name, node: at, input };
    let target: string | undefined;
    for (let attempt = 1; ; attempt++) {
      const given = this.#ask({ ...asked, attempt }) ?? silence(node);
      const late = !given.ok && given.error.class === 'timeout';
      const isUnmeasured = late || (!given.ok && given.error.unmeasured === true);
      Object.assign(call, { ok: given.ok, result: JSON.stringify(given.ok ? given.value : given.error.message) });
      this.#spend(node, isUnmeasured ? need : settled(need, given.used ?? {}));
      if (given.ok) undo.result = given.value;
      // A failed call has changed nothing. A late one may have, if it was sent. Of some calls only the result was refused.
      const ran = given.ok || given.error.ran === true;
      const mayHaveRun = late && given.error.sent !== 'no';
      if (node.undo !== undefined && (ran || mayHaveRun) && !thread.undo.includes(undo)) thread.undo.push(undo);
      const fault = given.ok ? this.#objection(thread, node, given.value) : given.error;
      if (fault === null) {
        const slots = written(thread.slots, node.writes, undo.result);
        for (const [meter, by] of Object.entries(fields(node.grant ?? {}, thread.slots, undo.result)))
          if (typeof by === 'number' && by > 0) this.raised[meter] = (this.raised[meter] ?? 0) + by;
        thread.slots = slots;
        return node.next;
      }
      const error = problem(node, fault, attempt);
      if (fault.ran === true || (given.ok && addsEffects(this.#flow, node))) return failed(thread, node, error);
      const wanted = holds(retry.when ?? 'true', { ...thread.slots, error: { ...error } });
      const again = target === undefined && attempt <= retry.max && retry.on.includes(fault.class) && wanted;
      target = again ? undefined : nextTarget(node, target, fault);
      need = { ...this.#worstCase(node, input, target), retries: 1 };
      // A call without budget for another attempt takes the route of its failure, not that of the budget.
      if ((!again && target === undefined) || this.#over({ ...thread }, at, need) !== undefined)
        return failed(thread, node, error);
    }
  }

  #unfit(thread: Thread, node: DoNode): NodeId | null {
    const input = fields(node.effect.input, thread.slots);
    undoArgs(node, input, thread.slots);
    if (node.takes === undefined || this.#world.validate(node.takes, input['args'] ?? null) === null) return null;
    return failed(thread, node, problem(node, semantic('ArgumentError')));
  }

  /** Where a call goes that does not fit. It has not been here. */
  #test(thread: Thread, at: NodeId, node: DoNode): NodeId | null {
    const over = this.#over(thread, at, node.effect.reserve);
    if (over !== undefined) this.#spend(node, { visits: -1, steps: -1 });
    return over ?? null;
  }

  #ask(asked: Asked): Settled | null {
    this.asked.push(asked);
    return this.#world.answer(asked);
  }

  #objection(
    { slots }: Thread,
    { effect, schema, unless = 'false', accept = 'true' }: DoNode,
    value: Json,
  ): Failure | null {
    const read = effect.kind === 'model' ? readings((value as Slots | null)?.['text'] ?? null) : [value];
    if (
      schema !== undefined &&
      !holds(unless, { ...slots, it: value }) &&
      read.every((each) => this.#world.validate(schema, each) !== null)
    )
      return semantic('SchemaError');
    try {
      return evaluate(accept, slots, value) === true ? null : semantic('RejectedError');
    } catch (cause) {
      return semantic('ExpressionError', cause);
    }
  }

  #fork(thread: Thread, node: ForkNode): NodeId {
    const { id, slots } = thread;
    const branches = branchesOf(node, slots);
    const act = thread.acts++;
    const free = this.#world.joined(`${id}#${act}`);
    const outcomes: (Ended | null)[] = branches.map(() => null);
    for (const index of free?.ended ?? branches.keys()) {
      if (free === undefined && verdict(node, outcomes) !== null) break;
      const { to, adds } = branches[index] as (typeof branches)[number];
      const child: Thread = { id: `${id}:${act}.${index}`, acts: 0, slots: { ...slots, ...adds }, undo: [] };
      const ended = this.thread(child, to);
      outcomes[index] = ended;
      if (ended.state === 'completed') thread.undo.push(...child.undo);
    }
    const said = verdict(node, outcomes);
    // Items after one that a budget stopped are not started, and have the same failure.
    const spent = 'each' in node.over ? outcomes.find(isSpent)?.error : undefined;
    if (said === null && free?.late !== true) this.illegal.push(`${id}#${act} after ${free?.ended.join()}`);
    if (free !== undefined) outcomes.forEach((each, index) => each ?? this.dropped.push(`${id}:${act}.${index}`));
    const list = outcomes.map((each, index) => {
      const unstarted = { state: spent ? 'failed' : 'cancelled', code: spent?.code ?? null, error: spent ?? null };
      const { state, code, output, error } = each ?? { output: null, ...unstarted };
      return { name: branches[index]?.name, state, code, output, error };
    });
    thread.slots = { ...gathered(slots, outcomes, node), [node.into]: list as unknown as Json };
    if (said === 'met') return node.next;
    const bad = list.filter(({ state }, index) => outcomes[index] !== null && state !== 'completed');
    // Patterns over errors search the message too. It names every branch that failed, with its error.
    const lines = bad.map(({ name, code, error }) => `${name}: ${error?.type ?? code}: ${error?.message ?? ''}`);
    const message = lines.join('; ');
    if (free?.late === true) return failed(thread, node, problem(node, { ...LATE, message }));
    const { class: kind = 'semantic', type = 'JoinError' } = bad[0]?.error ?? {};
    const error = problem(node, { class: kind, type, message });
    return failed(thread, node, { ...error, code: bad[0]?.code ?? error.code });
  }

  /** Where a thread goes that needs more of a meter than is left of it, be it one more of the same; some are told why. */
  #over(thread: Thread, at: NodeId, needed: Needed | Done, why = 'limit'): NodeId | undefined {
    const { charges = [], onBudget } = this.#flow.nodes[at] as Node;
    for (const id of charges) {
      const meter = this.#flow.meters[id] as Meter;
      const left = (meter.max ?? Infinity) + (this.raised[id] ?? 0) - (this.spent[id] ?? 0);
      const needs = 'print' in needed ? 0 : (needed[meter.unit] ?? 0);
      const isLoop = 'print' in needed && meter.unit === 'repeats' && this.#repeats(id, needed, left);
      if (needs <= left && !isLoop) continue;
      if (meter.unit === 'visits' || meter.unit === 'repeats') return meter.over;
      if (onBudget === undefined) {
        const error = problem(this.#flow.nodes[at] as Node, { class: 'budget', type: 'BudgetError', message: '' });
        thread.slots = { ...thread.slots, error: { ...error } };
        return meter.over;
      }
      thread.slots = { ...thread.slots, tripped: { meter: id, node: at, why, left, needs } };
      return onBudget;
    }
    return undefined;
  }

  #repeats(id: string, call: Done, most: number): boolean {
    const writes = (name: string): boolean => (this.#flow.tools[name]?.effect ?? 'read') !== 'read';
    const own = (this.#calls[id] ?? []).filter(({ caller }) => caller === call.caller);
    return repeats(own, call, this.#flow.meters[id] as Meter, most, writes);
  }

  #spend({ charges = [] }: Node, amounts: Needed): void {
    for (const id of charges)
      this.spent[id] = (this.spent[id] ?? 0) + (amounts[(this.#flow.meters[id] as Meter).unit] ?? 0);
  }

  /** Agents of random flows have no tools and no schema that a provider would be sent. */
  #worstCase({ effect }: DoNode, input: Slots, model?: string): Amounts {
    if (effect.kind !== 'model') return effect.reserve;
    const said = `${this.#flow.agents[effect.agent]?.instructions ?? ''}\n${JSON.stringify(input)}`;
    const inputTokens = this.#world.countTokens(said);
    const { outputTokens = 0 } = effect.reserve;
    const costMicros = costOf(priceIn(this.#flow, effect.agent, model), { inputTokens, outputTokens });
    return {
      ...effect.reserve,
      inputTokens,
      tokens: inputTokens + outputTokens,
      costMicros,
      contextTokens: inputTokens,
    };
  }
}

function undoArgs({ undo }: DoNode, input: Slots, slots: Slots): Json {
  return undo?.input === undefined ? (input['args'] ?? {}) : fields(undo.input, { ...slots, input });
}

type Needed = { readonly [unit in Meter['unit']]?: number };
const VISIT: Needed = { visits: 1, steps: 1 };
const LATE = { class: 'timeout', type: 'TimeoutError', message: '' } as const;

/** Calls count as they were reserved, and what is measured as it was used. */
function settled(need: Amounts, used: Amounts): Needed {
  const amounts = Object.entries(need).map(([unit, reserved]) => {
    const amount = isMeasured(unit) && reserved > 0 ? measuredAmount(used, unit as Dimension) : reserved;
    return [unit, amount];
  });
  return Object.fromEntries(amounts) as Needed;
}

/** After its own retries an effect is tried once with each fallback target. */
function nextTarget({ retry: { fallback } }: DoNode, target: string | undefined, fault: Failure): string | undefined {
  if (fallback === undefined || !fallback.on.includes(fault.class)) return undefined;
  return fallback.targets[target === undefined ? 0 : fallback.targets.indexOf(target) + 1];
}

function silence(node: DoNode): Settled {
  const { effect } = node;
  if (effect.kind === 'wait' && !('signal' in effect.input)) return { ok: true, value: { data: null, by: 'clock' } };
  if (effect.kind !== 'ask')
    return { ok: false, error: { ...LATE, message: `\`${nameOf(node)}\` did not answer in time` } };
  return { ok: true, value: { choice: effect.onExpiry, by: 'clock', expired: true } };
}
