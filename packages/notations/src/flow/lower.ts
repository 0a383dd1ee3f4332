/**
 * Lowers a checked flow. An authored node becomes one node under its own id that counts as entered, plus the nodes that
 * follow from it: a pick for its routes, ends.
 */
import type { Case, Expr, MeterId, NodeId, Retry } from '@sluice-internal/kernel/ir';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { tighter } from '@sluice-internal/compile/document';
import {
  NO_RETRY,
  addAttempts,
  classified,
  createBuilder,
  createKit,
  isRisky,
  set,
  setField,
} from '@sluice-internal/compile/lower';
import type { Kit, Lowered } from '@sluice-internal/compile/lower';
import type { Range } from '@sluice-internal/compile/source';
import { reachableFrom } from '@sluice-internal/compile/graph';
import type { Analysed } from './analyse.ts';
import { scopeFrom, taken, visitsMaxOf } from './graph.ts';
import { END, type FlowEdge, type FlowNode } from './model.ts';
import type { Caller, ErrorWays, Lowering, Prepared } from './node-type.ts';
import { nodeTypeOf } from './nodes/registry.ts';
import { toolsIn, toolsOf } from './provenance.ts';
import { SLOT } from './slots.ts';
import type { Merged } from './sub-definitions.ts';

export function lowerGraph(main: Analysed, { definitions, agentId }: Merged): Lowered {
  const { flow, graph } = main;
  const kit = createKit(createBuilder('flow', definitions));
  const scope = { kit, parts: main, agentId, all: taken(graph, flow), path: '', times: 1, caller: null };
  const entry = lowerScope(scope, '', flow.value.entry);
  return kit.builder.build({ id: flow.value.id, entry: addStart(kit, entry, readsEvent(main)) });
}

function readsEvent({ expressions, subs }: Analysed): boolean {
  return expressions.uses.slots.has('event') || [...subs.values()].some(readsEvent);
}

interface Scope {
  readonly kit: Kit;
  readonly parts: Analysed;
  readonly agentId: Merged['agentId'];
  /** Every node that a run can reach. */
  readonly all: ReadonlySet<string>;
  /** The names of the nodes that call this flow, as in `outer/`; empty for the main flow. */
  readonly path: string;
  /** The number of times that the flow itself can start. */
  readonly times: number;
  readonly caller: Caller | null;
  /** The place of every node, if the flow stands in another file. */
  readonly at?: Range;
}

/** Lowers the nodes that are reached from `head` outside of inner scopes. The items of a node are a scope with its prefix. */
function lowerScope(scope: Scope, prefix: string, head: string): NodeId {
  const { parts, all } = scope;
  const lowering = createLowering(scope, prefix);
  const members = scopeFrom(head, parts.graph, parts.flow);
  for (const id of parts.flow.nodes.keys()) {
    const each = parts.prepared.get(id);
    if (each !== undefined && all.has(id) && members.has(id)) nodeTypeOf(each.node.value.type).lower(lowering, each);
  }
  return lowering.idOf(head);
}

