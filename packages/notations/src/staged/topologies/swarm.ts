/**
 * A swarm: members can start further members, level by level. A start is refused below the deepest level, above the limit of
 * members, or with an id that exists. A refused start is a decision, and its member has no result.
 */
import type { Expr, NodeId, Write } from '@sluice-internal/kernel/ir';
import { decisionOf } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { addSchema } from '../gates.ts';
import { nameOf, stepOf, type Lowering } from '../lowering.ts';
import type { Work } from '../model.ts';
import { OBJECTION, TASK_PART, part, textOf } from '../prompts.ts';
import { failedBranch } from '../rollback.ts';
import { CHECKED, LOST, OUTCOMES, PARTIAL, SUMMARIES, SUMMARY, TASK, TASKS, TASK_ID } from '../slots.ts';
import { addStageTurn } from '../stage.ts';
import { addFanOut, addSummaryChecks } from './fan-out.ts';

type Swarm = Extract<Work, { is: 'swarm' }>;
const FRONTIER = 'frontier';
const LEVEL = 'level';
/** Members that were started in this round of the plan. */
const STARTED = 'started';
const SPAWNED = 'spawned';
/** The ids of all members so far. */
const MEMBERS = 'members';
const WIDTH = 4;

const SPAWN: Json = { type: 'object', required: ['spawn'], properties: { spawn: { type: 'array', minItems: 1 } } };

const SAMPLES: readonly Json[] = [
  'The part is done.',
  { spawn: [{ id: 'first', brief: 'Do the first half.' }] },
  { spawn: ['first', 'second'].map((id) => ({ id, brief: `Do the ${id} half.` })) },
];

export function addSwarm(l: Lowering, swarm: Swarm, next: NodeId): NodeId {
  const fork = l.builder.fresh(nameOf(l, `${l.staged.working.id}.level`));
  const results = `${OUTCOMES}.filter(b, b.state == "completed" && b.output != null)`;
  return addFanOut(l, {
    each: FRONTIER,
    widthMax: WIDTH,
    id: fork,
    opening: [
      set(FRONTIER, TASKS),
      set(LEVEL, '0'),
      set(STARTED, `size(${TASKS})`),
      set(SPAWNED, '[]'),
      set(MEMBERS, `${TASKS}.map(t, text(t.id))`),
    ],
    gather: [{ slot: SPAWNED, mode: 'concat' }],
    summaries: [set(SUMMARIES, `${SUMMARIES} + ${results}.map(b, b.output)`)],
    head: () => addMember(l, swarm),
    collected: (done, recovery) => addLevel(l, swarm, fork, done, recovery.failed),
    next,
  });
}

/** After a level: the members that it asks for are the next level, as far as the limits allow. */
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
      message: `text(${quote(`no member of the swarm gave a result within ${max} members and depth ${depth}`)}, ${FIRST_LOST})`,
      node: nameOf(l, working.id),
    },
    fail,
  );
  const judged = l.kit.when(step('judge'), `size(${SUMMARIES}) == 0`, empty, done);
  const decision = decisionOf('cost_overrun', 'block');
  const problem = quote(`it was not started: the swarm may have ${max} members and depth ${depth}`);
  const lost = (members: string) => notStarted(members, problem);
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
      set(MEMBERS, `${MEMBERS} + ${SPAWNED}.map(t, text(t.id))`),
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
  const fitting = l.kit.pick(
    step('spawned'),
    [
      { when: `size(${SPAWNED}) == 0`, to: judged },
      { when: `${LEVEL} >= ${depth} || ${STARTED} >= ${max}`, to: blocked },
      { when: `${STARTED} + size(${SPAWNED}) > ${max}`, to: trimmed },
    ],
    deeper,
  );
  return addNamed(l, fitting);
}

