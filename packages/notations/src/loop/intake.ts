/** Phases 1 to 4 and 6: the goal, the scope, the guards that reject a goal, and the initial state of the task. */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import {
  OPEN,
  literal,
  object,
  quote,
  strictExpr,
  templateToExpr,
  withInputFields,
} from '@sluice-internal/compile/expressions';
import type { MemoryDef } from '@sluice-internal/compile/document';
import { readInput, set } from '@sluice-internal/compile/lower';
import { addQuestion, idOf, inWords, part, phase, stop, type Lowering } from './nodes.ts';
import type { Loop } from './model.ts';
import { BUDGET, GOAL, DECISION, INTENT, LACKING, RECALLED, SCOPE, initialState } from './state.ts';

/** Adds the nodes from the input to the plan; returns the first. */
export function addIntake(l: Lowering): NodeId {
  const { builder, loop } = l;
  const state = l.kit.set(
    phase(l, 'state_init'),
    initialState(),
    loop.memory === null ? idOf(l, 'plan_selection') : addRecall(l, loop.memory),
  );
  const policy = addGuards(l, idOf(l, 'policy_check'), 'policy_check', (code) => code !== 'UNSAFE_DETECTION', state);
  const scope = object([
    ['agent', quote(loop.executor)],
    ['tools', literal([...toolsOf(loop)])],
    ['profile', literal(loop.profile)],
  ]);
  const scoped = l.kit.set(phase(l, 'scope_resolution'), [set(SCOPE, scope)], policy);
  const meant = loop.intents.length === 0 ? scoped : addIntents(l, scoped);
  const whole = loop.requires.length === 0 ? meant : addRequired(l, meant);
  const guarded = builder.fresh('goal.guards');
  const safe = addGuards(l, guarded, 'goal_intake', (code) => code === 'UNSAFE_DETECTION', whole);
  const goal = loop.goal === null ? 'text(input)' : goalOf(loop.goal);
  const lacking = `cel.bind(given, jsonIn(text(input)), ${literal([...loop.requires])}.filter(r, given == null || given[r] == null))`;
  const writes = [set(GOAL, goal), ...(loop.requires.length === 0 ? [] : [set(LACKING, lacking)])];
  return l.kit.set(phase(l, 'goal_intake'), writes, safe);
}

/** The goal as text, with the values of the input that it names. */
function goalOf(goal: string): Expr {
  return goal.includes(OPEN) ? `text(${templateToExpr(goal, withInputFields)})` : quote(goal);
}

/** Reads memory before the plan. If that fails, the run goes on without it. */
function addRecall(l: Lowering, memory: MemoryDef): NodeId {
  const plan = idOf(l, 'plan_selection');
  const lost = l.kit.set(part('state_init', 'recall.failed'), [set('error', 'null')], plan);
  return l.kit.check(part('state_init', 'recall'), {
    check: 'memory.read',
    input: readInput(l.loop.executor, memory, GOAL),
    into: RECALLED,
    next: plan,
    fail: lost,
  });
}

export function addBudgetAssign(l: Lowering): NodeId {
  const budget = literal(JSON.parse(JSON.stringify(l.loop.definitions.budgets ?? {})) as { [field: string]: number });
  return l.kit.set(phase(l, 'budget_assign'), [set(BUDGET, budget)], idOf(l, 'tool_eligibility'));
}

export function toolsOf(loop: Loop): readonly string[] {
  return loop.definitions.agents[loop.executor]?.tools ?? [];
}

/** The tools that change something. */
export function changingTools(loop: Loop): readonly string[] {
  return toolsOf(loop).filter((name) => !onlyReads(loop.definitions.tools[name]?.effect));
}