function createLowering(scope: Scope, prefix: string): Lowering {
  const { kit, parts, path, times, caller } = scope;
  const { flow, graph, slots, expressions } = parts;
  const endings = createEndings(scope);
  const { remembers } = endings;
  const charges = capOf(scope, endings);
  const visitsMax = visitsMaxOf(flow, graph);
  const name = (id: string): string => `${prefix}${id}`;
  const idOf = (id: string): NodeId => kit.builder.idOf(name(id));
  const target = (to: string, { node }: Prepared): NodeId =>
    to === END ? endings.at(remembers ? SLOT.out : node.facts.output(slots, node.id), node.id) : idOf(to);
  const lowering: Lowering = {
    kit,
    flow,
    nested: parts,
    caller,
    user: caller?.user ?? 'input',
    graph,
    slots,
    expressions,
    ...tellings(parts),
    capped: endings.caps,
    askedBy: `flow:${path}${flow.value.id}`,
    name,
    idOf,
    agent: (id) => scope.agentId(parts, id),
    subFlow: (from, given) => lowerSubFlow(scope, lowering, from, given),
    inner: ({ node }, { head }) => lowerScope(scope, `${name(node.id)}/`, head),
    entered: ({ node, expects }) => ({
      id: idOf(node.id),
      origin: name(node.id),
      enters: name(node.id),
      expects,
      charges: [...charges, ...visitCapOf(scope, lowering, endings, node)],
      at: scope.at ?? node.at('id'),
    }),
    part: ({ node }, hint) => ({ hint: `${name(node.id)} ${hint}`, origin: name(node.id) }),
    times,
    visitsMax: (id) => visitsMax(id) * times,
    ending: endings.at,
    target,
    out: (value, mode) => (remembers ? [{ slot: SLOT.out, mode, value }] : []),
    fresh: (head) => (canEndBeforeValue(head, parts) ? lowering.out('null', 'set') : []),
    routes: (from) => addRoutes(lowering, from, target),
    timeoutMs: ({ node: { value } }) => (value.timeout === undefined ? null : Math.ceil(value.timeout * 1000)),
    retry: ({ node: { value } }) => retryOf(value.retry),
    attempts: (from, attempt) => addAttemptsOf(lowering, from, attempt),
    errors: ({ node }) => errorWays(kit, node.value.on_error, idOf, endings.partial),
    failing(from, hint) {
      const { failed, fail } = lowering.errors(from);
      return kit.pick(lowering.part(from, hint), failed, fail);
    },
    raise(from, error) {
      const written = set('error', literal({ ...classified(error), node: name(from.node.id) }));
      return kit.set(lowering.part(from, 'error'), [written], lowering.failing(from, 'errors'));
    },
    unevaluated: (from) => (from.node.value.on_error.length === 0 ? undefined : lowering.failing(from, 'errors')),
  };
  return lowering;
}

/** Answers of people reach the next agents. An agent whose prompt has the text already needs no second copy. */
function tellings({ flow, graph, expressions, slots }: Analysed): Pick<Lowering, 'tellsAgents' | 'isTold'> {
  const isAgent = (id: string): boolean => flow.nodes.get(id)?.value.type === 'agent';
  const told = new Map<string, readonly string[]>();
  for (const { id, facts } of flow.nodes.values()) {
    if (facts.choices === undefined || expressions.uses.slots.has(slots.of(id))) continue;
    const after = reachableFrom(graph.targets(id), (each) => (isAgent(each) ? [] : graph.targets(each)));
    told.set(id, [...after].filter(isAgent));
  }
  return {
    tellsAgents: (id) => (told.get(id) ?? []).length > 0,
    isTold: (agent) => [...told.values()].some((agents) => agents.includes(agent)),
  };
}

/** The cap on visits of a single node. */
function visitCapOf(
  { kit, times }: Scope,
  lowering: Lowering,
  endings: Endings,
  { id, value }: Prepared['node'],
): readonly MeterId[] {
  const { max_visits: most, on_exhausted: over = END } = value;
  if (most === undefined) return [];
  const name = lowering.name(id);
  const target = over === END ? endings.capped() : lowering.idOf(over);
  return [kit.visits(`visits:${name}`, most * times, target, `max_visits of ${name}`)];
}

/** The pick that follows a node and takes its routes. */
function addRoutes(lowering: Lowering, from: Prepared, target: (to: string, from: Prepared) => NodeId): NodeId {
  const last = from.routes.findIndex(({ when }) => when === null);
  const guarded = last < 0 ? from.routes : from.routes.slice(0, last);
  const cases = guarded.map(({ when, to }): Case => ({ when: when ?? 'true', to: target(to, from) }));
  const otherwise = target(from.routes[last]?.to ?? END, from);
  return lowering.kit.pick(lowering.part(from, 'routes'), cases, otherwise, { hasDefault: last >= 0 });
}

function addAttemptsOf(
  lowering: Lowering,
  from: Prepared,
  attempt: Parameters<Lowering['attempts']>[1],
): ReturnType<Lowering['attempts']> {
  const { retry } = from.node.value;
  const values = [lowering.slots.of(from.node.id), ...lowering.out('null', 'set').map(({ slot }) => slot)];
  return addAttempts(lowering.kit, {
    body: attempt.body,
    gather: [...attempt.gather, ...values.map((slot) => ({ slot, mode: 'last' as const }))],
    step: lowering.entered(from),
    part: (hint) => lowering.part(from, hint),
    timeoutMs: lowering.timeoutMs(from),
    retry:
      retry === undefined
        ? null
        : { max: retry.max_attempts - 1, when: matched(retry.match), delaysMs: delaysOf(retry) },
    risky: canRepeatEffects(lowering, from),
    visitsMax: lowering.visitsMax(from.node.id),
    next: lowering.routes(from),
    fail: lowering.failing(from, 'errors'),
  });
}

