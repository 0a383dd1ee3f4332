/** Phases 1 to 4 and 6: what is wanted and by whom, what is turned away at once, and the state that the task begins with. */
import type { NodeId } from '../../../ir/nodes.ts';
import { OBSERVATIONS, TALK } from '../../lower/agent-turn/slots.ts';
import { literal, object, quote } from '../../expressions/cel-text.ts';
import { strictly } from '../../expressions/reads.ts';
import { addLet, addPick, addQuestion, idOf, NO_RETRY, stop } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Loop } from './model.ts';
import {
  BUDGET,
  CLAIMED,
  COMPRESSED,
  CROSSED,
  DOUBTS,
  DRAFTS,
  FINAL,
  FINISHED,
  GOAL,
  HEARD,
  INTENT,
  KIND,
  LACKING,
  PLAN,
  PLAN_PROBLEM,
  PROBLEM,
  RECALLED,
  REPAIRS,
  RESULTS,
  REVIEWED,
  SCOPE,
  SCRATCH,
  STEP,
  TASK,
  TOLD,
  TRIGGER,
  TURN,
  UNFOUNDED,
  VIOLATION,
  set,
} from './slots.ts';

/** Adds the way from the input to the plan; returns where it begins. */
export function addIntake(l: Lowering): NodeId {
  const { builder, loop } = l;
  const state = addLet(
    l,
    idOf(l, 'state_init'),
    'state_init',
    beginning(),
    loop.memory ? addRecall(l) : idOf(l, 'plan_selection'),
  );
  const policy = addGuards(l, idOf(l, 'policy_check'), 'policy_check', (code) => code !== 'UNSAFE_DETECTION', state);
  const scope = object([
    ['agent', quote(loop.executor)],
    ['tools', literal([...toolsOf(loop)])],
    ['profile', literal(loop.profile)],
  ]);
  const scoped = addLet(l, idOf(l, 'scope_resolution'), 'scope_resolution', [set(SCOPE, scope)], policy);
  const meant = loop.intents.length === 0 ? scoped : addIntents(l, scoped);
  const whole = loop.requires.length === 0 ? meant : addRequired(l, meant);
  const guarded = builder.fresh('goal.guards');
  const safe = addGuards(l, guarded, 'goal_intake', (code) => code === 'UNSAFE_DETECTION', whole);
  const goal = loop.goal === null ? 'text(input)' : quote(loop.goal);
  const lacking = `cel.bind(given, jsonIn(text(input)), ${literal([...loop.requires])}.filter(r, given == null || given[r] == null))`;
  const writes = [set(GOAL, goal), ...(loop.requires.length === 0 ? [] : [set(LACKING, lacking)])];
  return addLet(l, idOf(l, 'goal_intake'), 'goal_intake', writes, safe);
}

/** What was remembered of earlier runs is read before the plan; without it the run goes on all the same. */
function addRecall(l: Lowering): NodeId {
  const plan = idOf(l, 'plan_selection');
  const lost = addLet(l, l.builder.fresh('recall.failed'), 'state_init', [set('error', 'null')], plan);
  return l.builder.add(
    l.builder.fresh('recall'),
    {
      op: 'do',
      label: { name: 'state_init' },
      effect: { kind: 'check', check: 'memory.read', input: { owner: quote(l.loop.executor) }, reserve: {} },
      writes: [set(RECALLED, 'it')],
      timeoutMs: null,
      retry: NO_RETRY,
      next: plan,
      failed: [],
      fail: lost,
    },
    l.at,
  );
}

export function addBudgetAssign(l: Lowering): NodeId {
  const budget = literal(JSON.parse(JSON.stringify(l.loop.definitions.budgets ?? {})) as { [field: string]: number });
  return addLet(l, idOf(l, 'budget_assign'), 'budget_assign', [set(BUDGET, budget)], idOf(l, 'tool_eligibility'));
}

export function toolsOf(loop: Loop): readonly string[] {
  return loop.definitions.agents[loop.executor]?.tools ?? [];
}

/** The tools that change something. */
export function changingTools(loop: Loop): readonly string[] {
  return toolsOf(loop).filter((name) => loop.definitions.tools[name]?.effect !== 'read');
}

function beginning() {
  const empty = [PLAN, FINISHED, RESULTS, OBSERVATIONS, TALK, TOLD, CLAIMED].map((slot) => set(slot, '[]'));
  const zero = [TURN, DRAFTS, REPAIRS, DOUBTS, CROSSED, COMPRESSED].map((slot) => set(slot, '0'));
  const none = [STEP, PLAN_PROBLEM, SCRATCH, KIND, PROBLEM, TRIGGER, REVIEWED, FINAL, VIOLATION, UNFOUNDED].map(
    (slot) => set(slot, 'null'),
  );
  return [...empty, ...zero, ...none, set(TASK, '{"version": 1, "finished": 0}')];
}

