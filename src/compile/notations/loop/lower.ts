/** The loop as a graph: the phases in their order, each a node of its name, and the ways between them. */
import type { Node, NodeId } from '../../../ir/nodes.ts';
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
  const builder = createBuilder('loop', withFreeReplies(loop));
  const l: Lowering = { builder, loop, at, stops: new Set() };
  const entry = addIntake(l);
  addPlan(l);
  addBudgetAssign(l);
  addAction(l);
  addGrounding(l);
  addJudgement(l);
  addEscalation(l);
  const priced = dressing(l);
  const dress = (id: NodeId, node: Node): Node => blamed(loop, priced(id, node));
  addFinish(l);
  const extendable = isExtendable(loop) ? { extendable: true } : {};
  const lowered = builder.build({ id: loop.id, entry, dress, rates: loop.rates, stores: STORES, ...extendable });
  const [fault] = stateFaults(lowered.body);
  if (fault !== undefined) throw new Error(`invariant: ${fault}`);
  return lowered;
}

/** Whose error it is: that of the agent whose turn it is, or of the loop. Questions are known by what they are about. */
function blamed({ id, executor }: Loop, node: Node): Node {
  if (node.blame !== undefined || node.op === 'end' || (node.op === 'do' && node.effect.kind === 'ask')) return node;
  if (node.op === 'do' && node.effect.kind === 'model') return { ...node, blame: node.effect.agent };
  return { ...node, blame: node.origin === 'tool_invocation' || node.origin === 'breaker' ? executor : id };
}

/** Every call gets its way out of a budget, and every tool call the breaker. */
function dressing(l: Lowering): (id: NodeId, node: Node) => Node {
  const { builder, loop } = l;
  const gate = budgetGate(l);
  const breaker = builder.meter('breaker', {
    unit: 'repeats',
    max: loop.breaker.identical - 1,
    window: loop.breaker.window,
    over: blockedCall(l),
    label: 'breaker',
  });
  return (id, node) => {
    if (node.op !== 'do' || node.effect.kind !== 'tool') return gate(id, node);
    // The same call in another round is the same call: what it is compared by leaves the round out.
    const { turn: _, ...input } = node.effect.input;
    return gate(id, { ...node, charges: [...(node.charges ?? []), breaker], effect: { ...node.effect, input } });
  };
}
