/**
 * What a flow means, told as directly as possible: one recursive walk, no events, no journal, no time. The engine must
 * agree with it on random flows (test/differential). It shares the graph's types and the expression evaluator with the
 * engine, and nothing else.
 *
 * A thread is a branch and has a path for a name: `0`, then `0:2.1` for branch 1 of the fork that was the root's act 2.
 * Threads are walked one after the other. Where a flow leaves open which branches end before a join, the world says so.
 */
import type { FailureClass, TerminalCode } from '../src/core/codes.ts';
import type { Amounts, CompiledFlow, DoNode, EndNode, ForkNode, Node, NodeId } from '../src/core/ir.ts';
import type { Json } from '../src/core/json.ts';
import { Bounds } from './bounds.ts';
import type { Answered, Asked, Ended, Fault, Meaning, Problem, Slots, World } from './meaning.ts';
import { canonical, evaluate, expressionProblem, fields, gathered, holds, readingsOf, written } from './values.ts';

export function interpret(flow: CompiledFlow, input: Json, world: World): Meaning {
  return new Walk(flow, world).all(input);
}

interface Thread {
  readonly id: string;
  acts: number;
  slots: Slots;
  undo: Undo[];
}
interface Undo {
  readonly node: NodeId;
  readonly tool: string;
  readonly args: Json;
  ran: boolean;
  result: Json;
}
interface Branch {
  readonly name: string;
  readonly to: NodeId;
  readonly adds: Slots;
}

class Walk {
  readonly #flow: CompiledFlow;
  readonly #world: World;
  readonly #bounds: Bounds;
  readonly #asked: Asked[] = [];
  readonly #dropped: string[] = [];
  readonly #illegal: string[] = [];
  #undoFailed = false;

  constructor(flow: CompiledFlow, world: World) {
    this.#flow = flow;
    this.#world = world;
    this.#bounds = new Bounds(flow);
  }

  all(input: Json): Meaning {
    const ended = this.#thread({ id: '0', acts: 0, slots: { input }, undo: [] }, this.#flow.entry);
    const review = this.#undoFailed ? ({ state: 'failed', code: 'REVIEW_REQUIRED' } as const) : {};
    const { spent, usage } = this.#bounds;
    return { ...ended, ...review, spent, usage, asked: this.#asked, dropped: this.#dropped, illegal: this.#illegal };
  }

  #thread(thread: Thread, start: NodeId): Ended {
    for (let at = start; ;) {
      const node = this.#flow.nodes[at] as Node;
      const over = this.#bounds.noVisitLeft(at, node);
      if (over !== undefined) at = over;
      else if (node.op === 'do') at = this.#do(thread, at, node);
      else {
        this.#bounds.visit(node);
        try {
          if (node.op === 'end') return this.#end(thread, node);
          at = this.#step(thread, node);
        } catch (cause) {
          thread.slots = { ...thread.slots, error: expressionProblem(node, cause) };
          at = this.#flow.fail;
        }
      }
    }
  }