/** Guards in order. The run goes on only if every guard is known not to hold. */
function addGuards(l: Lowering, first: NodeId, origin: string, which: (code: string) => boolean, open: NodeId): NodeId {
  const guards = l.loop.guards.filter(({ code }) => which(code));
  if (guards.length === 0) return l.kit.pick({ id: first, origin }, [], open);
  return guards.reduceRight((next, { when, code, reason }, index) => {
    const rejected = (message: string): NodeId =>
      stop(l, code, 'GuardError', quote(message), code === 'PERMISSION_DENIED' ? 'policy' : 'guardrail');
    const cases = [
      { when: strictExpr(when), to: rejected(reason) },
      { when: `!${strictExpr(when)}`, to: next },
    ];
    const id = index === 0 ? first : l.builder.fresh(`${first.replace(/^~/, '')}.next`);
    return l.kit.pick({ id, origin }, cases, rejected(`this guard cannot be evaluated: ${reason}`));
  }, open);
}

/** The run asks for missing fields, and asks again for any the answer omits. An answer that is not JSON is taken as it is. */
function addRequired(l: Lowering, next: NodeId): NodeId {
  const { builder, loop } = l;
  const missing = `text("Missing: ", join(${LACKING}, ", "))`;
  const stopped = stop(l, 'MISSING_INFO', 'MissingInput', missing);
  const whole = builder.fresh('goal.whole');
  const fields = `(type(${DECISION}.edit) == map ? ${DECISION}.edit : ${DECISION}.text == null ? null : jsonIn(${DECISION}.text))`;
  const left = `cel.bind(given, ${fields}, given == null ? [] : ${LACKING}.filter(r, given[r] == null))`;
  const answered = l.kit.set(
    part('goal_intake', 'goal.answered'),
    [
      set(GOAL, `text(${GOAL}, "\\n", ${DECISION}.text == null ? ${DECISION}.edit : ${DECISION}.text)`),
      set(LACKING, left),
    ],
    whole,
  );
  // Bounded like every other question: by the rounds of the loop.
  const meter = l.kit.visits('requires', Math.max(1, loop.rounds), stopped, 'budgets.steps');
  const ask = loop.escalation.people
    ? addQuestion(l, {
        hint: 'goal.ask',
        row: 'missing_input',
        about: 'missing_info',
        choices: [inWords('respond'), 'reject'],
        message: missing,
        payload: { fields: LACKING },
        charges: [meter],
        ways: { respond: answered },
        otherwise: stopped,
      })
    : stopped;
  return l.kit.when({ id: whole, origin: 'goal_intake' }, `size(${LACKING}) > 0`, ask, next);
}

/** Finds the intents that match the goal. If several match, a person chooses. */
function addIntents(l: Lowering, next: NodeId): NodeId {
  const { builder, loop } = l;
  const readings = `[${loop.intents.map(({ id, when }) => `(${when}) == true ? ${quote(id)} : ""`).join(', ')}].filter(i, i != "")`;
  const stopped = stop(l, 'AMBIGUOUS_INTENT', 'AmbiguousGoal', `text("The goal can mean: ", join(${INTENT}, ", "))`);
  const choose = (id: string): NodeId =>
    l.kit.set(
      part('classify_intent', `intent.${id}`),
      [set(INTENT, literal([id])), set(GOAL, `text(${GOAL}, ${quote(`\nMeant is: ${id}`)})`)],
      next,
    );
  const ids = loop.intents.map(({ id }) => id);
  const described = loop.intents.map(({ id, description }) => ({ id, description }));
  const ask = loop.escalation.people
    ? addQuestion(l, {
        hint: 'intent.ask',
        row: 'ambiguous_goal',
        about: 'ambiguous_intent',
        choices: [...ids, 'reject'],
        message: `text("What is meant: ", join(${literal(described)}.filter(d, d.id in ${INTENT}).map(d, d.id == d.description ? d.id : text(d.id, " (", d.description, ")")), " or "), "?")`,
        payload: {
          readings: INTENT,
          goal: GOAL,
          descriptions: `${literal(described)}.filter(d, d.id in ${INTENT})`,
        },
        ways: Object.fromEntries(ids.map((id) => [id, choose(id)])),
        otherwise: stopped,
      })
    : stopped;
  const judged = l.kit.when(part('classify_intent', 'intent.judge'), `size(${INTENT}) > 1`, ask, next);
  return l.kit.set({ id: builder.idOf('classify_intent'), origin: 'classify_intent' }, [set(INTENT, readings)], judged);
}
