/**
 * The tool calls that an answer unlocks: those on all routes from the question to the next one, or to the end. The routes are
 * followed in the graph. Values that are known now are carried along, so the arguments of a call are known unless they come from a
 * call in between.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  CompiledFlow,
  DoNode,
  ForkNode,
  Node,
  NodeId,
  Pending,
  PickNode,
  RunState,
  Thread,
} from '@sluice-internal/kernel/ir';
import { evaluatePartly, hollow, meet, withHoles, withValue, writtenPartly } from './partial.ts';
import type { Partly } from './partial.ts';

/** A call that may follow. */
export interface Unlocked {
  readonly id: NodeId;
  readonly node: DoNode;
  /** What is known when it is made. */
  readonly slots: Partly;
  /** The agent that may call it; null for a node of the author. */
  readonly agent: string | null;
  /** True if a person is asked again before the agent's call. */
  readonly asks: boolean;
  /** How often it is made at most; null if that is not known. */
  readonly most: number | null;
  /** Of a call in a map: what the list of the items is made from, by the name of the item. */
  readonly items: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Items of a list that are followed one by one. */
const ITEMS_MAX = 50;
/** Larger parts of a graph are followed with fewer known values. */
const VISITS_MAX = 5_000;

export function unlockedBy(
  flow: CompiledFlow,
  state: RunState,
  pending: Pending,
  yes: readonly string[],
): readonly Unlocked[] {
  const asking = flow.nodes[pending.node];
  const thread = state.threads.get(pending.thread);
  if (asking?.op !== 'do' || thread === undefined) return [];
  const walk = new Walk(flow);
  const { controls } = asking;
  // Words about a refused call go to the agent.
  if (pending.control !== undefined)
    return controls?.refused === undefined
      ? []
      : followed(walk, state, thread, [walk.from(controls.refused, thread.slots)]);
  if (asking.effect.kind !== 'ask') return [];
  const answer = new Set(asking.writes.map(({ slot }) => slot));
  const found = yes.map((choice) => {
    const it = hollow(['by', 'text', 'edit', 'data', 'proof', 'together'], { choice });
    return walk.from(asking.next, writtenPartly(thread.slots, asking.writes, it), answer);
  });
  return followed(walk, state, thread, found);
}

/** The calls of these ways, and those that follow the branch. */
function followed(walk: Walk, state: RunState, thread: Thread, ways: readonly Walked[]): readonly Unlocked[] {
  const own = ways.flatMap(({ calls }) => calls);
  return ways.some(({ ended }) => ended) ? [...own, ...afterBranch(walk, state, thread)] : own;
}

/** After the last node of a branch, the run goes on behind the join. */
function afterBranch(walk: Walk, state: RunState, { parent }: Thread): readonly Unlocked[] {
  const outer = parent === null ? undefined : state.threads.get(parent);
  const fork = outer?.doing.is === 'forked' ? walk.flow.nodes[outer.doing.fork.node] : undefined;
  if (outer === undefined || fork?.op !== 'fork') return [];
  return followed(walk, state, outer, [walk.from(fork.next, afterFork(fork, outer.slots))]);
}

function afterFork({ into, gather }: ForkNode, slots: Partly): Partly {
  return withHoles(slots, [into, ...gather.map(({ slot }) => slot)]);
}

interface Walked {
  readonly calls: readonly Unlocked[];
  /** A route leads to the end of the branch or of the run. */
  readonly ended: boolean;
}

/** A node as it is reached. */
interface Reached {
  slots: Partly;
  readonly to: Set<NodeId>;
}

class Walk {
  readonly flow: CompiledFlow;
  /** Slots of nodes that the author named. */
  readonly #authored: ReadonlySet<string>;

  constructor(flow: CompiledFlow) {
    this.flow = flow;
    this.#authored = new Set(Object.values(flow.nodes).flatMap(({ label }) => label.enters?.split('/').at(-1) ?? []));
  }