  #step(thread: Thread, node: Exclude<Node, DoNode | EndNode>): NodeId {
    if (node.op === 'fork') return this.#fork(thread, node);
    if (node.op === 'pick') return node.cases.find(({ when }) => holds(when, thread.slots))?.to ?? node.otherwise;
    thread.slots = written(thread.slots, node.writes, null);
    return node.next;
  }

  #end(thread: Thread, node: EndNode): Ended {
    const { slots } = thread;
    const error = (slots['error'] ?? null) as Problem | null;
    const output = evaluate(node.output, slots);
    const code = node.code === 'error' ? (error?.code ?? 'UNAVAILABLE_DEP') : node.code;
    if (node.state === 'completed') return { state: node.state, code, output, error: null, slots };
    this.#unwind(thread);
    return { state: node.state, code, output, error, slots };
  }

  /** Last in, first out; one that fails does not stop the others. */
  #unwind({ id, ...thread }: Thread): void {
    for (const { node, tool, args, result } of thread.undo.toReversed()) {
      const key = `${id}#u${thread.acts++}`;
      const input = { args, result };
      const given = this.#ask({ thread: id, key, attempt: 1, kind: 'tool', name: tool, node, input });
      if (given?.ok !== true) this.#undoFailed = true;
    }
  }

  #do(thread: Thread, at: NodeId, node: DoNode): NodeId {
    let input: Slots;
    let undo: Undo | null;
    try {
      input = fields(node.effect.input, thread.slots);
      undo = undoOf(at, node, { ...thread.slots, input });
    } catch (cause) {
      this.#bounds.visit(node);
      return failed(thread, node, expressionProblem(node, cause));
    }
    const need = this.#worstCase(node, input);
    const print = `${nameOf(node)} ${canonical(input)}`;
    const over = this.#bounds.repeatsTooOften(node, print) ?? this.#bounds.noBudgetFor(node, need);
    if (over !== undefined) return over;
    this.#bounds.visit(node, print);
    if (undo !== null) thread.undo.push(undo);
    const problem = this.#attempts(thread, at, node, input, need, undo);
    if (problem === null) return node.next;
    // What failed in every attempt changed nothing.
    thread.undo = thread.undo.filter((each) => each !== undo || each.ran);
    return failed(thread, node, problem);
  }

  /** Asks until an answer is accepted and written, or until there is no reason to ask again: then, what is wrong. */
  #attempts(thread: Thread, at: NodeId, node: DoNode, input: Slots, first: Amounts, undo: Undo | null): Problem | null {
    const { id: name, kind } = { id: nameOf(node), kind: node.effect.kind };
    const key = `${thread.id}#${thread.acts++}`;
    let need = first;
    let model: string | undefined;
    for (let attempt = 1; ; attempt++) {
      const given = this.#ask({ thread: thread.id, key, attempt, kind, name, node: at, input }) ?? silence(node);
      const late = !given.ok && given.error.class === 'timeout';
      this.#bounds.pay(node, need, given.used ?? {}, late);
      if (undo !== null && (given.ok || late)) undo.ran = true;
      if (undo !== null && given.ok) undo.result = given.value;
      const fault = given.ok ? this.#objection(thread, node, given.value) : given.error;
      if (fault === null) return commit(thread, node, given.ok ? given.value : null);
      const again = model === undefined && attempt <= node.retry.max && node.retry.on.includes(fault.class);
      const next = again ? undefined : standIn(node, model, fault);
      need = { ...this.#worstCase(node, input, next), retries: 1 };
      if ((!again && next === undefined) || this.#bounds.noBudgetFor(node, need) !== undefined) {
        const repeated = attempt > 1 && fault.class !== 'budget';
        const { class: kind, type, message } = fault;
        return { class: kind, type, message, node: node.origin, code: repeated ? 'REPEATED_FAILURE' : CODES[kind] };
      }
      model = next;
      this.#bounds.use('retries', 1);
    }
  }

  #ask(asked: Asked): Answered | null {
    if (asked.kind === 'model') this.#bounds.use('modelCalls', 1);
    if (asked.kind === 'tool') this.#bounds.use('toolCalls', 1);
    this.#asked.push(asked);
    const given = this.#world.answer(asked);
    this.#bounds.measure(given?.used ?? {});
    return given;
  }

  #objection(thread: Thread, node: DoNode, value: Json): Fault | null {
    const { schema } = node;
    const readings = node.effect.kind === 'model' ? readingsOf((value as Slots | null)?.['text'] ?? null) : [value];
    const problems = schema === undefined ? [null] : readings.map((each) => this.#world.validate(schema, each));
    const problem = problems.includes(null) ? null : (problems[0] ?? null);
    if (problem !== null) return { class: 'semantic', type: 'SchemaError', message: problem };
    try {
      if (node.accept === undefined || evaluate(node.accept, thread.slots, value) === true) return null;
    } catch (cause) {
      return expressionProblem(node, cause);
    }
    return { class: 'semantic', type: 'RejectedError', message: 'not accepted' };
  }

  #worstCase(node: DoNode, input: Slots, model?: string): Amounts {
    return this.#bounds.worstCase(node, input, model, (text) => this.#world.countTokens(text));
  }

  #fork(thread: Thread, node: ForkNode): NodeId {
    const { id, slots } = thread;
    const branches = branchesOf(node, slots);
    const act = thread.acts++;
    const free = this.#world.joined?.(`${id}#${act}`);
    const outcomes: (Ended | null)[] = branches.map(() => null);
    for (const index of free?.ended ?? branches.keys()) {
      if (free === undefined && verdict(node, outcomes) !== null) break;
      const { to, adds } = branches[index] as Branch;
      const child: Thread = { id: `${id}:${act}.${index}`, acts: 0, slots: { ...slots, ...adds }, undo: [] };
      const ended = this.#thread(child, to);
      outcomes[index] = ended;
      if (ended.state === 'completed') thread.undo.push(...child.undo);
    }
    const said = verdict(node, outcomes);
    if (said === null && free?.late !== true) this.#illegal.push(`${id}#${act} after ${free?.ended.join()}`);
    for (const index of free === undefined ? [] : outcomes.keys())
      if (outcomes[index] === null) this.#dropped.push(`${id}:${act}.${index}`);
    const list = outcomes.map((each, index) => outcomeOf(each, (branches[index] as Branch).name));
    thread.slots = { ...gathered(slots, outcomes, node), [node.into]: list };
    return said === 'met' ? node.next : failed(thread, node, joinProblem(node, outcomes, free?.late === true));
  }
}

