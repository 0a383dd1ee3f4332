/** Phases 7 to 9: what may be called, what the agent chooses, and the calls themselves, which every notation makes alike. */
import type { NodeId } from '../../../ir/nodes.ts';
import { addCalls } from '../../lower/agent-turn/calls.ts';
import { REPLY, TALK } from '../../lower/agent-turn/slots.ts';
import { told } from '../../lower/agent-turn/told.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { toolsOf } from './intake.ts';
import { addLet, addModel, addPick, failedTrace, idOf, stop } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { addRepair, readyStep } from './plan.ts';
import { COMPRESSED, FINISHED, KIND, PLAN, PLAN_PROBLEM, PROBLEM, STEP, TRIGGER, TURN, append, set } from './slots.ts';
import { actionPrompt } from './text.ts';

/** The tool rounds are bounded by steps, which somebody may raise; this only closes the cycle for whoever checks the graph. */
const ROUNDS_MAX = 10_000;

export function addAction(l: Lowering): void {
  const { builder, loop } = l;
  const invoke = addInvocation(l);
  const planned = loop.planner !== null;
  const strangers = `${REPLY}.toolCalls.filter(c, !(c.name in ${PLAN}.filter(s, s.tool != null).map(s, s.tool)))`;
  const diverged = (): NodeId =>
    addLet(
      l,
      builder.fresh('diverged'),
      'plan_divergence',
      [
        set(KIND, '"divergence"'),
        set(TRIGGER, '"divergence"'),
        set(PROBLEM, `text("The plan does not name: ", join(${strangers}.map(c, c.name), ", "))`),
      ],
      idOf(l, 'reflection_trigger'),
    );
  const look = addPick(
    l,
    builder.fresh('action.look'),
    'action_selection',
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
    input: { prompt: actionPrompt(loop), messages: TALK },
    writes: [
      set(REPLY, 'it'),
      append(TALK, { role: quote('assistant'), content: 'it.text', toolCalls: 'it.toolCalls' }),
    ],
    next: look,
    fail: addLet(l, builder.fresh('action.failed'), 'action_selection', [], failedTrace(l)),
  });
  const pressed = addPressure(l, act);
  const ready = planned ? addReady(l, pressed) : pressed;
  const writes = [
    set(TURN, `${TURN} + 1`),
    set(STEP, planned ? readyStep() : `${PLAN}[0]`),
    set('eligible', literal([...toolsOf(loop)])),
  ];
  addLet(l, idOf(l, 'tool_eligibility'), 'tool_eligibility', writes, ready);
}

/** Where the calls begin, also for what a person has let pass. */
export function addInvocation(l: Lowering): NodeId {
  const { builder, loop, at } = l;
  const id = idOf(l, 'tool_invocation');
  if (builder.has(id)) return id;
  const endless = stop(l, 'BUDGET_EXHAUSTED', 'BudgetError', quote('there were too many rounds of calls'), 'budget');
  const calls = addCalls(
    builder,
    {
      agent: loop.executor,
      hint: 'act',
      origin: 'tool_invocation',
      authored: loop.executor,
      people: loop.escalation.people,
      at,
      input: {},
      tools: toolsOf(loop),
      roundsMax: ROUNDS_MAX,
      breaker: null,
      visitsMax: 1,
      refused: failedTrace(l),
      next: endless,
    },
    idOf(l, 'observation_grounding'),
    endless,
  );
  return addLet(l, id, 'tool_invocation', [set(TRIGGER, 'null')], calls);
}

/** Steps that wait for each other for ever are a fault of the plan. */
function addReady(l: Lowering, next: NodeId): NodeId {
  const stuck = addLet(
    l,
    l.builder.fresh('plan.stuck'),
    'plan_validation',
    [set(PLAN_PROBLEM, `text("no step can go on; finished are ", ${FINISHED})`)],
    addRepair(l),
  );
  return addPick(l, l.builder.fresh('plan.ready'), 'tool_eligibility', [{ when: `${STEP} == null`, to: stuck }], next);
}

/**
 * The context pressure gate. What was said is dropped; what is known stays where it is, and from then on the prompt shows it.
 * Gates read the state and never the talk, so that dropping it changes no outcome.
 */
function addPressure(l: Lowering, next: NodeId): NodeId {
  const { at, window } = l.loop.compression;
  if (window === null) return next;
  // Three characters a token is what a reservation counts with.
  const chars = Math.floor(window * at * 3);
  const dropped = addLet(
    l,
    l.builder.idOf('context_compression'),
    'context_compression',
    [set(TALK, '[]'), set(COMPRESSED, `${COMPRESSED} + 1`)],
    next,
  );
  const full = `size(${TALK}) > 1 && size(text(${TALK})) + size(${actionPrompt(l.loop)}) > ${chars}`;
  return addPick(l, l.builder.fresh('context.look'), 'context_compression', [{ when: full, to: dropped }], next);
}

/** What the breaker says to a call that only repeats what was called before. */
export function blockedCall(l: Lowering): NodeId {
  const { builder, loop } = l;
  const message = '"[BLOCKED] the same call was made too often; try something else"';
  return addLet(
    l,
    builder.fresh('blocked'),
    'breaker',
    told(loop.executor, message, { ok: 'false', error: '"repeated call"' }),
    builder.end({ state: 'completed', code: 'SUCCESS' }),
  );
}