/** The node can call tools whose effects must not happen twice. */
function canRepeatEffects({ kit, nested }: Lowering, { node }: Prepared): boolean {
  const isAgent = typeof node.facts.lastAgent?.(node.value) === 'string';
  const tools = isAgent ? toolsOf(nested, node) : toolsIn(nested.subs.get(node.id) ?? nested);
  return tools.some((tool) => isRisky(kit.builder.toolDef(tool)));
}

/** The cap on visits of a flow. A sub-flow that can begin several times has it as often. */
function capOf({ kit, parts, path, times }: Scope, endings: Endings): readonly MeterId[] {
  const { max_iterations: cap } = parts.flow.value;
  if (cap === 0) return [];
  if (path === '') return [kit.visits('max_iterations', cap, endings.capped(), 'max_iterations')];
  return [
    kit.visits(`max_iterations:${path}`, cap * times, endings.capped(), `max_iterations of ${path.slice(0, -1)}`),
  ];
}

function lowerSubFlow(
  scope: Scope,
  lowering: Lowering,
  prepared: Prepared,
  { budget, ...given }: Parameters<Lowering['subFlow']>[1],
): ReturnType<Lowering['subFlow']> {
  const { kit } = scope;
  const { node } = prepared;
  const sub = scope.parts.subs.get(node.id);
  if (sub === undefined) throw new Error(`invariant: the flow of node \`${node.id}\` was not read`);
  const name = lowering.name(node.id);
  const share = tighter(sub.budgets, budget);
  const at = scope.at ?? (sub.foreign ? node.at('flow') : undefined);
  const inner: Scope = {
    ...scope,
    parts: sub,
    all: taken(sub.graph, sub.flow),
    path: `${name}/`,
    caller: { ...given, lowering, node },
    times: lowering.visitsMax(node.id) * (node.value.retry?.max_attempts ?? 1),
    ...(at === undefined ? {} : { at }),
  };
  const used = kit.fail(lowering.part(prepared, 'budget'), {
    type: 'BudgetError',
    message: quote(`the budget of ${name} is used up`),
  });
  const head = kit.builder.sharing(name, share, used, () => lowerScope(inner, `${name}/`, sub.flow.value.entry));
  const seconds = share?.wall_clock_seconds;
  const ownMs = lowering.timeoutMs(prepared);
  const shareMs = seconds === undefined ? null : Math.ceil(seconds * 1000);
  return { head, timeoutMs: ownMs === null || shareMs === null ? (ownMs ?? shareMs) : Math.min(ownMs, shareMs) };
}

interface Endings {
  /** True if a slot holds the value that the path would return if it ended now. */
  readonly remembers: boolean;
  /** True if a cap on visits can end a path. */
  readonly caps: boolean;
  at(output: Expr, from: string): NodeId;
  /** The end of an error route to `end`. */
  partial(): NodeId;
  /** The end of a thread that the cap on visits stops. */
  capped(): NodeId;
}

/** A branch that ends early sets a slot of its parent. The ends after a join read these slots. */
function createEndings({ kit, parts, all, path }: Scope): Endings {
  const { flow, graph, subs } = parts;
  const nodes = [...all].flatMap((id) => flow.nodes.get(id) ?? []);
  const forks = path !== '' || subs.size > 0 || nodes.some(({ id }) => graph.inBranches.has(id));
  const caps = canBeCapped(parts);
  const completed = (code: 'SUCCESS' | 'PARTIAL_SUCCESS' | 'BUDGET_EXHAUSTED', output: Expr): NodeId =>
    kit.end({ state: 'completed', code, output });
  const afterJoin = (output: Expr): NodeId => {
    const done = completed('SUCCESS', output);
    const id = `~ending ${path}${output}`;
    if (kit.builder.has(id)) return id;
    const cases = [{ when: `${SLOT.partial} == true`, to: completed('PARTIAL_SUCCESS', output) }];
    if (caps) cases.unshift({ when: `${SLOT.capped} == true`, to: completed('BUDGET_EXHAUSTED', output) });
    return kit.pick({ id, origin: END }, cases, done);
  };
  const marked = (slot: string, next: () => NodeId): NodeId => {
    const id = `~${path}${slot}`;
    return kit.builder.has(id) ? id : kit.set({ id, origin: END }, [set(slot, 'true')], next());
  };
  const partialEnd = (): NodeId => completed('PARTIAL_SUCCESS', SLOT.out);
  const cappedEnd = (): NodeId => completed('BUDGET_EXHAUSTED', SLOT.out);
  return {
    caps,
    remembers: caps || forks || nodes.some((node) => canEndWithoutValue(node, graph)),
    at: (output, from) => (graph.afterJoins.has(from) ? afterJoin(output) : completed('SUCCESS', output)),
    partial: () => (forks ? marked(SLOT.partial, () => afterJoin(SLOT.out)) : partialEnd()),
    capped: () => (forks ? marked(SLOT.capped, cappedEnd) : cappedEnd()),
  };
}

