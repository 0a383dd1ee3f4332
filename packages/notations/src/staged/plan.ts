/**
 * The first stage. The planner replies with tasks; the gate refuses a plan without tasks, with two tasks of one id, with an
 * unknown worker, with more tasks than may be started, with a brief that does not fit its schema, or that the critic refuses.
 */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { addObjection, addSchema, type Gate } from './gates.ts';
import { nameOf, stepOf, type Lowering } from './lowering.ts';
import { spawnMax, type Staged } from './model.ts';
import { criticPrompt, planPrompt } from './prompts.ts';
import { CHECKED, CRITIQUE, PLAN, REQUEST, TASKS } from './slots.ts';
import { addStage, addStageTurn } from './stage.ts';

const MALFORMED = { check: 'plan', type: 'PlanError' } as const;
const PROBLEM = '_plan_problem';

export function addPlan(l: Lowering, next: NodeId): NodeId {
  const { plan } = l.staged;
  const { agent } = plan;
  const approved = l.builder.fresh(nameOf(l, 'plan.approved'));
  return addStage(l, {
    stage: plan,
    value: REQUEST,
    result: PLAN,
    approved,
    ...(agent === null
      ? { opening: [set(PLAN, `{"tasks": [{"id": "task", "brief": ${REQUEST}}]}`)] }
      : { body: (done, fail) => addPlanner(l, agent, done, fail) }),
    ...(plan.critic === null ? {} : { gather: [{ slot: CRITIQUE, mode: 'last' }] }),
    checks: (gate, _, then) => {
      // A person cannot approve a plan without tasks, or with too many.
      const taken = addTasks(l, 'approved.accept', next);
      l.kit.pick({ ...stepOf(l, 'plan', 'approved'), id: approved }, [], addWellFormed(l, gate, 'approved.', taken));
      const accepted = addTasks(l, 'accept', then);
      return addWellFormed(l, gate, '', addBriefs(l, gate, addCriticised(l, gate, accepted)));
    },
    next,
  });
}

/** The planner's turn, and the critic's if the plan is well-formed. */
function addPlanner(l: Lowering, agent: string, done: NodeId, fail: NodeId): NodeId {
  const { plan } = l.staged;
  const visitsMax = l.visits.plan * l.startsMax;
  const turn = { stage: plan, turn: quote('plan'), fail } as const;
  const runs = (of: string) => ({ of, max: visitsMax, label: `runs of the ${of}` });
  return addStageTurn(l, {
    ...turn,
    agent,
    hint: nameOf(l, 'plan.agent'),
    prompt: planPrompt(l.staged),
    samples: plansOf(l.staged),
    readsObject: true,
    result: PLAN,
    runs: runs('plan'),
    next: plan.critic === null ? done : addCritic(plan.critic),
  });

  function addCritic(critic: string): NodeId {
    const judge = addStageTurn(l, {
      ...turn,
      agent: critic,
      hint: nameOf(l, 'plan.critic'),
      prompt: criticPrompt(),
      schema: CRITIQUE_SCHEMA,
      result: CRITIQUE,
      turn: quote('plan.critic'),
      runs: runs('plan.critic'),
      next: done,
    });
    const step = (what: string) => stepOf(l, 'plan', `critic.${what}`);
    const judged = l.kit.when(step('judge'), `(${problem(l.staged)}) == null`, judge, done);
    return l.kit.set(step('read'), [set(PLAN, READ), set(CRITIQUE, 'null')], judged);
  }
}

/** Plans with one task, two tasks and so on, up to the limit. The longest has a task for each worker or team. */
function plansOf(staged: Staged): readonly Json[] {
  const { work } = staged;
  const workers = work.is === 'workers' ? work.agents : work.is === 'teams' ? work.teams.map(({ id }) => id) : [];
  const tasks = Array.from({ length: Math.max(3, workers.length) }, (_, index): Json => {
    const task = { id: `task${index + 1}`, brief: `Do part ${index + 1}.` };
    const worker = workers[index % workers.length];
    return worker === undefined ? task : { ...task, worker };
  });
  const most = Math.min(tasks.length, spawnMax(staged) ?? tasks.length);
  return tasks.slice(0, most).map((_, index) => ({ tasks: tasks.slice(0, index + 1) }));
}

const CRITIQUE_SCHEMA: Json = {
  type: 'object',
  properties: { ok: { type: 'boolean' }, problem: { type: ['string', 'null'] } },
  required: ['ok'],
};

/** A reply that is not an object by itself may have one in it. */
const READ: Expr = `type(${PLAN}) == string ? cel.bind(found, jsonIn(${PLAN}), found == null ? ${PLAN} : found) : ${PLAN}`;

