/**
 * Lowers a checked flow. An authored node becomes one node under its own id that counts as entered, plus the nodes that
 * follow from it: a pick for its routes, ends.
 */
import type { Case, Expr, MeterId, NodeId, Retry } from '../../../ir/nodes.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import type { Definitions } from '../../document/definitions.ts';
import { createBuilder } from '../../lower/builder.ts';
import type { Lowered } from '../../lower/builder.ts';
import { addAttempts } from '../../lower/attempt.ts';
import { NO_RETRY, createKit, set, setField } from '../../lower/kit.ts';
import type { Kit, Step } from '../../lower/kit.ts';
import type { Expressions } from './expressions.ts';
import { scopeFrom, taken, visitsMaxOf } from './graph.ts';
import type { FlowGraph } from './graph.ts';
import { END } from './model.ts';
import type { Flow } from './model.ts';
import type { ErrorWays, Lowering, Prepared } from './node-type.ts';
import { nodeTypeOf } from './nodes/registry.ts';
import { SLOT } from './slots.ts';
import type { Slots } from './slots.ts';

export interface FlowParts {
  readonly flow: Flow;
  readonly graph: FlowGraph;
  readonly slots: Slots;
  readonly expressions: Expressions;
  readonly definitions: Definitions;
}

export function lowerGraph(parts: FlowParts, prepared: ReadonlyMap<string, Prepared>): Lowered {
  const { flow, expressions, definitions } = parts;
  const kit = createKit(createBuilder('flow', definitions));
  const all = taken(parts.graph, flow);
  const entry = lowerScope({ kit, parts, prepared, all }, '', flow.value.entry);
  return kit.builder.build({ id: flow.value.id, entry: addStart(kit, entry, expressions.uses.slots.has('event')) });
}

interface Scope {
  readonly kit: Kit;
  readonly parts: FlowParts;
  readonly prepared: ReadonlyMap<string, Prepared>;
  /** Every node that a run can reach. */
  readonly all: ReadonlySet<string>;
}

/** Lowers the nodes that are reached from `head` outside of inner scopes. The items of a node are a scope with its prefix. */
function lowerScope(scope: Scope, prefix: string, head: string): NodeId {
  const { parts, prepared, all } = scope;
  const lowering = createLowering(scope, prefix);
  const members = scopeFrom(head, parts.graph, parts.flow);
  for (const id of parts.flow.nodes.keys()) {
    const each = prepared.get(id);
    if (each !== undefined && all.has(id) && members.has(id)) nodeTypeOf(each.node.value.type).lower(lowering, each);
  }
  return lowering.idOf(head);
}

function createLowering(scope: Scope, prefix: string): Lowering {
  const { kit, parts, all } = scope;
  const { flow, graph, slots, expressions } = parts;
  const endings = createEndings(kit, parts, all);
  const { remembers } = endings;
  const cap = flow.value.max_iterations;
  const charges = cap > 0 ? [kit.visits('max_iterations', cap, endings.capped(), 'max_iterations')] : [];
  const visits = ({ id, value }: Prepared['node']): readonly MeterId[] => {
    const { max_visits: most, on_exhausted: over = END } = value;
    if (most === undefined) return [];
    const target = over === END ? endings.capped() : idOf(over);
    return [kit.visits(`visits:${name(id)}`, most, target, `max_visits of ${name(id)}`)];
  };
  const name = (id: string): string => `${prefix}${id}`;
  const idOf = (id: string): NodeId => kit.builder.idOf(name(id));
  const target = (to: string, { node }: Prepared): NodeId =>
    to === END ? endings.at(remembers ? SLOT.out : node.facts.output(slots, node.id), node.id) : idOf(to);
  const lowering: Lowering = {
    kit,
    flow,
    graph,
    slots,
    expressions,
    capped: endings.caps,
    askedBy: `flow:${flow.value.id}`,
    name,
    idOf,
    inner: ({ node }, { head }) => lowerScope(scope, `${name(node.id)}/`, head),
    entered: ({ node, expects }) => ({
      id: idOf(node.id),
      origin: name(node.id),
      enters: name(node.id),
      expects,
      charges: [...charges, ...visits(node)],
      at: node.at('id'),
    }),
    part: ({ node }, hint) => ({ hint: `${name(node.id)} ${hint}`, origin: name(node.id), at: node.at('id') }),
    visitsMax: visitsMaxOf(flow, graph),
    ending: endings.at,
    out: (value, mode) => (remembers ? [{ slot: SLOT.out, mode, value }] : []),
    routes: (from) => addRoutes(lowering, from, target),
    timeoutMs: ({ node: { value } }) => (value.timeout === undefined ? null : Math.ceil(value.timeout * 1000)),
    retry: ({ node: { value } }) => retryOf(value.retry),
    attempts: (from, attempt) => addAttemptsOf(lowering, from, attempt),
    errors: ({ node }) => errorWays(kit, node.value.on_error, idOf, endings.partial),
    failing(from, hint) {
      const { failed, fail } = lowering.errors(from);
      return kit.pick(bare(lowering.part(from, hint)), failed, fail);
    },
    raise(from, error) {
      const written = set('error', literal({ ...error, node: name(from.node.id) }));
      return kit.set(bare(lowering.part(from, 'error')), [written], lowering.failing(from, 'errors'));
    },
    evaluated: (from, sources, add) => addEvaluated(lowering, from, sources, add),
  };
  return lowering;
}

