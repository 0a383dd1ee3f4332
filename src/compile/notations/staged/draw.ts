/** The picture of a staged flow: five stages in a row, the gates between them, and the ways of a failure. */
import { DECISION_TABLE } from '../../../catalog/failures.ts';
import type { Picture, PictureEdge, PictureNode, ShapeKind } from '../../picture/picture.ts';
import { mayEscalate } from './kinds.ts';
import type { Staged, Work } from './model.ts';

const CYCLE = ['plan', 'plan gate', 'work', 'aggregate', 'validate'];

export function drawStaged(staged: Staged): Picture {
  const { plan, working, aggregate, validate, finalize, replans } = staged;
  const asks = [plan, working, aggregate, validate, finalize].some((stage) => mayEscalate(staged, stage));
  const repeats = repeatsPlan(staged);
  const nodes = [
    shape('start', 'start', 'start'),
    shape('plan', 'agent', 'plan', plan.agent),
    shape('plan gate', 'decision', 'plan gate', 'tasks, ids, workers'),
    shape('work', 'parallel', working.id, workDetail(staged.work)),
    ...partsOf(staged.work),
    shape('aggregate', 'join', 'aggregate', aggregate.agent ?? 'list of summaries'),
    shape('validate', 'decision', 'validate', validateDetail(staged)),
    shape('finalize', 'agent', 'finalize', finalize.agent ?? 'the aggregate'),
    ...(asks ? [shape('escalation', 'approval', 'escalation', 'approve, edit, respond, reject')] : []),
    shape('abort', 'terminal', 'abort', 'undo what was done'),
    shape('end', 'end', 'end'),
  ];
  const edges = [
    edge('start', 'plan'),
    edge('plan', 'plan gate'),
    edge('plan gate', 'work', 'pass'),
    edge('plan gate', 'abort', 'malformed', 'error'),
    ...workEdges(staged.work),
    edge('aggregate', 'validate'),
    edge('validate', 'finalize', 'pass'),
    ...(repeats ? [back('validate', 'plan', 'replan')] : []),
    edge('validate', 'abort', 'refused', 'error'),
    edge('finalize', 'end'),
    ...(asks
      ? [
          edge('validate', 'escalation', 'escalate', 'error'),
          edge('escalation', 'finalize', 'approve'),
          back('escalation', 'plan', 'respond'),
          edge('escalation', 'abort', 'reject', 'error'),
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

function shape(id: string, kind: ShapeKind, label: string, detail: string | null = null): PictureNode {
  return { id, kind, label, detail, description: null };
}

function edge(from: string, to: string, label: string | null = null, kind: PictureEdge['kind'] = 'route'): PictureEdge {
  return { from, to, kind, label, back: false };
}

function back(from: string, to: string, label: string): PictureEdge {
  return { ...edge(from, to, label), back: true };
}

/** True if the table answers a refused result with a new plan. */
function repeatsPlan({ tier, definitions, replans }: Staged): boolean {
  const { schema_or_grounding: change } = definitions.protections.onFailure;
  const own = DECISION_TABLE.schema_or_grounding[tier].tries.some(({ action }) => action === 'replan');
  return change?.replans === undefined ? own && replans > 0 : change.replans > 0;
}

function validateDetail({ validate: { agent, confidence, invariants } }: Staged): string | null {
  const parts = [
    ...(agent === null ? [] : [agent]),
    ...(confidence === null ? [] : [`confidence ≥ ${confidence}`]),
    ...(invariants.length === 0 ? [] : [`${invariants.length} invariant${invariants.length === 1 ? '' : 's'}`]),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

function workDetail(work: Work): string {
  switch (work.is) {
    case 'workers':
      return `each task, ${work.widthMax} at once`;
    case 'teams':
      return 'each task to its team';
    case 'peers':
      return `from ${work.start}`;
    case 'debate':
      return `${work.rounds} rounds`;
    case 'sop':
      return 'in this order';
    case 'board':
      return `${work.rounds} rounds, versioned writes`;
    case 'swarm':
      return `depth ${work.depth}, ${work.max} members`;
  }
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

function partsOf(work: Work): readonly PictureNode[] {
  const judge = work.is === 'debate' && work.judge !== null ? [shape('judge', 'agent', 'judge', work.judge)] : [];
  return [...membersOf(work).map(({ id, agent }) => shape(`work/${id}`, 'agent', id, agent)), ...judge];
}

function workEdges(work: Work): readonly PictureEdge[] {
  const ids = membersOf(work).map(({ id }) => `work/${id}`);
  if (work.is === 'sop') {
    const all = ['work', ...ids, 'aggregate'];
    return all.slice(1).map((to, index) => edge(all[index] ?? 'work', to));
  }
  const judged = work.is === 'debate' && work.judge !== null;
  return [
    ...ids.map((to) => edge('work', to, null, 'branch')),
    ...ids.map((from) => edge(from, judged ? 'judge' : 'aggregate', null, 'join')),
    ...(judged ? [edge('judge', 'aggregate')] : []),
  ];
}