function addTasks(l: Lowering, what: string, next: NodeId): NodeId {
  return l.kit.set(stepOf(l, 'plan', what), [set(TASKS, `${PLAN}.tasks`)], next);
}

/** The plan as an object, and the rules of a plan. */
function addWellFormed(l: Lowering, gate: Gate, hint: '' | 'approved.', next: NodeId): NodeId {
  const step = (what: string) => stepOf(l, 'plan', `${hint}${what}`);
  const spawn = spawnMax(l.staged);
  const malformed = addObjection(gate, `${hint}malformed`, { ...MALFORMED, reason: PROBLEM });
  const tooMany = addObjection(gate, `${hint}spawn`, {
    check: 'plan',
    type: 'SpawnError',
    reason: `text("the plan has ", size(${PLAN}.tasks), ${quote(` tasks, and at most ${spawn ?? 0} may be started`)})`,
  });
  const judged = l.kit.pick(
    step('judge'),
    [
      { when: `${PROBLEM} != null`, to: malformed },
      ...(spawn === null ? [] : [{ when: `size(${PLAN}.tasks) > ${spawn}`, to: tooMany }]),
    ],
    next,
  );
  const look = l.kit.set(step('problem'), [set(PROBLEM, problem(l.staged))], judged);
  return l.kit.set(step('read'), [set(PLAN, READ)], look);
}

/** A plan that the critic refuses is malformed, and the planner reads why. */
function addCriticised(l: Lowering, gate: Gate, next: NodeId): NodeId {
  if (l.staged.plan.critic === null) return next;
  const refused = addObjection(gate, 'criticised', {
    ...MALFORMED,
    check: 'critic',
    reason: `${CRITIQUE}.problem == null || ${CRITIQUE}.problem == "" ? "the critic did not accept the plan" : text("the critic did not accept the plan: ", ${CRITIQUE}.problem)`,
  });
  const when = `${CRITIQUE} != null && ${CRITIQUE}.ok != true`;
  return l.kit.when(stepOf(l, 'plan', 'criticised'), when, refused, next);
}

/** The first problem of a plan, as a sentence; null for a valid plan. */
function problem({ work }: Staged): Expr {
  const tasks = `${PLAN}.tasks`;
  const first = (which: Expr, words: Expr): readonly [Expr, Expr] => [
    `${tasks}.exists(t, ${which})`,
    `cel.bind(t, ${tasks}.filter(t, ${which})[0], ${words})`,
  ];
  const workers = work.is === 'workers' ? work.agents : work.is === 'teams' ? work.teams.map(({ id }) => id) : null;
  const rules: readonly (readonly [Expr, Expr])[] = [
    [`type(${PLAN}) != map || type(${tasks}) != list`, '"the reply is not a JSON object with a list `tasks`"'],
    [`size(${tasks}) == 0`, '"the plan has no tasks"'],
    [
      `${tasks}.exists(t, type(t) != map || type(t.id) != string || trim(t.id) == "" || t.brief == null || t.brief == "")`,
      '"every task needs an `id` and a `brief`"',
    ],
    first(`size(${tasks}.filter(o, o.id == t.id)) > 1`, 'text("two tasks have the id `", t.id, "`")'),
    ...(workers === null
      ? []
      : [
          first(
            `t.worker != null && !(t.worker in ${literal([...workers])})`,
            `text("task \`", t.id, "\` names the worker \`", t.worker, ${quote(`\`, and there are ${workers.join(', ')}`)})`,
          ),
        ]),
  ];
  return rules.reduceRight<Expr>((rest, [when, words]) => `${when} ? ${words} : (${rest})`, 'null');
}

/** The schema of the workers' input applies to every brief, or to every task as a whole. */
function addBriefs(l: Lowering, gate: Gate, next: NodeId): NodeId {
  const { input } = l.staged.working;
  if (input === null) return next;
  const listOf: Json = { type: 'array', items: input };
  const reason = `text("a brief does not fit its schema: ", ${CHECKED}.reason)`;
  const refusal = { ...MALFORMED, reason };
  const whole = addSchema(gate, { schema: listOf, value: `${PLAN}.tasks`, hint: 'tasks' }, next, refusal);
  const step = (what: string) => stepOf(l, 'plan', `briefs.${what}`);
  return l.kit.check(
    { ...step('check'), origin: nameOf(l, 'plan') },
    {
      check: 'policy:output',
      input: { schema: literal(listOf), answer: `${PLAN}.tasks.map(t, t.brief)` },
      into: CHECKED,
      next: l.kit.when(step('judged'), `${CHECKED}.ok == true`, next, whole),
      fail: whole,
    },
  );
}