/** The edges that leave a node without a result: after an error, a missed signal or too many visits. */
function edgesWithoutValue({ edges }: Analysed['graph'], id: string): readonly FlowEdge[] {
  return (edges.get(id) ?? []).filter(({ kind }) => kind !== 'route' && kind !== 'branch');
}

/** True if such an edge leads from the node straight to `end`. */
function canEndWithoutValue({ id }: FlowNode, graph: Analysed['graph']): boolean {
  return edgesWithoutValue(graph, id).some(({ to }) => to === END);
}

/** True if a path from this node can reach `end` before a node on it has a value. */
function canEndBeforeValue(head: string, { flow, graph }: Analysed): boolean {
  if (flow.value.max_iterations > 0) return true;
  const others = (id: string): readonly string[] => edgesWithoutValue(graph, id).map(({ to }) => to);
  const entered = [...reachableFrom([head], others)].flatMap((id) => flow.nodes.get(id) ?? []);
  return entered.some((node) => isCapped(node) || canEndWithoutValue(node, graph));
}

/** True if a cap on visits can end a path of the flow or of its sub-flows. */
function canBeCapped({ flow, subs }: Analysed): boolean {
  return (
    flow.value.max_iterations > 0 || [...flow.nodes.values()].some(isCapped) || [...subs.values()].some(canBeCapped)
  );
}

/** True if the cap on visits of the node ends a path. */
function isCapped({ value }: FlowNode): boolean {
  return value.max_visits !== undefined && (value.on_exhausted ?? END) === END;
}

function errorWays(
  kit: Kit,
  clauses: Prepared['node']['value']['on_error'],
  idOf: (id: string) => NodeId,
  partial: () => NodeId,
): ErrorWays {
  const failed: Case[] = [];
  for (const { match, default: all, to } of clauses) {
    const at = to === END ? partial() : idOf(to);
    if (all === true) return { failed, fail: at };
    failed.push({ when: matched(match ?? ''), to: at });
  }
  return { failed, fail: kit.failedEnd() };
}

/** Holds if the pattern is found in the type or the message of the error. */
function matched(match: string | undefined): Expr {
  if (match === undefined) return 'true';
  return `re(error.type, ${quote(match)}) || re(error.message, ${quote(match)})`;
}

/** The wait before each further attempt of a node that is more than one call. */
function delaysOf(retry: NonNullable<Prepared['node']['value']['retry']>): readonly number[] {
  const { max_attempts: most, backoff_ms: first, multiplier, max_backoff_ms: longest } = retry;
  return Array.from({ length: most - 1 }, (_, index) => Math.min(longest, Math.round(first * multiplier ** index)));
}

/** Without `match`, every failure is retried except one that would be denied again. */
function retryOf(retry: Prepared['node']['value']['retry']): Retry {
  if (retry === undefined) return NO_RETRY;
  return {
    max: retry.max_attempts - 1,
    baseMs: retry.backoff_ms,
    capMs: retry.max_backoff_ms,
    factor: retry.multiplier,
    on: ['transient', 'rate_limit', 'timeout', 'semantic', 'refused', 'guardrail', 'fatal'],
    ...(retry.match === undefined ? {} : { when: matched(retry.match) }),
  };
}

/** The input of the run is `event.payload`: an object as given, a text as its `message`. */
function addStart(kit: Kit, entry: NodeId, reads: boolean): NodeId {
  if (!reads) return entry;
  const write = (path: readonly string[]): NodeId =>
    kit.set({ origin: 'event' }, [setField('event', path, 'input')], entry);
  const cases = [{ when: 'type(input) == string', to: write(['payload', 'message']) }];
  return kit.pick({ hint: 'start', origin: 'event' }, cases, write(['payload']));
}
