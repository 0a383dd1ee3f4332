/** The picture of a loop: its main phases, the agents in them, and the edges back. */
import { edgeShape, shape } from '@sluice-internal/compile/picture';
import type { Picture, PictureNode, ShapeKind } from '@sluice-internal/compile/picture';
import { toolsOf } from './intake.ts';
import type { Loop } from './model.ts';

/** The checks that an answer must pass. */
function guardsOf({ criteria, verifier, review }: Loop): readonly string[] {
  return [
    ...(criteria.length === 0 ? [] : [counted(criteria.length, 'criterion', 'criteria')]),
    ...((verifier?.confidence ?? null) === null ? [] : [`confidence ≥ ${verifier?.confidence}`]),
    ...(review ? ['review by a person'] : []),
  ];
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function drawLoop(loop: Loop): Picture {
  const tools = toolsOf(loop);
  const node = (id: string, kind: ShapeKind, detail: string | null = null): PictureNode =>
    shape(id, kind, id.replaceAll('_', ' '), detail);
  const nodes = [
    node('start', 'start'),
    node('goal_intake', 'decision', loop.guards.length === 0 ? null : counted(loop.guards.length, 'guard')),
    ...(loop.planner === null ? [] : [node('plan', 'agent', loop.planner)]),
    node('action_selection', 'agent', loop.executor),
    ...(tools.length === 0 ? [] : [node('tool_invocation', 'tool', tools.join(', '))]),
    node(
      'validation',
      loop.verifier === null ? 'decision' : 'agent',
      loop.verifier === null ? null : (loop.verifier.agent ?? 'verifier'),
    ),
    node('escalation', 'approval', loop.escalation.people ? 'people are asked' : 'ends the run'),
    node('end', 'end'),
  ];
  const planned = loop.planner === null ? 'action_selection' : 'plan';
  const edges = [
    edgeShape('start', 'goal_intake'),
    edgeShape('goal_intake', planned),
    ...(loop.planner === null
      ? []
      : [{ ...edgeShape('plan', 'action_selection'), guards: loop.plan.approve ? ['approval'] : [] }]),
    ...(tools.length === 0
      ? []
      : [edgeShape('action_selection', 'tool_invocation', 'calls'), edgeShape('tool_invocation', 'validation')]),
    edgeShape('action_selection', 'validation', 'answers'),
    edgeShape('validation', 'action_selection', 'goes on', true),
    { ...edgeShape('validation', 'end', 'complete'), guards: guardsOf(loop) },
    edgeShape('validation', 'escalation', 'cannot go on'),
    edgeShape('escalation', 'action_selection', 'answered', true),
    edgeShape('escalation', 'end'),
  ];
  const around = ['action_selection', ...(tools.length === 0 ? [] : ['tool_invocation']), 'validation', 'escalation'];
  return {
    title: loop.id,
    notation: 'loop',
    description: loop.description,
    nodes,
    edges,
    cycles: [{ nodes: around, bound: `budgets.steps: ${loop.rounds}` }],
  };
}
