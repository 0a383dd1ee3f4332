/**
 * Phase 5. A plan is a list of steps; a step names the steps it waits for. The plan is validated against tools and budgets
 * before anything runs. An invalid plan goes back to the planner with the exact problem, up to `plan.repairs` times.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { IF_OBJECT, OBSERVATIONS, heardBy, hearsAs, set } from '@sluice-internal/compile/lower';
import { literal } from '@sluice-internal/compile/expressions';
import { mayAsk } from '@sluice-internal/compile/document';
import { addGroundingCheck } from './ground.ts';
import { changingTools, toolsOf } from './intake.ts';
import { addModel, addQuestion, failedTrace, idOf, inWords, part, stop, type Lowering } from './nodes.ts';
import type { Loop } from './model.ts';
import {
  DRAFTS,
  FINISHED,
  GOAL,
  DECISION,
  PLAN,
  PLAN_PROBLEM,
  REMARKED,
  REPAIRS,
  RESULTS,
  SINCE,
  TRIGGER,
  TURN,
  VIOLATION,
} from './state.ts';
import { evidenceMessages, planPrompt } from './prompts.ts';

const DRAFT = 'draft';
const STEPS = `${DRAFT}.steps`;
/** The status in a reply without a plan. */
const DRAFT_STATUS = `lower(trim(text(${DRAFT}.status)))`;
/** Steps of the draft that can never start. */
const STUCK = 'draft_stuck';

/** Adds the phase; the plan is in `plan` when the budget is assigned. */
export function addPlan(l: Lowering): void {
  const { loop, builder } = l;
  const begin = idOf(l, 'plan_selection');
  if (loop.planner === null) {
    l.kit.set({ id: begin, origin: 'plan_selection' }, [set(PLAN, '[{"id": "goal"}]')], idOf(l, 'budget_assign'));
    return;
  }
  const accepted = l.kit.set(
    part('plan_validation', 'plan.accept'),
    [
      set(PLAN, `${DRAFT}.steps`),
      set(PLAN_PROBLEM, 'null'),
      set(REPAIRS, '0'),
      set(TRIGGER, 'null'),
      set(SINCE, `${TURN} + 1`),
    ],
    idOf(l, 'budget_assign'),
  );
  const agreed = loop.plan.approve ? addApproval(l, accepted) : accepted;
  const judged = addJudgement(l, begin, agreed);
  const validated = l.kit.set(
    { id: builder.idOf('plan_validation'), origin: 'plan_validation' },
    [set(PLAN_PROBLEM, problem(loop)), set(VIOLATION, 'null')],
    l.kit.when(
      part('plan_validation', 'plan.look'),
      `type(${DRAFT}) == map && ${DRAFT}.status != null`,
      addWordsCheck(l, judged),
      judged,
    ),
  );
  const ordered = l.kit.set(
    part('plan_validation', 'plan.order'),
    [set(DRAFTS, `${DRAFTS} + 1`), set(STUCK, stuck(loop.plan.stepsMax))],
    validated,
  );
  addModel(l, {
    id: begin,
    origin: 'plan_selection',
    agent: loop.planner,
    enters: true,
    hears: hearsAs(loop.planner, [REMARKED]),
    input: { prompt: planPrompt(loop), messages: `${evidenceMessages()} + ${heardBy(loop.planner)}` },
    writes: [{ slot: DRAFT, mode: 'object', value: 'it.text' }],
    fit: IF_OBJECT,
    next: ordered,
    fail: l.kit.set(part('plan_selection', 'plan.failed'), [], failedTrace(l)),
  });
}

/** Sends the draft on: back to the planner, to a person, to its end, or to `agreed`. */
function addJudgement(l: Lowering, begin: NodeId, agreed: NodeId): NodeId {
  const unfounded = l.kit.set(part('plan_validation', 'plan.unfounded'), [set(PLAN_PROBLEM, VIOLATION)], addRepair(l));
  return l.kit.pick(
    part('plan_validation', 'plan.judge'),
    [
      ...(l.loop.grounding.onViolation === 'mark' ? [] : [{ when: `${VIOLATION} != null`, to: unfounded }]),
      {
        when: `${DRAFT_STATUS} == "impossible"`,
        to: stop(l, 'IMPOSSIBLE', 'PlanAbandoned', `text("The plan was given up: ", ${DRAFT}.reason)`),
      },
      { when: `${DRAFT_STATUS} in ["missing_info", "ambiguous"]`, to: addClarification(l, begin) },
      { when: `${PLAN_PROBLEM} == null`, to: agreed },
    ],
    addRepair(l),
  );
}

/** A planner that asks or gives up writes a text for people, which is checked like any other. */
function addWordsCheck(l: Lowering, next: NodeId): NodeId {
  return addGroundingCheck(l, {
    hint: 'plan.grounding',
    origin: 'plan_validation',
    what: 'the planner',
    reply: DRAFT,
    given: [],
    into: VIOLATION,
    next,
  });
}