/** A member with an id that is in use gets its parent's id before its own. Two members of one parent with one id are not started. */
function addNamed(l: Lowering, next: NodeId): NodeId {
  const step = (what: string) => stepOf(l, l.staged.working.id, what);
  const refused = l.kit.set(
    { ...step('spawn.refuse'), decision: decisionOf('malformed_plan', 'block') },
    [
      ...notStarted(
        `${SPAWNED}.filter(t, ${IN_USE})`,
        quote('it was not started: two members of the swarm have this id'),
      ),
      set(SPAWNED, `${SPAWNED}.filter(t, !(${IN_USE}))`),
    ],
    next,
  );
  const judged = l.kit.when(step('named'), `${SPAWNED}.exists(t, ${IN_USE})`, refused, next);
  const named = `${SPAWNED}.map(t, ${IS_TAKEN} ? merge(t, {"id": text(t.parent, ".", t.id)}) : t)`;
  return l.kit.set(step('spawn.name'), [set(SPAWNED, named)], judged);
}

/** True if another parent has, or asks for, a member with this id. */
const IS_TAKEN = `text(t.id) in ${MEMBERS} || ${SPAWNED}.exists(o, o.parent != t.parent && text(o.id) == text(t.id))`;

function notStarted(members: Expr, problem: Expr): readonly Write[] {
  return [set(LOST, `${LOST} + ${members}.map(t, {"id": t.id, "problem": ${problem}})`), set(PARTIAL, 'true')];
}

/** The first member without a result, and the reason. */
const FIRST_LOST = `size(${LOST}) > 0 ? text("; \`", ${LOST}[0].id, "\`: ", ${LOST}[0].problem) : ""`;

/** True if a member that should be started still has the id of another one. */
const IN_USE = `text(t.id) in ${MEMBERS} || size(${SPAWNED}.filter(o, text(o.id) == text(t.id))) > 1`;

/** The most members. `spawn.max` counts those that a model starts; without a planner, no model starts the first. */
function membersMax({ staged }: Lowering, { max }: Swarm): number {
  const spawn = staged.working.protections.spawn;
  if (spawn === null) return max;
  return Math.min(max, staged.plan.agent === null ? spawn + 1 : spawn);
}

function addMember(l: Lowering, { agent, depth, max }: Swarm): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, `member.${what}`);
  const failed = failedBranch(l, working.id);
  const end = (output: string): NodeId =>
    l.builder.end({ state: 'completed', code: 'SUCCESS', output, origin: nameOf(l, working.id) });
  const runs = l.visits.work * l.startsMax * max;
  const spawned = l.kit.set(
    step('spawn'),
    [
      set(
        SPAWNED,
        `${SPAWNED} + ${SUMMARY}.spawn.filter(t, type(t) == map && t.id != null && t.brief != null).map(t, merge(t, {"parent": ${TASK_ID}}))`,
      ),
    ],
    end('null'),
  );
  const checked = addSummaryChecks(l, failed, end(`{"id": ${TASK}.id, "summary": ${SUMMARY}}`));
  const replied = l.kit.when(
    step('replied'),
    `type(${SUMMARY}) == map && type(${SUMMARY}.spawn) == list && size(${SUMMARY}.spawn) > 0`,
    spawned,
    checked,
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
    ...(working.output === null ? {} : { schema: { anyOf: [SPAWN, working.output] } }),
    samples: SAMPLES,
    result: SUMMARY,
    turn: `text(${quote(`${working.id}/`)}, ${TASK_ID}, " ", ${LEVEL})`,
    runs: { of: working.id, max: runs, label: 'swarm.max' },
    next: replied,
    fail: failed,
  });
  const charges = [l.kit.visits(`tasks:${nameOf(l, working.id)}`, runs, failed, 'swarm.max')];
  return l.kit.set(
    { ...step('task'), enters: nameOf(l, working.id), entersBy: TASK_ID, charges },
    [set(TASK_ID, `text(${TASK}.id)`), set(SUMMARY, 'null')],
    addBrief(l, failed, turn),
  );
}

/** The brief of a member fits the schema of the input, by itself or as a task. A member wrote it, so no gate has seen it. */
function addBrief(l: Lowering, refused: NodeId, next: NodeId): NodeId {
  const { id, input } = l.staged.working;
  if (input === null) return next;
  const schema: Json = { anyOf: [{ type: 'object', properties: { brief: input } }, input] };
  const reason = `text("the brief of \`", ${TASK_ID}, "\` does not fit its schema: ", ${CHECKED}.reason)`;
  return addSchema({ l, stage: id, at: 'before', refused }, { schema, value: TASK, hint: 'brief' }, next, { reason });
}
