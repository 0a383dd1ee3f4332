/**
 * The tool calls that an answer unlocks: those on all routes from the question to the next one, or to the end. The routes are
 * followed in the graph. Values that are known now are carried along, so the arguments of a call are known unless they come from a
 * call in between.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, DoNode, ForkNode, Node, NodeId, Pending, PickNode, RunState, Thread } from '@sluice-internal/kernel/ir';
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
}

/** Items of a list that are followed one by one. */
const ITEMS_MAX = 50;
/** Larger parts of a graph are followed with fewer known values. */
const VISITS_MAX = 5_000;

export function unlockedBy(flow: CompiledFlow, state: RunState, pending: Pending, yes: readonly string[]): readonly Unlocked[] {
  const asking = flow.nodes[pending.node];
  const thread = state.threads.get(pending.thread);
  if (asking?.op !== 'do' || asking.effect.kind !== 'ask' || thread === undefined) return [];
  const walk = new Walk(flow);
  const starts = yes.map((choice) => {
    const it = hollow(['by', 'text', 'edit', 'data', 'proof', 'together'], { choice });
    const slots = writtenPartly(thread.slots, asking.writes, it);
    return { at: asking.next, slots, answer: new Set(asking.writes.map(({ slot }) => slot)) };
  });
  const found = starts.map(({ at, slots, answer }) => walk.from(at, slots, answer));
  const own = found.flatMap(({ calls }) => calls);
  return [...own, ...(found.some(({ ended }) => ended) ? afterBranch(walk, flow, state, thread) : [])];
}

/** After the last node of a branch, the run goes on behind the join. */
function afterBranch(walk: Walk, flow: CompiledFlow, state: RunState, { parent }: Thread): readonly Unlocked[] {
  const outer = parent === null ? undefined : state.threads.get(parent);
  if (outer?.doing.is !== 'forked') return [];
  const fork = flow.nodes[outer.doing.fork.node];
  if (fork?.op !== 'fork') return [];
  const { calls, ended } = walk.from(fork.next, afterFork(fork, outer.slots), new Set());
  return [...calls, ...(ended ? afterBranch(walk, flow, state, outer) : [])];
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
  /** Every way to it leads through a question of an agent. */
  asks: boolean;
  readonly to: Set<NodeId>;
}

class Walk {
  readonly #flow: CompiledFlow;
  /** Slots of nodes that the author named. */
  readonly #authored: ReadonlySet<string>;

  constructor(flow: CompiledFlow) {
    this.#flow = flow;
    this.#authored = new Set(Object.values(flow.nodes).flatMap(({ label }) => label.enters?.split('/').at(-1) ?? []));
  }

  from(start: NodeId, slots: Partly, answer: ReadonlySet<string>): Walked {
    const reached = this.#reach(start, slots, answer);
    const calls: Unlocked[] = [];
    let ended = false;
    for (const [id, at] of reached) {
      const node = this.#flow.nodes[id];
      if (node?.op === 'end') ended = true;
      else if (node?.op === 'do' && node.effect.kind === 'tool') calls.push(this.#callAt(id, node, at, reached));
      else if (node?.op === 'fork') calls.push(...this.#branches(node, at, { answer, repeats: isRepeated(id, reached) }));
    }
    return { calls, ended };
  }

  #callAt(id: NodeId, node: DoNode, { slots, asks }: Reached, reached: ReadonlyMap<NodeId, Reached>): Unlocked {
    const agent = agentOf(node, slots);
    return { id, node, slots, agent, asks, most: agent !== null || isRepeated(id, reached) ? this.#limitOf(node) : 1 };
  }

  /** The visits that the meters of the node leave. */
  #limitOf({ charges = [] }: Node): number | null {
    const limits = charges.flatMap((id) => {
      const meter = this.#flow.meters[id];
      return meter?.unit === 'visits' && meter.max !== null ? [meter.max] : [];
    });
    return limits.length === 0 ? null : Math.min(...limits);
  }

  /** A graph is followed until nothing new is known about any of its nodes. */
  #reach(start: NodeId, slots: Partly, answer: ReadonlySet<string>): ReadonlyMap<NodeId, Reached> {
    const reached = new Map<NodeId, Reached>();
    const open: { readonly id: NodeId; readonly slots: Partly; readonly asks: boolean }[] = [{ id: start, slots, asks: false }];
    for (let visits = 0; open.length > 0 && visits < VISITS_MAX; visits++) {
      const { id, slots: coming, asks } = open.shift() as (typeof open)[number];
      const node = this.#flow.nodes[id];
      const at = node === undefined ? null : arrive(reached, id, coming, asks);
      if (node === undefined || at === null) continue;
      const steps = this.#steps(node, at.slots, answer);
      for (const step of steps) at.to.add(step.id);
      // The first route is followed to its end before the second, so that calls are in the order of the graph.
      open.unshift(...steps.map((step) => ({ ...step, asks: (node.op === 'do' && node.effect.kind === 'model' ? false : at.asks) || step.asks })));
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
    if (node.effect.kind === 'ask' && !this.#isOfAgent(node)) return [];
    const asks = node.effect.kind === 'ask';
    return [step(node.next, writtenPartly(slots, node.writes), asks), ...failures(node, slots)];
  }

  /** A question about a call that an agent chooses to make: the person is asked again, and the author's routes do not end. */
  #isOfAgent({ effect }: DoNode): boolean {
    return effect.kind === 'ask' && effect.purpose === 'tool_call' && Object.hasOwn(this.#flow.agents, effect.askedBy);
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

  #branches(
    { over }: ForkNode,
    { slots, asks }: Reached,
    { answer, repeats }: { readonly answer: ReadonlySet<string>; readonly repeats: boolean },
  ): readonly Unlocked[] {
    const branch = (head: NodeId, own: Partly): readonly Unlocked[] =>
      this.from(head, own, answer).calls.map((call) => ({ ...call, asks: call.asks || asks, most: repeats ? null : call.most }));
    if ('heads' in over) return over.heads.flatMap(({ to }) => branch(to, slots));
    const { known, value } = evaluatePartly(over.each, slots);
    if (!known || !Array.isArray(value) || value.length > ITEMS_MAX) {
      const own = withHoles(slots, [over.as, `${over.as}_index`]);
      return branch(over.head, own).map((call) => ({ ...call, most: null }));
    }
    return value.flatMap((item: Json, index) =>
      branch(over.head, withValue(withValue(slots, over.as, item), `${over.as}_index`, index)),
    );
  }
}

interface Step {
  readonly id: NodeId;
  readonly slots: Partly;
  readonly asks: boolean;
}

function step(id: NodeId, slots: Partly, asks = false): Step {
  return { id, slots, asks };
}

function failures({ failed, fail }: DoNode | ForkNode, slots: Partly): readonly Step[] {
  const own = withHoles(slots, ['error']);
  return [...failed.map(({ to }) => to), fail].map((to) => step(to, own));
}

/** Null if nothing new is known by this way. */
function arrive(reached: Map<NodeId, Reached>, id: NodeId, slots: Partly, asks: boolean): Reached | null {
  const known = reached.get(id);
  if (known === undefined) {
    const first = { slots, asks, to: new Set<NodeId>() };
    reached.set(id, first);
    return first;
  }
  const met = meet(known.slots, slots);
  const frees = known.asks && !asks;
  if (met === null && !frees) return null;
  known.slots = met ?? known.slots;
  known.asks &&= asks;
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