/** The pick that follows a node and takes its routes. */
function addRoutes(lowering: Lowering, from: Prepared, target: (to: string, from: Prepared) => NodeId): NodeId {
  const last = from.routes.findIndex(({ when }) => when === null);
  const guarded = last < 0 ? from.routes : from.routes.slice(0, last);
  const cases = guarded.map(({ when, to }): Case => ({ when: when ?? 'true', to: target(to, from) }));
  const otherwise = target(from.routes[last]?.to ?? END, from);
  return lowering.kit.pick(bare(lowering.part(from, 'routes')), cases, otherwise);
}

function addAttemptsOf(
  lowering: Lowering,
  from: Prepared,
  attempt: Parameters<Lowering['attempts']>[1],
): ReturnType<Lowering['attempts']> {
  const { retry } = from.node.value;
  return addAttempts(lowering.kit, {
    ...attempt,
    step: lowering.entered(from),
    part: (hint) => bare(lowering.part(from, hint)),
    timeoutMs: lowering.timeoutMs(from),
    retry: retry === undefined ? null : { max: retry.max_attempts - 1, when: matched(retry.match) },
    visitsMax: lowering.visitsMax(from.node.id),
    next: lowering.routes(from),
    fail: lowering.failing(from, 'errors'),
  });
}

/** Adds a node that evaluates expressions. With an error route, a pick tries them first. */
function addEvaluated(
  lowering: Lowering,
  from: Prepared,
  sources: Parameters<Lowering['evaluated']>[1],
  add: Parameters<Lowering['evaluated']>[2],
): void {
  if (from.node.value.on_error.length === 0) return void add(lowering.entered(from));
  const failed = lowering.raise(from, {
    class: 'semantic',
    type: 'ExpressionError',
    message: `an expression of \`${from.node.id}\` could not be evaluated`,
    code: 'VALIDATION_FAIL',
  });
  const then = add(lowering.part(from, 'value'));
  const cases = [{ when: `size([${sources.join(', ')}]) == ${sources.length}`, to: then }];
  lowering.kit.pick(lowering.entered(from), cases, failed);
}

/** A node without a place of its own shows the place of the authored node. */
function bare(step: Step): Step {
  return { ...step, at: undefined };
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

/** A branch that ends early tells its parent through a slot; the ends after a join look at these slots. */
function createEndings(kit: Kit, { flow, graph }: FlowParts, all: ReadonlySet<string>): Endings {
  const nodes = [...all].flatMap((id) => flow.nodes.get(id) ?? []);
  const forks = nodes.some(({ id }) => graph.inBranches.has(id));
  const caps =
    flow.value.max_iterations > 0 ||
    nodes.some(({ value }) => value.max_visits !== undefined && (value.on_exhausted ?? END) === END);
  const completed = (code: 'SUCCESS' | 'PARTIAL_SUCCESS' | 'BUDGET_EXHAUSTED', output: Expr): NodeId =>
    kit.end({ state: 'completed', code, output });
  const afterJoin = (output: Expr): NodeId => {
    const done = completed('SUCCESS', output);
    const id = `~ending ${output}`;
    if (kit.builder.has(id)) return id;
    const cases = [{ when: `${SLOT.partial} == true`, to: completed('PARTIAL_SUCCESS', output) }];
    if (caps) cases.unshift({ when: `${SLOT.capped} == true`, to: completed('BUDGET_EXHAUSTED', output) });
    return kit.pick({ id, origin: END }, cases, done);
  };
  const marked = (slot: string, next: () => NodeId): NodeId => {
    const id = `~${slot}`;
    return kit.builder.has(id) ? id : kit.set({ id, origin: END }, [set(slot, 'true')], next());
  };
  const partialEnd = (): NodeId => completed('PARTIAL_SUCCESS', SLOT.out);
  const cappedEnd = (): NodeId => completed('BUDGET_EXHAUSTED', SLOT.out);
  return {
    caps,
    remembers: caps || forks || nodes.some(({ value }) => value.on_error.some(({ to }) => to === END)),
    at: (output, from) => (graph.afterJoins.has(from) ? afterJoin(output) : completed('SUCCESS', output)),
    partial: () => (forks ? marked(SLOT.partial, () => afterJoin(SLOT.out)) : partialEnd()),
    capped: () => (forks ? marked(SLOT.capped, cappedEnd) : cappedEnd()),
  };
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
