/**
 * A swarm: members that may start further members. They run level by level. A member below the deepest level may not start
 * others, and no member is started beyond the limit; a refused start is a decision, and its member has no result.
 */
import type { NodeId } from '../../../../ir/nodes.ts';
import { mastOf } from '../../../../catalog/failures.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { set } from '../../../lower/kit.ts';
import { nameOf, stepOf } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import type { Work } from '../model.ts';
import { OBJECTION, TASK_PART, part, textOf } from '../prompts.ts';
import { LOST, OUTCOMES, PARTIAL, SUMMARIES, SUMMARY, TASK, TASKS, TASK_ID } from '../slots.ts';
import { addStageTurn } from '../stage.ts';
import { addFanOut } from './fan-out.ts';

type Swarm = Extract<Work, { is: 'swarm' }>;
const FRONTIER = 'frontier';
const LEVEL = 'level';
/** Members that were started in this round of the plan. */
const STARTED = 'started';
const SPAWNED = 'spawned';
const WIDTH = 4;

export function addSwarm(l: Lowering, swarm: Swarm, next: NodeId): NodeId {
  const fork = l.builder.fresh(nameOf(l, `${l.staged.working.id}.level`));
  const results = `${OUTCOMES}.filter(b, b.state == "completed" && b.output != null)`;
  return addFanOut(l, {
    each: FRONTIER,
    widthMax: WIDTH,
    id: fork,
    opening: [set(FRONTIER, TASKS), set(LEVEL, '0'), set(STARTED, `size(${TASKS})`), set(SPAWNED, '[]')],
    gather: [{ slot: SPAWNED, mode: 'concat' }],
    summaries: [set(SUMMARIES, `${SUMMARIES} + ${results}.map(b, b.output)`)],
    head: () => addMember(l, swarm),
    collected: (done, recovery) => addLevel(l, swarm, fork, done, recovery.failed),
    next,
  });
}

/** After a level: the members that it wants to start are the next level, as far as the limits allow. */
function addLevel(l: Lowering, swarm: Swarm, fork: NodeId, done: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const { depth } = swarm;
  const max = membersMax(l, swarm);
  const step = (what: string) => stepOf(l, working.id, what);
  const empty = l.kit.fail(
    step('empty'),
    {
      class: 'budget',
      type: 'SpawnError',
      code: 'BUDGET_EXHAUSTED',
      message: quote(`no member of the swarm gave a result within ${max} members and depth ${depth}`),
      node: nameOf(l, working.id),
    },
    fail,
  );
  const judged = l.kit.pick(step('judge'), [{ when: `size(${SUMMARIES}) == 0`, to: empty }], done);
  const decision = { failure: 'cost_overrun', action: 'block', mast: mastOf('cost_overrun') } as const;
  const problem = quote(`it was not started: the swarm may have ${max} members and depth ${depth}`);
  const lost = (members: string) => [
    set(LOST, `${LOST} + ${members}.map(t, {"id": t.id, "problem": ${problem}})`),
    set(PARTIAL, 'true'),
  ];
  const blocked = l.kit.set({ ...step('spawn.block'), decision }, [...lost(SPAWNED), set(SPAWNED, '[]')], judged);
  const levels = l.visits.work * l.startsMax * Math.max(depth, 1);
  const deeper = l.kit.set(
    {
      ...step('deeper'),
      charges: [l.kit.visits(`levels:${nameOf(l, working.id)}`, levels, blocked, 'swarm.depth')],
    },
    [
      set(FRONTIER, SPAWNED),
      set(STARTED, `${STARTED} + size(${SPAWNED})`),
      set(LEVEL, `${LEVEL} + 1`),
      set(SPAWNED, '[]'),
    ],
    fork,
  );
  const free = `${max} - ${STARTED}`;
  const trimmed = l.kit.set(
    { ...step('spawn.trim'), decision },
    [...lost(`slice(${SPAWNED}, ${free}, size(${SPAWNED}))`), set(SPAWNED, `slice(${SPAWNED}, 0, ${free})`)],
    deeper,
  );
  return l.kit.pick(
    step('spawned'),
    [
      { when: `size(${SPAWNED}) == 0`, to: judged },
      { when: `${LEVEL} >= ${depth} || ${STARTED} >= ${max}`, to: blocked },
      { when: `${STARTED} + size(${SPAWNED}) > ${max}`, to: trimmed },
    ],
    deeper,
  );
}

/** The most members. `spawn.max` counts those that a model starts; without a planner, no model starts the first. */
function membersMax({ staged }: Lowering, { max }: Swarm): number {
  const spawn = staged.working.protections.spawn;
  if (spawn === null) return max;
  return Math.min(max, staged.plan.agent === null ? spawn + 1 : spawn);
}

function addMember(l: Lowering, { agent, depth, max }: Swarm): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, `member.${what}`);
  const failed = l.builder.failedEnd();
  const end = (output: string): NodeId =>
    l.builder.end({ state: 'completed', code: 'SUCCESS', output, origin: nameOf(l, working.id) });
  const runs = l.visits.work * l.startsMax * max;
  const spawned = l.kit.set(
    step('spawn'),
    [set(SPAWNED, `${SPAWNED} + ${SUMMARY}.spawn.filter(t, type(t) == map && t.id != null && t.brief != null)`)],
    end('null'),
  );
  const replied = l.kit.pick(
    step('replied'),
    [{ when: `type(${SUMMARY}) == map && type(${SUMMARY}.spawn) == list && size(${SUMMARY}.spawn) > 0`, to: spawned }],
    end(`{"id": ${TASK}.id, "summary": ${SUMMARY}}`),
  );
  const turn = addStageTurn(l, {
    stage: working,
    agent,
    hint: nameOf(l, `${working.id}.member`),
    prompt: textOf(
      TASK_PART,
      part('Your part', `${TASK}.brief`),
      `${LEVEL} >= ${depth} ? ${quote('\n\nReply with a short summary of the result.')} : ${quote('\n\nReply with a short summary of the result, or split it with JSON {"spawn": [{"id": "…", "brief": "…"}]}.')}`,
      OBJECTION,
    ),
    result: SUMMARY,
    turn: `text(${quote(`${working.id}/`)}, ${TASK_ID}, " ", ${LEVEL})`,
    charges: [l.kit.visits(`runs:${nameOf(l, working.id)}`, runs, failed, 'swarm.max')],
    visitsMax: runs,
    next: replied,
    fail: failed,
  });
  return l.kit.set(
    { ...step('task'), enters: nameOf(l, working.id), entersBy: TASK_ID },
    [set(TASK_ID, `text(${TASK}.id)`), set(SUMMARY, 'null')],
    turn,
  );
}
