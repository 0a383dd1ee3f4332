/** The loop as a graph: the phases in their order, each a node of its name, and the ways between them. */
import type { MeterId, Node, NodeId } from '../../../ir/nodes.ts';
import { createBuilder } from '../../lower/builder.ts';
import type { Lowered } from '../../lower/builder.ts';
import type { Range } from '../../source/range.ts';
import { stateFaults } from '../../lower/state-rules.ts';
import { addAction, blockedCall } from './act.ts';
import { budgetGate, isExtendable } from './budget.ts';
import { addEscalation } from './escalate.ts';
import { addFinish } from './finish.ts';
import { addGrounding } from './ground.ts';
import { addBudgetAssign, addIntake } from './intake.ts';
import { addJudgement } from './judge.ts';
import type { Lowering } from './lowering.ts';
import type { Loop } from './model.ts';
import { withFreeReplies } from './output.ts';
import { addPlan } from './plan.ts';
import { STORES } from './slots.ts';

export function lowerLoop(loop: Loop, at: Range): Lowered {
  const builder = createBuilder('loop', withFreeReplies(loop), {
    extendable: isExtendable(loop),
    complete: (id, node) => blamed(loop, priced(id, node)),
  });
  const l: Lowering = { builder, loop, at, stops: new Set() };
  const priced = pricing(l);
  const entry = addIntake(l);
  addPlan(l);
  addBudgetAssign(l);
  addAction(l);
  addGrounding(l);
  addJudgement(l);
  addEscalation(l);
  addFinish(l);
  const lowered = builder.build({ id: loop.id, entry, view: { rates: loop.rates, stores: STORES } });
  const [fault] = stateFaults(lowered.body);
  if (fault !== undefined) throw new Error(`invariant: ${fault}`);
  return lowered;
}

/** Names the agent whose turn it is, or the loop, as the authored node of errors. Questions are known by what they are about. */
function blamed({ id, executor }: Loop, node: Node): Node {
  if (node.label.authored !== undefined || node.op === 'end' || (node.op === 'do' && node.effect.kind === 'ask'))
    return node;
  const { name } = node.label;
  const called = name === 'tool_invocation' || name === 'breaker' ? executor : id;
  const authored = node.op === 'do' && node.effect.kind === 'model' ? node.effect.agent : called;
  return { ...node, label: { ...node.label, authored } };
}

/**
 * Every call gets its way out of a budget, and every tool call the breaker. Both are made when the first call is added: the
 * nodes that they consist of are no calls.
 */
function pricing(l: Lowering): (id: NodeId, node: Node) => Node {
  let made: { readonly gate: ReturnType<typeof budgetGate>; readonly breaker: MeterId } | null = null;
  return (id, node) => {
    if (node.op !== 'do' && node.needs === undefined) return node;
    made ??= { gate: budgetGate(l), breaker: addBreaker(l) };
    const { gate, breaker } = made;
    if (node.op !== 'do' || node.effect.kind !== 'tool') return gate(id, node);
    // The same call in another round is the same call, so the round is left out of what is compared.
    const { turn: _, ...input } = node.effect.input;
    return gate(id, { ...node, charges: [...(node.charges ?? []), breaker], effect: { ...node.effect, input } });
  };
}

function addBreaker(l: Lowering): MeterId {
  const { identical, window } = l.loop.breaker;
  return l.builder.meter('breaker', {
    unit: 'repeats',
    max: identical - 1,
    window,
    over: blockedCall(l),
    label: 'breaker',
  });
}
