/**
 * A node that runs a sub-graph: with a copy of the history and its own counters. It returns one message, which counts as the
 * node's message.
 */
import type { ForkNode, NodeId } from '../../../../../ir/nodes.ts';
import { OBSERVATIONS, TALK } from '../../../../lower/agent-turn/turn.ts';
import { quote } from '../../../../expressions/cel-text.ts';
import { exhausted } from '../../lowering.ts';
import type { Lowering } from '../../lowering.ts';
import { set } from '../../../../lower/kit.ts';
import { HISTORY, OUTPUT, REJECTED, SAID, SIGNAL, TURN, TURNS, clean } from '../../slots.ts';
import { lowerMapReduce } from '../mapreduce.ts';
import { lowerScatterGather } from '../scattergather.ts';
import type { Graph, GraphNode, Inner } from './model.ts';

const OUTCOME = 'inner';
/** The slots that a sub-graph hands back beside its message. */
const RETURNED: ForkNode['gather'] = [
  { slot: OBSERVATIONS, mode: 'concat' },
  { slot: TURNS, mode: 'concat' },
  { slot: SIGNAL, mode: 'last' },
  { slot: TURN, mode: 'last' },
  { slot: REJECTED, mode: 'last' },
];

export function addInner(
  l: Lowering,
  node: GraphNode,
  inner: Inner,
  begin: NodeId,
  next: NodeId,
  lowerGraph: (l: Lowering, graph: Graph, done: NodeId) => NodeId,
): NodeId {
  const { builder } = l;
  const origin = `${l.prefix}${node.id}`;
  const done = builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const below: Lowering = { ...l, prefix: `${origin}/` };
  const phases = { hint: `${origin}/`, origin, next: done };
  const entry =
    inner.is === 'graph'
      ? lowerGraph(below, inner.graph, done)
      : inner.is === 'mapreduce'
        ? lowerMapReduce(below, inner.raw, phases)
        : lowerScatterGather(below, inner.raw, phases);
  const output = `${OUTCOME}["0"].output`;
  const item = { author: quote(node.id), role: quote('assistant'), content: output, turn: TURN };
  const take = l.kit.set(
    { hint: `${origin}.output`, origin },
    [{ slot: HISTORY, mode: 'append', value: item }, set(SAID, output)],
    next,
  );
  // A session that ends inside the sub-graph returns the message from inside.
  const over = (end: NodeId): NodeId =>
    l.kit.set(
      { hint: `${origin}.over`, origin },
      [set(SAID, `cel.bind(o, ${OUTCOME}[0].output, o == null && ${REJECTED} == null ? ${SAID} : o)`)],
      end,
    );
  const joined = l.kit.pick(
    { hint: `${origin}.ended`, origin },
    [{ when: `${OUTCOME}[0].code == "BUDGET_EXHAUSTED"`, to: over(exhausted(l)) }],
    take,
  );
  const fork = l.kit.fork(
    { hint: `${origin}.run`, origin },
    {
      over: { heads: [{ name: node.id, to: below.kit.set({ hint: `${origin}/start`, origin }, clean(), entry) }] },
      eager: true,
      into: OUTCOME,
      gather: RETURNED,
      next: joined,
      fail: l.kit.branchError({ hint: `${origin}.blame`, origin }, OUTCOME, over(builder.failedEnd(OUTPUT))),
    },
  );
  // The turns inside charge the session's meter; this one bounds how often the sub-graph runs.
  const runs = l.kit.visits(`runs:${origin}`, l.turnsMax, exhausted(l), `runs of ${origin}`);
  return l.kit.set(
    { id: begin, origin, charges: [runs], at: l.at(...node.path, 'Id') },
    [set(SIGNAL, 'null'), set(TALK, '[]')],
    fork,
  );
}
