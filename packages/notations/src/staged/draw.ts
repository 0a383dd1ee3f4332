/** The picture of a staged flow: five stages in a row, the gates between them, and the routes of failures. */
import { cellOf } from '@sluice-internal/kernel/catalog';
import { edgeShape, shape } from '@sluice-internal/compile/picture';
import type { Picture, PictureEdge, PictureNode, ShapeKind } from '@sluice-internal/compile/picture';
import type { FailureKind } from '@sluice-internal/kernel/ir';
import { mayEscalate } from './kinds.ts';
import type { Staged, Work } from './model.ts';

const CYCLE = ['plan', 'plan gate', 'work', 'aggregate', 'validate'];

export function drawStaged(staged: Staged): Picture {
  const { plan, working, aggregate, validate, finalize, replans } = staged;
  const asks = [plan, working, aggregate, validate, finalize].some((stage) => mayEscalate(staged, stage));
  const repeats = repeatsPlan(staged, 'schema_or_grounding');
  const mends = plan.agent !== null && repeatsPlan(staged, 'malformed_plan');
  const nodes = [
    shape('start', 'start', 'start'),
    agentShape(staged, 'plan', 'plan', plan.agent ?? 'one task', plan.agent),
    shape('plan gate', 'decision', 'plan gate', ['tasks, ids, workers', plan.critic ?? []].flat().join(', ')),
    shape('work', 'parallel', working.id, staged.work.detail),
    ...partsOf(staged),
    agentShape(staged, 'aggregate', 'aggregate', aggregate.agent ?? 'list of summaries', aggregate.agent),
    agentShape(staged, 'validate', 'validate', validate.agent, validate.agent, 'decision'),
    agentShape(staged, 'finalize', 'finalize', finalize.agent ?? 'the aggregate', finalize.agent),
    ...(asks ? [shape('escalation', 'approval', 'escalation', 'approve, edit, respond, reject')] : []),
    shape('abort', 'terminal', 'abort', 'undo what was done'),
    shape('end', 'end', 'end'),
  ];
  const edges = [
    edgeShape('start', 'plan'),
    edgeShape('plan', 'plan gate'),
    edgeShape('plan gate', 'work', 'pass'),
    ...(mends ? [edgeShape('plan gate', 'plan', 'malformed: replan', true)] : []),
    failure('plan gate', 'abort', 'malformed'),
    ...workEdges(staged.work),
    edgeShape('aggregate', 'validate'),
    { ...edgeShape('validate', 'finalize', 'pass'), guards: guardsOf(staged) },
    ...(repeats ? [edgeShape('validate', 'plan', 'replan', true)] : []),
    failure('validate', 'abort', 'refused'),
    edgeShape('finalize', 'end'),
    ...(asks
      ? [
          failure('validate', 'escalation', 'escalate'),
          edgeShape('escalation', 'finalize', 'approve'),
          edgeShape('escalation', 'plan', 'respond', true),
          failure('escalation', 'abort', 'reject'),
        ]
      : []),
  ];
  return {
    title: staged.id,
    notation: 'staged',
    description: staged.description,
    nodes,
    edges,
    cycles: repeats || asks ? [{ nodes: asks ? [...CYCLE, 'escalation'] : CYCLE, bound: `replans: ${replans}` }] : [],
  };
}

function failure(from: string, to: string, label: string): PictureEdge {
  return edgeShape(from, to, label, false, 'error');
}

/** True if the table answers this failure with a new plan. */
function repeatsPlan({ tier, definitions, replans }: Staged, failure: FailureKind): boolean {
  const { tries } = cellOf(failure, tier, definitions.protections.onFailure[failure], replans);
  return tries.some(({ action }) => action === 'replan');
}

/** The checks that the result must pass. */
function guardsOf({ validate: { confidence, invariants, review } }: Staged): readonly string[] {
  const conditions = Object.values(invariants).flat().length;
  return [
    ...(confidence === null ? [] : [`confidence ≥ ${confidence}`]),
    ...(conditions === 0 ? [] : [`${conditions} invariant${conditions === 1 ? '' : 's'}`]),
    ...(review ? ['review by a person'] : []),
  ];
}

/** A stage with an agent is drawn as that agent, with its tools. */
function agentShape(
  { definitions }: Staged,
  id: string,
  label: string,
  detail: string | null,
  agent: string | null,
  without: ShapeKind = 'join',
): PictureNode {
  const tools = agent === null ? [] : (definitions.agents[agent]?.tools ?? []);
  return {
    ...shape(id, agent === null ? without : 'agent', label, detail),
    ...(tools.length === 0 ? {} : { tools }),
  };
}

/** The agents, steps or teams of the work. */
function membersOf(work: Work): readonly { readonly id: string; readonly agent: string | null }[] {
  switch (work.is) {
    case 'teams':
      return work.teams.map(({ id, staged }) => ({ id, agent: staged.topology }));
    case 'sop':
      return work.steps;
    case 'swarm':
      return [{ id: work.agent, agent: null }];
    default:
      return work.agents.map((id) => ({ id, agent: null }));
  }
}

/** Several agents of the work stand in a frame. */
function partsOf(staged: Staged): readonly PictureNode[] {
  const { work, working } = staged;
  const judge =
    work.is === 'debate' && work.judge !== null ? [agentShape(staged, 'judge', 'judge', work.judge, work.judge)] : [];
  const members = membersOf(work).map(({ id, agent }) => agentShape(staged, `work/${id}`, id, agent, agent ?? id));
  return [...members, ...judge].map((node) => (members.length < 2 ? node : { ...node, group: working.id }));
}

function workEdges(work: Work): readonly PictureEdge[] {
  const ids = membersOf(work).map(({ id }) => `work/${id}`);
  if (work.is === 'sop') {
    const all = ['work', ...ids, 'aggregate'];
    return all.slice(1).map((to, index) => edgeShape(all[index] ?? 'work', to));
  }
  const judged = work.is === 'debate' && work.judge !== null;
  return [
    ...ids.map((to) => edgeShape('work', to, null, false, 'branch')),
    ...ids.map((from) => edgeShape(from, judged ? 'judge' : 'aggregate', null, false, 'join')),
    ...(judged ? [edgeShape('judge', 'aggregate')] : []),
  ];
}