  from(start: NodeId, slots: Partly, answer: ReadonlySet<string> = new Set()): Walked {
    const reached = this.#reach(start, slots, answer);
    const calls: { readonly call: Unlocked; readonly place: number }[] = [];
    const turns = new Map<string, number>();
    let ended = false;
    for (const [place, [id, at]] of [...reached].entries()) {
      const node = this.flow.nodes[id];
      if (node?.op === 'end') ended = true;
      else if (node?.op === 'do' && node.effect.kind === 'model')
        turns.set(node.effect.agent, turns.get(node.effect.agent) ?? place);
      for (const call of node === undefined
        ? []
        : this.#callsAt(id, node, at, { answer, repeats: isRepeated(id, reached) }))
        calls.push({ call, place: turns.get(call.agent ?? '') ?? place });
    }
    // What an agent may call stands where its turn begins.
    return { calls: calls.toSorted((one, other) => one.place - other.place).map(({ call }) => call), ended };
  }

  #callsAt(id: NodeId, node: Node, at: Reached, ways: Ways): readonly Unlocked[] {
    if (node.op === 'fork') return this.#branches(node, at, ways);
    if (node.op !== 'do' || node.effect.kind !== 'tool') return [];
    const agent = agentOf(node, at.slots);
    const asks = alwaysAsks(node);
    // The author's own call has a question of its own.
    if (agent === null && asks) return [];
    const most = agent !== null || ways.repeats ? this.#limitOf(node) : 1;
    return [{ id, node, slots: at.slots, agent, asks, most, items: new Map() }];
  }

  /** The visits that the meters of the node leave. */
  #limitOf({ charges = [] }: Node): number | null {
    const limits = charges.flatMap((id) => {
      const meter = this.flow.meters[id];
      return meter?.unit === 'visits' && meter.max !== null ? [meter.max] : [];
    });
    return limits.length === 0 ? null : Math.min(...limits);
  }

