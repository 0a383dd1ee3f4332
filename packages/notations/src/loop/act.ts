/** Phases 7 to 9: the eligible tools, the model's choice, and the calls, which every notation makes alike. */
import type { Case, NodeId } from '@sluice-internal/kernel/ir';
import {
  REMARK,
  OBSERVATIONS,
  REPLIED,
  REPLY,
  TALK,
  WHOLE_IF_OBJECT,
  addCalls,
  append,
  hearsAs,
  set,
  untrustedEntries,
  allEntries,
  withheldEntries,
} from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { toolsOf } from './intake.ts';
import { addModel, failedTrace, idOf, part, phase, stop, type Lowering } from './nodes.ts';
import { addRepair, readyStep } from './plan.ts';
import {
  COMPRESSED,
  FINISHED,
  KIND,
  PLAN,
  PLAN_PROBLEM,
  PROBLEM,
  RECALLED,
  REMARKED,
  SINCE,
  STEP,
  TRIGGER,
  TURN,
} from './state.ts';
import { DROP_TALK, actionMessages, actionPrompt } from './prompts.ts';

/** `budgets.steps` bounds the tool rounds, and a person may raise it. This limit only proves that the graph ends. */
const ROUNDS_MAX = 10_000;

export function addAction(l: Lowering): void {
  const { loop } = l;
  const invoke = addInvocation(l);
  const planned = loop.planner !== null;
  const strangers = `${REPLY}.toolCalls.filter(c, !(c.name in ${PLAN}.filter(s, s.tool != null).map(s, s.tool)))`;
  const diverged = (): NodeId =>
    l.kit.set(
      part('plan_divergence', 'diverged'),
      [
        set(KIND, '"divergence"'),
        set(TRIGGER, '"divergence"'),
        set(
          PROBLEM,
          `text("The agent wants to call ", join(${strangers}.map(c, c.name), ", "), ", which no step of the plan names.")`,
        ),
      ],
      idOf(l, 'reflection_trigger'),
    );
  const look = l.kit.pick(
    part('action_selection', 'action.look'),
    [
      { when: `size(${REPLY}.toolCalls) == 0`, to: idOf(l, 'observation_grounding') },
      ...(planned ? [{ when: `size(${strangers}) > 0`, to: diverged() }] : []),
    ],
    invoke,
  );
  const act = addModel(l, {
    id: idOf(l, 'action_selection'),
    origin: 'action_selection',
    agent: loop.executor,
    enters: true,
    hears: hearsAs(loop.executor, [append(TALK, REMARK), REMARKED]),
    input: { prompt: actionPrompt(loop), messages: actionMessages(loop) },
    writes: REPLIED,
    fit: WHOLE_IF_OBJECT,
    next: look,
    fail: l.kit.set(part('action_selection', 'action.failed'), [], failedTrace(l)),
  });
  const pressed = addPressure(l, act);
  const ready = planned ? addReady(l, pressed) : pressed;
  const writes = [
    set(TURN, `${TURN} + 1`),
    set(STEP, planned ? readyStep() : `${PLAN}[0]`),
    set('eligible', literal([...toolsOf(loop)])),
  ];
  l.kit.set(phase(l, 'tool_eligibility'), writes, ready);
}

/** The first node of the calls; a person's approval of a divergence leads here too. */
export function addInvocation(l: Lowering): NodeId {
  const { builder, loop } = l;
  const id = idOf(l, 'tool_invocation');
  if (builder.has(id)) return id;
  const endless = stop(
    l,
    'BUDGET_EXHAUSTED',
    'BudgetError',
    quote('there were too many rounds of tool calls'),
    'budget',
  );
  const { loop: watch } = loop.definitions.protections;
  const calls = addCalls(
    l.kit,
    {
      agent: loop.executor,
      hint: 'act',
      origin: 'tool_invocation',
      authored: loop.executor,
      ...(loop.memory === null
        ? {}
        : {
            recalled: untrustedEntries(RECALLED),
            withheld: withheldEntries(RECALLED),
            remembered: allEntries(RECALLED),
          }),
      input: {},
      tools: toolsOf(loop),
      roundsMax: ROUNDS_MAX,
      begin: idOf(l, 'action_selection'),
      roundsEach: 1,
      loop: watch === null ? null : { ...watch, ...loop.breaker },
      acrossTurns: true,
      visitsMax: 1,
      refused: failedTrace(l),
      next: endless,
    },
    idOf(l, 'observation_grounding'),
    endless,
  );
  return l.kit.set({ id, origin: 'tool_invocation' }, [set(TRIGGER, 'null')], calls);
}

/** If no step can start, the plan is invalid. */
function addReady(l: Lowering, next: NodeId): NodeId {
  const stuck = l.kit.set(
    part('plan_validation', 'plan.stuck'),
    [set(PLAN_PROBLEM, `text("no step can start; finished steps: ", ${FINISHED})`)],
    addRepair(l),
  );
  return l.kit.pick(
    part('tool_eligibility', 'plan.ready'),
    [{ when: `${STEP} == null`, to: stuck }, ...unaffordable(l)],
    next,
  );
}

/** Stops a plan whose open steps need more tool calls than the budget leaves. A person who may grant more is asked later. */
function unaffordable(l: Lowering): readonly Case[] {
  const limit = l.loop.definitions.budgets?.tool_calls;
  const { people, expansions } = l.loop.escalation;
  if (limit === undefined || (people && expansions > 0)) return [];
  const made = `size(${OBSERVATIONS}.filter(o, o.refused == null))`;
  const called = `${OBSERVATIONS}.exists(o, o.ok && o.tool == ${STEP}.tool && o.turn >= ${SINCE})`;
  const open = `size(${PLAN}.filter(s, s.tool != null && !(s.id in ${FINISHED}) && !(s.id == ${STEP}.id && ${called})))`;
  const message = `text("budgets.tool_calls leaves ", ${limit} - ${made}, " calls, and the open steps of the plan need ", ${open})`;
  return [{ when: `${made} + ${open} > ${limit}`, to: stop(l, 'BUDGET_EXHAUSTED', 'BudgetError', message, 'budget') }];
}

/**
 * Compression under context pressure: the talk is dropped, and from then on the prompt shows the state in full. No gate reads
 * the talk, so dropping it changes no decision.
 */
function addPressure(l: Lowering, next: NodeId): NodeId {
  const { at, window } = l.loop.compression;
  if (window === null) return next;
  // Reservations count three characters per token.
  const chars = Math.floor(window * at * 3);
  const dropped = l.kit.set(
    { id: l.builder.idOf('context_compression'), origin: 'context_compression' },
    [...DROP_TALK, set(COMPRESSED, `${COMPRESSED} + 1`)],
    next,
  );
  const full = `size(${TALK}) > 1 && size(text(${TALK})) + size(${actionPrompt(l.loop)}) > ${chars}`;
  return l.kit.when(part('context_compression', 'context.look'), full, dropped, next);
}