/** Sends an invalid plan back to the planner, until `plan.repairs` is used up. */
export function addRepair(l: Lowering): NodeId {
  const { builder, loop } = l;
  const id = builder.idOf('repair');
  if (builder.has(id)) return id;
  const given = stop(
    l,
    'REPEATED_FAILURE',
    'PlanAbandoned',
    `text("The plan was given up after ${loop.plan.repairs} repairs: ", ${PLAN_PROBLEM})`,
  );
  const meter = l.kit.visits('plan.repairs', loop.plan.repairs, given, 'plan.repairs');
  return l.kit.set({ id, origin: 'repair', charges: [meter] }, [], idOf(l, 'plan_selection'));
}

/** The first open step whose prerequisites are finished. */
export function readyStep(): Expr {
  const ready = `${PLAN}.filter(s, !(s.id in ${FINISHED}) && (s.after == null || s.after.all(a, a in ${FINISHED})) && (s.parent == null || s.parent in ${FINISHED}))`;
  return `cel.bind(ready, ${ready}, size(ready) == 0 ? null : ready[0])`;
}

function addApproval(l: Lowering, next: NodeId): NodeId {
  return addQuestion(l, {
    hint: 'plan.approval',
    row: 'high_impact_mutation',
    about: 'plan',
    choices: ['approve', { name: 'edit', edit: planSchema(l.loop), needs: 'edit' }, 'reject'],
    message: `text("A plan of ", size(${DRAFT}.steps), " steps waits for approval.")`,
    payload: {
      goal: GOAL,
      plan: `{"steps": ${DRAFT}.steps}`,
      steps: `${DRAFT}.steps`,
      tool: `join(${DRAFT}.steps.filter(s, s.tool != null).map(s, s.tool), ", ")`,
      args: 'null',
      touches: `${DRAFT}.steps.filter(s, s.tool in ${literal([...changingTools(l.loop)])}).map(s, s.tool)`,
      rollback: 'null',
    },
    ways: { approve: next, edit: addEdited(l, next) },
    otherwise: stop(l, 'CONFIRM_REQUIRED', 'NotApproved', '"The plan was not approved."', 'policy'),
  });
}

/** The plan of a person takes the place of the draft. If it is not valid, the planner makes another. */
function addEdited(l: Lowering, next: NodeId): NodeId {
  const valid = l.kit.when(part('plan_validation', 'plan.edited.judge'), `${PLAN_PROBLEM} == null`, next, addRepair(l));
  const checked = l.kit.set(part('plan_validation', 'plan.edited.check'), [set(PLAN_PROBLEM, problem(l.loop))], valid);
  const ordered = l.kit.set(
    part('plan_validation', 'plan.edited.order'),
    [set(STUCK, stuck(l.loop.plan.stepsMax))],
    checked,
  );
  return l.kit.set(part('plan_validation', 'plan.edited'), [set(DRAFT, `${DECISION}.edit`)], ordered);
}

/** A plan as a person may write it. */
function planSchema(loop: Loop): Json {
  const step = {
    type: 'object',
    properties: { id: { type: 'string' }, do: { type: 'string' }, tool: { enum: [...toolsOf(loop), null] } },
    required: ['id', 'do'],
  };
  return { type: 'object', properties: { steps: { type: 'array', minItems: 1, items: step } }, required: ['steps'] };
}

function addClarification(l: Lowering, again: NodeId): NodeId {
  const stopped = stop(l, 'MISSING_INFO', 'PlanAbandoned', `text("The planner asks: ", ${DRAFT}.question)`);
  const { escalation, definitions, planner } = l.loop;
  if (!escalation.people || !mayAsk(definitions, planner ?? l.loop.executor)) return stopped;
  const answered = l.kit.set(
    part('ask_user', 'plan.answered'),
    [set(GOAL, `text(${GOAL}, "\\n", ${DECISION}.text == null ? ${DECISION}.edit : ${DECISION}.text)`)],
    again,
  );
  return addQuestion(l, {
    hint: 'plan.ask',
    row: 'missing_input',
    about: 'missing_info',
    choices: [inWords('respond'), 'reject'],
    message: `text(${DRAFT}.question)`,
    payload: { goal: GOAL, fields: `${DRAFT}.fields` },
    ways: { respond: answered },
    otherwise: stopped,
  });
}