const CODES: { readonly [kind in FailureClass]: TerminalCode } = {
  transient: 'UNAVAILABLE_DEP',
  rate_limit: 'UNAVAILABLE_DEP',
  fatal: 'UNAVAILABLE_DEP',
  timeout: 'TIMEOUT',
  refused: 'IMPOSSIBLE',
  semantic: 'VALIDATION_FAIL',
  policy: 'PERMISSION_DENIED',
  guardrail: 'UNSAFE_DETECTION',
  budget: 'BUDGET_EXHAUSTED',
};

function nameOf({ effect }: DoNode): string {
  if ('agent' in effect) return effect.agent;
  return 'tool' in effect ? effect.tool : 'check' in effect ? effect.check : effect.about;
}

/** Fixed before the effect is asked for. */
function undoOf(at: NodeId, { undo }: DoNode, slots: Slots): Undo | null {
  return undo === undefined
    ? null
    : { node: at, tool: undo.tool, args: fields(undo.input, slots), ran: false, result: null };
}

function commit(thread: Thread, node: DoNode, value: Json): Problem | null {
  try {
    thread.slots = written(thread.slots, node.writes, value);
    return null;
  } catch (cause) {
    return expressionProblem(node, cause);
  }
}

/** After its own retries a model that is out of reach gives way to those that stand in, once each. */
function standIn({ effect }: DoNode, model: string | undefined, fault: Fault): string | undefined {
  if (effect.kind !== 'model' || (fault.class !== 'transient' && fault.class !== 'rate_limit')) return undefined;
  return effect.fallback?.[model === undefined ? 0 : effect.fallback.indexOf(model) + 1];
}

function silence({ effect }: DoNode): Answered {
  if (effect.kind === 'ask') return { ok: true, value: { choice: effect.onExpiry, by: 'clock', expired: true } };
  return { ok: false, error: { class: 'timeout', type: 'TimeoutError', message: 'no answer' } };
}

function failed(thread: Thread, node: DoNode | ForkNode, problem: Problem): NodeId {
  thread.slots = { ...thread.slots, error: problem };
  return node.failed.find(({ when }) => holds(when, thread.slots))?.to ?? node.fail;
}

function joinProblem({ origin }: ForkNode, outcomes: readonly (Ended | null)[], late: boolean): Problem {
  const first = outcomes.find((each) => each !== null && each.state !== 'completed');
  if (late) return { class: 'timeout', type: 'TimeoutError', message: 'late', node: origin, code: 'TIMEOUT' };
  const kind = (first?.error as Problem | null | undefined)?.class ?? 'semantic';
  return { class: kind, type: 'JoinError', message: 'short', node: origin, code: first?.code ?? 'VALIDATION_FAIL' };
}

function verdict({ need, eager }: ForkNode, outcomes: readonly (Ended | null)[]): 'met' | 'short' | null {
  const left = outcomes.filter((each) => each === null).length;
  const ok = outcomes.filter((each) => each?.state === 'completed').length;
  const enough = need === 'all' ? outcomes.length : need;
  if (ok >= enough && (need !== 'all' || left === 0)) return 'met';
  return left === 0 || (eager && ok + left < enough) ? 'short' : null;
}

function branchesOf({ over }: ForkNode, slots: Slots): readonly Branch[] {
  if ('heads' in over) {
    const heads = over.heads.filter(({ when }) => when === undefined || evaluate(when, slots) === true);
    return heads.map(({ name, to }) => ({ name, to, adds: {} }));
  }
  const items = evaluate(over.each, slots);
  if (!Array.isArray(items)) throw new Error('not a list');
  const adds = (item: Json, index: number): Slots => ({ [over.as]: item, [`${over.as}_index`]: index });
  return items.map((item, index) => ({ name: String(index), to: over.head, adds: adds(item, index) }));
}

function outcomeOf(each: Ended | null, name: string): Json {
  const { state = 'cancelled', code = null, output = null, error = null } = each ?? {};
  return { name, state, code, output, error };
}