  /** A graph is followed until nothing new is known about any of its nodes. */
  #reach(start: NodeId, slots: Partly, answer: ReadonlySet<string>): ReadonlyMap<NodeId, Reached> {
    const reached = new Map<NodeId, Reached>();
    const open: Step[] = [step(start, slots)];
    for (let visits = 0; open.length > 0 && visits < VISITS_MAX; visits++) {
      const { id, slots: coming } = open.shift() as Step;
      const node = this.flow.nodes[id];
      const at = node === undefined ? null : arrive(reached, id, coming);
      if (node === undefined || at === null) continue;
      const steps = this.#steps(node, at.slots, answer);
      for (const next of steps) at.to.add(next.id);
      // The first route is followed to its end before the second, so that calls are in the order of the graph.
      open.unshift(...steps);
    }
    return reached;
  }

  #steps(node: Node, slots: Partly, answer: ReadonlySet<string>): readonly Step[] {
    switch (node.op) {
      case 'let':
        return [step(node.next, writtenPartly(slots, node.writes))];
      case 'pick':
        return this.#routes(node, slots, answer).map((to) => step(to, slots));
      case 'do':
        return this.#after(node, slots);
      case 'fork':
        return [step(node.next, afterFork(node, slots)), ...failures(node, afterFork(node, slots))];
      case 'end':
        return [];
    }
  }

  #after(node: DoNode, slots: Partly): readonly Step[] {
    const { effect, controls } = node;
    if (effect.kind === 'ask' && !this.#isOfAgent(node)) return [];
    if (effect.kind === 'tool' && agentOf(node, slots) === null && alwaysAsks(node)) return [];
    const refused = [controls?.refused, controls?.stopped].flatMap((to) => (to === undefined ? [] : [step(to, slots)]));
    return [step(node.next, writtenPartly(slots, node.writes)), ...refused, ...failures(node, slots)];
  }

  /** A question about a call that an agent chooses to make: the person is asked again, and the author's routes do not end. */
  #isOfAgent({ effect }: DoNode): boolean {
    return effect.kind === 'ask' && effect.purpose === 'tool_call' && Object.hasOwn(this.flow.agents, effect.askedBy);
  }

  /**
   * The routes that may be taken. Conditions of the author are followed on all routes, but for those that the answer decides: a
   * person sees what the document can do. Other conditions hold or not, if their values are known.
   */
  #routes({ cases, otherwise }: PickNode, slots: Partly, answer: ReadonlySet<string>): readonly NodeId[] {
    const routes: NodeId[] = [];
    for (const { when, to } of cases) {
      const { known, value, read } = evaluatePartly(when, slots);
      const isAuthored = /^!?(?:guard|strict)\(/.test(when) || [...read].some((slot) => this.#authored.has(slot));
      const isDecided = known && (!isAuthored || [...read].some((slot) => answer.has(slot)));
      if (!isDecided) routes.push(to);
      else if (value === true) return [...routes, to];
    }
    return [...routes, otherwise];
  }

  #branches({ over }: ForkNode, { slots }: Reached, { answer, repeats }: Ways): readonly Unlocked[] {
    const branch = (head: NodeId, own: Partly): readonly Unlocked[] =>
      this.from(head, own, answer).calls.map((call) => (repeats ? { ...call, most: null } : call));
    if ('heads' in over) return over.heads.flatMap(({ to }) => branch(to, slots));
    const { known, value, read } = evaluatePartly(over.each, slots);
    const named = (calls: readonly Unlocked[]): readonly Unlocked[] =>
      calls.map((call) => ({ ...call, items: new Map([[over.as, read], ...call.items]) }));
    if (!known || !Array.isArray(value) || value.length > ITEMS_MAX) {
      const own = withHoles(slots, [over.as, `${over.as}_index`]);
      return named(branch(over.head, own).map((call) => ({ ...call, most: null })));
    }
    return value.flatMap((item: Json, index) =>
      named(branch(over.head, withValue(withValue(slots, over.as, item), `${over.as}_index`, index))),
    );
  }
}

interface Ways {
  readonly answer: ReadonlySet<string>;
  /** The node can be reached again. */
  readonly repeats: boolean;
}

/** A person is asked before every call of this node. */
function alwaysAsks({ controls }: DoNode): boolean {
  return controls?.walk.some((each) => each.how === 'ask' && (each.with.when ?? 'true') === 'true') === true;
}

interface Step {
  readonly id: NodeId;
  readonly slots: Partly;
}

function step(id: NodeId, slots: Partly): Step {
  return { id, slots };
}

function failures({ failed, fail }: DoNode | ForkNode, slots: Partly): readonly Step[] {
  const own = withHoles(slots, ['error']);
  return [...failed.map(({ to }) => to), fail].map((to) => step(to, own));
}

/** Null if nothing new is known by this way. */
function arrive(reached: Map<NodeId, Reached>, id: NodeId, slots: Partly): Reached | null {
  const known = reached.get(id);
  if (known === undefined) {
    const first = { slots, to: new Set<NodeId>() };
    reached.set(id, first);
    return first;
  }
  const met = meet(known.slots, slots);
  if (met === null) return null;
  known.slots = met;
  return known;
}

/** True if the node can be reached from itself. */
function isRepeated(id: NodeId, reached: ReadonlyMap<NodeId, Reached>): boolean {
  const seen = new Set<NodeId>();
  const open = [...(reached.get(id)?.to ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === id) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(reached.get(next)?.to ?? []));
  }
  return false;
}

/** The compiler names the agent in the input of a call that an agent chooses. */
function agentOf({ effect }: DoNode, slots: Partly): string | null {
  const source = effect.input['agent'];
  if (source === undefined) return null;
  const { value } = evaluatePartly(source, slots);
  return typeof value === 'string' ? value : '';
}