/** The first problem of the draft, as a sentence; null for a valid plan. */
function problem(loop: Loop): Expr {
  const steps = STEPS;
  const tools = toolsOf(loop);
  const first = (which: Expr, words: Expr): readonly [Expr, Expr] => [
    `${steps}.exists(s, ${which})`,
    `cel.bind(s, ${steps}.filter(s, ${which})[0], ${words})`,
  ];
  const among = (expr: Expr): Expr => `cel.bind(known, ${steps}.map(t, t.id) + ${FINISHED}, ${expr})`;
  const stranger = (which: Expr, verb: string, id: Expr): readonly [Expr, Expr] => {
    const [when, words] = first(
      which,
      `text("step \`", s.id, "\` ${verb} \`", ${id}, "\`, which is not a step of this plan")`,
    );
    return [among(when), among(words)];
  };
  const rules: readonly Rule[] = [
    [`type(${DRAFT}) != map || type(${steps}) != list`, '"the reply is not a JSON object with a list `steps`"'],
    [`size(${steps}) == 0`, '"the plan has no steps"'],
    [
      `size(${steps}) > ${loop.plan.stepsMax}`,
      `text("the plan has ", size(${steps}), " steps, and at most ${loop.plan.stepsMax} are allowed")`,
    ],
    [
      `${steps}.exists(s, type(s) != map || type(s.id) != string || type(s.do) != string)`,
      '"every step needs an `id`, and a task in `do`"',
    ],
    first(`size(${steps}.filter(t, t.id == s.id)) > 1`, 'text("two steps have the id `", s.id, "`")'),
    first(
      `${RESULTS}.exists(r, r.id == s.id && lower(trim(r.do)) != lower(trim(s.do)))`,
      'text("step `", s.id, "` has the id of a finished step: give it another id")',
    ),
    first(
      `size(${steps}.filter(t, lower(trim(t.do)) == lower(trim(s.do)) && t.tool == s.tool)) > 1`,
      'text("step `", s.id, "` repeats what another step does")',
    ),
    first(
      `s.tool != null && !(s.tool in ${literal([...tools])})`,
      'text("step `", s.id, "` needs the tool `", s.tool, "`, which is not granted")',
    ),
    first(`s.after != null && type(s.after) != list`, 'text("`after` of step `", s.id, "` is not a list")'),
    stranger('s.after != null && s.after.exists(a, !(a in known))', 'waits for', 's.after.filter(a, !(a in known))[0]'),
    stranger('s.parent != null && !(s.parent in known)', 'belongs to', 's.parent'),
    [`size(${STUCK}) > 0`, `text("these steps wait for each other in a cycle: ", join(${STUCK}, ", "))`],
    first(
      `s.parent != null && ${steps}.exists(p, p.id == s.parent && p.parent != null)`,
      'text("step `", s.id, "` is nested deeper than 2")',
    ),
    first(`s.parent != null && s.done_when == null`, 'text("subtask `", s.id, "` does not say when it is done")'),
    ...budgetRules(loop),
  ];
  return rules.reduceRight<Expr>((rest, [when, words]) => `${when} ? ${words} : (${rest})`, 'null');
}

/** A condition for an invalid plan, and its message. */
type Rule = readonly [Expr, Expr];

function budgetRules(loop: Loop): readonly Rule[] {
  const steps = `${STEPS}.filter(s, !(s.id in ${FINISHED}))`;
  const budgets = loop.definitions.budgets ?? {};
  const changing = changingTools(loop);
  const rules: Rule[] = [];
  if (budgets.steps !== undefined)
    rules.push([
      `size(${steps}) + ${TURN} + ${DRAFTS} > ${budgets.steps}`,
      `text("the plan has ", size(${steps}), " steps, and the budget leaves ", ${budgets.steps} - ${TURN} - ${DRAFTS})`,
    ]);
  if (budgets.tool_calls !== undefined)
    rules.push([
      `size(${steps}.filter(s, s.tool != null)) + size(${OBSERVATIONS}) > ${budgets.tool_calls}`,
      `text("the plan calls tools ", size(${steps}.filter(s, s.tool != null)), " times, and the budget leaves ", ${budgets.tool_calls} - size(${OBSERVATIONS}))`,
    ]);
  if (budgets.side_effects !== undefined)
    rules.push([
      `size(${steps}.filter(s, s.tool in ${literal([...changing])})) > ${budgets.side_effects}`,
      `text("the plan changes something ", size(${steps}.filter(s, s.tool in ${literal([...changing])})), " times, and the budget allows ${budgets.side_effects}")`,
    ]);
  return rules;
}

/** Removes steps whose prerequisites were removed, round by round; the rest form a cycle. */
function stuck(rounds: number): Expr {
  const steps = `${DRAFT}.steps`;
  const next = (done: string): Expr =>
    `size(${done}) == size(${steps}) ? ${done} : ${steps}.filter(s, (s.after == null || s.after.all(a, a in ${done} + ${FINISHED})) && (s.parent == null || s.parent in ${done} + ${FINISHED})).map(s, s.id)`;
  let left = `${steps}.filter(s, !(s.id in done${rounds})).map(s, s.id)`;
  for (let round = rounds; round > 0; round--) left = `cel.bind(done${round}, ${next(`done${round - 1}`)}, ${left})`;
  const sound = `type(${DRAFT}) == map && type(${steps}) == list && size(${steps}) <= ${rounds} && ${steps}.all(s, type(s) == map && (s.after == null || type(s.after) == list))`;
  return `${sound} ? cel.bind(done0, [], ${left}) : []`;
}