/** One after the other. The way on is open only where it is certain that a guard does not hold. */
function addGuards(l: Lowering, first: NodeId, origin: string, which: (code: string) => boolean, open: NodeId): NodeId {
  const guards = l.loop.guards.filter(({ code }) => which(code));
  if (guards.length === 0) return addPick(l, first, origin, [], open);
  return guards.reduceRight((next, { when, code, reason }, index) => {
    const turnedAway = (message: string): NodeId =>
      stop(l, code, 'GuardError', quote(message), code === 'PERMISSION_DENIED' ? 'policy' : 'guardrail');
    const cases = [
      { when: strictly(when), to: turnedAway(reason) },
      { when: `!${strictly(when)}`, to: next },
    ];
    const id = index === 0 ? first : l.builder.fresh(`${first.replace(/^~/, '')}.next`);
    return addPick(l, id, origin, cases, turnedAway(`it cannot be told whether this holds: ${reason}`));
  }, open);
}

/** What is missing is asked for, and what an answer leaves out once more. Words that are no JSON are taken as they are. */
function addRequired(l: Lowering, next: NodeId): NodeId {
  const { builder, loop } = l;
  const missing = `text("Missing: ", join(${LACKING}, ", "))`;
  const stopped = stop(l, 'MISSING_INFO', 'MissingInput', missing);
  const whole = builder.fresh('goal.whole');
  const said = `(type(${HEARD}.edit) == map ? ${HEARD}.edit : ${HEARD}.text == null ? null : jsonIn(${HEARD}.text))`;
  const left = `cel.bind(given, ${said}, given == null ? [] : ${LACKING}.filter(r, given[r] == null))`;
  const told = addLet(
    l,
    builder.fresh('goal.told'),
    'goal_intake',
    [set(GOAL, `text(${GOAL}, "\\n", ${HEARD}.text == null ? ${HEARD}.edit : ${HEARD}.text)`), set(LACKING, left)],
    whole,
  );
  // As often as the loop may go round, which is what bounds every other question.
  const meter = builder.meter('requires', {
    unit: 'visits',
    max: Math.max(1, loop.rounds),
    over: stopped,
    label: 'budgets.steps',
  });
  const ask = loop.escalation.people
    ? addQuestion(l, {
        id: builder.fresh('goal.ask'),
        row: 'missing_input',
        about: 'missing_info',
        choices: ['respond', 'reject'],
        message: missing,
        payload: { fields: LACKING },
        charges: [meter],
        ways: { respond: told },
        otherwise: stopped,
      })
    : stopped;
  return addPick(l, whole, 'goal_intake', [{ when: `size(${LACKING}) > 0`, to: ask }], next);
}

/** Which of the readings hold; one is taken as it is, several are for somebody to choose among. */
function addIntents(l: Lowering, next: NodeId): NodeId {
  const { builder, loop } = l;
  const readings = `[${loop.intents.map(({ id, when }) => `(${when}) == true ? ${quote(id)} : ""`).join(', ')}].filter(i, i != "")`;
  const stopped = stop(l, 'AMBIGUOUS_INTENT', 'AmbiguousGoal', `text("The goal can mean: ", join(${INTENT}, ", "))`);
  const choose = (id: string): NodeId =>
    addLet(
      l,
      builder.fresh(`intent.${id}`),
      'classify_intent',
      [set(INTENT, literal([id])), set(GOAL, `text(${GOAL}, ${quote(`\nMeant is: ${id}`)})`)],
      next,
    );
  const ids = loop.intents.map(({ id }) => id);
  const ask = loop.escalation.people
    ? addQuestion(l, {
        id: builder.fresh('intent.ask'),
        row: 'ambiguous_goal',
        about: 'ambiguous_intent',
        choices: [...ids, 'reject'],
        message: `text("What is meant: ", join(${INTENT}, " or "), "?")`,
        payload: { readings: INTENT, goal: GOAL },
        ways: Object.fromEntries(ids.map((id) => [id, choose(id)])),
        otherwise: stopped,
      })
    : stopped;
  const judged = addPick(
    l,
    builder.fresh('intent.judge'),
    'classify_intent',
    [{ when: `size(${INTENT}) > 1`, to: ask }],
    next,
  );
  return addLet(l, builder.idOf('classify_intent'), 'classify_intent', [set(INTENT, readings)], judged);
}
