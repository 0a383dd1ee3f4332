/**
 * Lowers a checked flow. An authored node becomes one node under its own id that counts as entered, plus what follows from
 * it: a pick for its routes, ends. What the notation promises is all here: exactly N visits, partial results, codes.
 */
import type { Case, Expr, NodeId } from '../../../../ir/nodes.ts';
import { createBuilder } from '../../../lower/builder.ts';
import type { Builder, Lowered } from '../../../lower/builder.ts';
import { quote } from '../../../expressions/cel-text.ts';
import type { Definitions } from '../../../document/definitions.ts';
import type { Expressions } from '../expressions.ts';
import { taken } from '../graph.ts';
import type { FlowGraph } from '../graph.ts';
import { lowerNode } from './nodes.ts';
import type { Lowering } from './lowering.ts';
import type { Prepared } from '../prepare.ts';
import { END } from '../read.ts';
import type { Flow } from '../read.ts';
import { SLOT, outputOf } from '../slots.ts';
import type { Slots } from '../slots.ts';
import { visitsMaxOf } from '../visits.ts';

export interface FlowParts {
  readonly flow: Flow;
  readonly graph: FlowGraph;
  readonly slots: Slots;
  readonly expressions: Expressions;
  readonly definitions: Definitions;
}

export function lowerGraph(
  { flow, graph, slots, expressions, definitions }: FlowParts,
  prepared: ReadonlyMap<string, Prepared>,
): Lowered {
  const builder = createBuilder('flow', definitions);
  const live = taken(graph, flow);
  const values = [...live].flatMap((id) => flow.nodes.get(id)?.value ?? []);
  const forks = values.some(({ type }) => type === 'parallel');
  const cap = flow.value.max_iterations;
  const remembers = cap > 0 || forks || values.some((value) => value.on_error.some(({ to }) => to === END));

  const ending = (output: Expr, from: string): NodeId =>
    graph.afterJoins.has(from) ? weighed(output) : builder.end({ state: 'completed', code: 'SUCCESS', output });
  const weighed = (output: Expr): NodeId => {
    const done = builder.end({ state: 'completed', code: 'SUCCESS', output });
    const id = `~ending ${output}`;
    if (builder.has(id)) return id;
    const partial = builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output });
    const cases = [{ when: `${SLOT.partial} == true`, to: partial }];
    if (cap > 0) {
      const capped = builder.end({ state: 'completed', code: 'BUDGET_EXHAUSTED', output });
      cases.unshift({ when: `${SLOT.capped} == true`, to: capped });
    }
    return builder.add(id, { op: 'pick', label: { name: END }, cases, otherwise: done });
  };
  const marked = (slot: string, code: 'PARTIAL_SUCCESS' | 'BUDGET_EXHAUSTED'): NodeId => {
    const end = builder.end({ state: 'completed', code, output: SLOT.out });
    const id = `~${slot}`;
    // Only a branch has to tell its parent.
    if (!forks || builder.has(id)) return forks ? id : end;
    const gate = code === 'PARTIAL_SUCCESS' ? weighed(SLOT.out) : end;
    return builder.add(id, {
      op: 'let',
      label: { name: END },
      writes: [{ slot, mode: 'set', value: 'true' }],
      next: gate,
    });
  };
  const target = (to: string, from: Prepared): NodeId =>
    to === END
      ? ending(remembers ? SLOT.out : outputOf(slots, from.node.id, from.node.value.type), from.node.id)
      : builder.idOf(to);
  const charges =
    cap > 0
      ? [
          builder.meter('max_iterations', {
            unit: 'visits',
            max: cap,
            over: marked(SLOT.capped, 'BUDGET_EXHAUSTED'),
            label: 'max_iterations',
          }),
        ]
      : [];

  const lowering: Lowering = {
    builder,
    flow,
    graph,
    slots,
    expressions,
    charges,
    visitsMax: visitsMaxOf(flow, graph),
    ending,
    out: (value, mode) => (remembers ? [{ slot: SLOT.out, mode, value }] : []),
    routes(from) {
      const cases: Case[] = [];
      let otherwise: NodeId | null = null;
      for (const { when, to } of from.routes) {
        if (when === null) {
          otherwise = target(to, from);
          break;
        }
        cases.push({ when, to: target(to, from) });
      }
      otherwise ??= target(END, from);
      if (cases.length === 0) return otherwise;
      return builder.add(builder.fresh(`${from.node.id} routes`), {
        op: 'pick',
        label: { name: from.node.id },
        cases,
        otherwise,
      });
    },
    errors(from) {
      const failed: Case[] = [];
      for (const { match, default: all, to } of from.node.value.on_error) {
        const at = to === END ? marked(SLOT.partial, 'PARTIAL_SUCCESS') : builder.idOf(to);
        if (all === true) return { failed, fail: at };
        const pattern = quote(match ?? '');
        failed.push({ when: `re(error.type, ${pattern}) || re(error.message, ${pattern})`, to: at });
      }
      return { failed, fail: builder.failedEnd() };
    },
  };
  for (const id of flow.nodes.keys()) {
    const each = prepared.get(id);
    if (each !== undefined && live.has(id)) lowerNode(lowering, each);
  }
  const entry = start(builder, builder.idOf(flow.value.entry), expressions.uses.slots.has('event'));
  return builder.build({ id: flow.value.id, entry });
}

/** What started the run is `event.payload`: an object as given, a text as its `message`. */
function start(builder: Builder, entry: NodeId, reads: boolean): NodeId {
  if (!reads) return entry;
  const write = (path: readonly string[]): NodeId =>
    builder.add(builder.fresh('event'), {
      op: 'let',
      label: { name: 'event' },
      writes: [{ slot: 'event', path, mode: 'set', value: 'input' }],
      next: entry,
    });
  const cases = [{ when: 'type(input) == string', to: write(['payload', 'message']) }];
  return builder.add(builder.fresh('start'), {
    op: 'pick',
    label: { name: 'event' },
    cases,
    otherwise: write(['payload']),
  });
}
