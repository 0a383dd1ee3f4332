/** `magentic`: a manager model makes a plan, then chooses and instructs one agent each round and judges the progress. */
import type * as z from 'zod';
import { mayDecide, planDenied, bool, int, record, text } from '@sluice-internal/compile/document';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import type { Expr, NodeId, Write, ToolDef } from '@sluice-internal/kernel/ir';
import { REPLY, set, setField } from '@sluice-internal/compile/lower';
import { quote } from '@sluice-internal/compile/expressions';
import type { Json } from '@sluice-internal/kernel/expr';
import { agentShape, agentShapes, guarded } from '../drawing.ts';
import { addBadTurn, badTurns, type Site } from '../bad-turn.ts';
import { exhausted, part, success, type Lowering, type Place } from '../lowering.ts';
import { ANSWER, BAD, NOTE, OUTPUT, MESSAGE, lined, remark, tell } from '../slots.ts';
import { addTurnOf } from '../turn.ts';
import { model } from '../schema/agents.ts';
import { chooserDef, reserve, addAsk, hasTwin, roster } from './chooser.ts';
import { lacking, strategy } from './strategy.ts';
import { recent } from './llm.ts';

export const magentic = strategy({
  type: 'magentic',
  fields: () => ({ Magentic: magenticSchema.optional().describe('Of `magentic`: the manager and its limits.') }),
  endsItself: true,
  read({ Magentic: raw }, reading, team) {
    if (raw === undefined) return lacking(reading, 'magentic', 'Magentic');
    reserve(reading, team, MANAGER);
    if (mayDecide(team.definitions, MANAGER, 'plan')) return raw;
    const { message, help } = planDenied(MANAGER);
    reading.report.error('not-granted', reading.at('Selection', 'Magentic'), message, { help });
    return null;
  },
  turnsMax: (raw) => (1 + raw.MaxResetCount) * raw.MaxRoundCount,
  asks: (raw, team) => ({
    agents: [
      chooserDef(team, MANAGER, raw.Model, raw.Instructions ?? MANAGER_INSTRUCTIONS, Object.keys(MAGENTIC_TOOLS)),
    ],
    tools: MAGENTIC_TOOLS,
  }),
  lower: lowerMagentic,
  draw: (raw, team) => ({
    nodes: [
      START,
      ...(raw.EnablePlanReview ? [agentShape('~plan', 'plan', MANAGER)] : []),
      agentShape(MANAGER, MANAGER, MANAGER),
      ...agentShapes(team),
      END,
    ],
    edges: [
      ...(raw.EnablePlanReview
        ? [edgeShape(START.id, '~plan'), guarded(edgeShape('~plan', MANAGER), [], true)]
        : [edgeShape(START.id, MANAGER)]),
      ...team.names.flatMap((agent) => [edgeShape(MANAGER, agent, agent), edgeShape(agent, MANAGER, null, true)]),
      edgeShape(MANAGER, END.id, 'task complete'),
    ],
    cycles: [{ nodes: [MANAGER, ...team.names], bound: `MaxRoundCount: ${raw.MaxRoundCount}` }],
  }),
});

const magenticSchema = record(() => ({
  Model: model,
  Instructions: text().optional().describe('The system prompt of the manager. Default: a built-in prompt.'),
  MaxRoundCount: int({ min: 1 }).default(20).describe('The most rounds of a plan.'),
  MaxStallCount: int({ min: 1 }).default(3).describe('Rounds in a row without progress before a new plan is made.'),
  MaxResetCount: int({ min: 0 }).default(2).describe('The most new plans.'),
  EnablePlanReview: bool().default(false).describe('True: a person reviews the first plan.'),
}));
type RawMagentic = z.output<typeof magenticSchema>;

const MANAGER = 'manager';
const PLAN = 'plan';
const FACTS = 'facts';
const ROUNDS = 'rounds';
const STALLS = 'stalls';
const RESETS = 'resets';
const UPDATE = 'ledger';
const CHOICE = 'choice';
/** A ledger that cannot be read is a stall. */
const PROGRESS: Expr = `${UPDATE}.stalling == false && (${UPDATE}.task_complete == null || ${UPDATE}.task_complete == false)`;
/** The most reviews of the plan. */
const REVIEWS_MAX = 50;

/** Lowers the manager's loop. Only a member of the team can be chosen; rounds, stalls and new plans are counted. */
function lowerMagentic(l: Lowering, raw: RawMagentic): NodeId {
  const orient = l.builder.fresh('manager.orient');
  const round = addRound(l, raw, orient);
  const ready = raw.EnablePlanReview
    ? l.kit.when(manager('initial'), `${RESETS} == 0`, addReview(l, orient, round), round)
    : round;
  const site = siteOf(l, orient, 'manager.plan');
  const wrong = addBadTurn(l, site, {
    what: 'no plan',
    corrections: [{ type: 'manager_plan', text: quote(`Answer by calling \`${ORIENTATION}\`.`) }],
    shared: false,
  });
  const complete = l.kit.set(manager('complete'), [set(MESSAGE, LATEST)], success(l));
  const judged = l.kit.pick(
    manager('planned'),
    [
      { when: `${PLAN}.task_complete == true`, to: complete },
      { when: `${PLAN}.plan in [null, "", []]`, to: wrong },
    ],
    ready,
  );
  const stored = l.kit.set(manager('plan'), [set(PLAN, answered(ORIENTATION)), set(NOTE, 'null')], judged);
  const most = (1 + raw.MaxResetCount) * badTurns(l) + (raw.EnablePlanReview ? REVIEWS_MAX : 0);
  const meter = l.kit.visits('orientations', most, exhausted(l), 'plans');
  addAsk(l, {
    id: orient,
    agent: MANAGER,
    hint: orient,
    input: { prompt: asking(l, ORIENTATION, `Plan how the team solves the task.`), tool: quote(ORIENTATION) },
    charges: [meter],
    readsObject: true,
    next: stored,
  });
  return l.kit.set(
    manager('start'),
    [set(ROUNDS, '0'), set(STALLS, '0'), set(RESETS, '0'), set(FACTS, '[]'), set(NOTE, 'null')],
    orient,
  );
}

/** The latest message of a participant; before the first one, the manager's summary. */
const LATEST: Expr = `${MESSAGE} == null ? ${PLAN}.task_summary : ${MESSAGE}`;

/** A node of the manager. */
function manager(name: string): Place {
  return part({ hint: 'manager', origin: MANAGER }, name);
}

function siteOf(l: Lowering, again: NodeId, hint: string): Site {
  return { agent: MANAGER, hint, origin: MANAGER, again, limit: badTurns(l) };
}

/** One round: the ledger shows if the task is done or stalled; then the manager chooses the next agent. */
function addRound(l: Lowering, raw: RawMagentic, orient: NodeId): NodeId {
  const round = l.builder.fresh('manager.round');
  const judged = addLedger(l, raw, orient, addSelection(l, raw, round));
  const stored = l.kit.set(manager('ledger.read'), [set(UPDATE, answered(LEDGER))], judged);
  const ask = addAsk(l, {
    agent: MANAGER,
    hint: 'manager.update',
    input: { prompt: asking(l, LEDGER, 'Judge where the team is.'), tool: quote(LEDGER) },
    readsObject: true,
    next: stored,
  });
  const most = (1 + raw.MaxResetCount) * raw.MaxRoundCount;
  const meter = l.kit.visits('rounds', most, exhausted(l), 'MaxRoundCount');
  const begin = l.kit.set({ ...manager('begin'), charges: [meter] }, [set(ROUNDS, `${ROUNDS} + 1`)], ask);
  const used = { when: `${ROUNDS} >= ${raw.MaxRoundCount}`, to: exhausted(l) };
  return l.kit.pick({ id: round, origin: MANAGER }, [used], begin);
}

/** Reads the ledger: done, stalled, or on to `select`. */
function addLedger(l: Lowering, raw: RawMagentic, orient: NodeId, select: NodeId): NodeId {
  const replan = l.kit.set(
    { hint: 'manager.replan', origin: 'magentic:replan' },
    [
      set(RESETS, `${RESETS} + 1`),
      set(ROUNDS, '0'),
      set(STALLS, '0'),
      set(BAD, '0'),
      set(NOTE, quote('The last plan brought no progress. Make another one.')),
    ],
    orient,
  );
  const stalled = l.kit.when(manager('stalled'), `${RESETS} >= ${raw.MaxResetCount}`, addStalledOut(l, raw), replan);
  const progress = l.kit.when(manager('progress'), `${STALLS} >= ${raw.MaxStallCount}`, stalled, select);
  const counted = l.kit.set(
    manager('count'),
    [
      set(STALLS, `${PROGRESS} ? 0 : ${STALLS} + 1`),
      set(FACTS, `${UPDATE}.facts == null ? ${FACTS} : ${UPDATE}.facts`),
    ],
    progress,
  );
  const finish = l.kit.set(
    manager('finish'),
    [set(MESSAGE, `trim(text(${UPDATE}.final_answer)) == "" ? (${LATEST}) : ${UPDATE}.final_answer`)],
    success(l),
  );
  return l.kit.when(manager('ledger'), `${UPDATE}.task_complete == true`, finish, counted);
}

function addSelection(l: Lowering, raw: RawMagentic, round: NodeId): NodeId {
  const { team } = l;
  const ask = l.builder.fresh('manager.select');
  const speaker = `trim(text(${CHOICE}.speaker))`;
  const cases = team.names.map((agent) => ({
    when: hasTwin(agent, team) ? `${speaker} == ${quote(agent)}` : `lower(${speaker}) == lower(${quote(agent)})`,
    to: addParticipant(l, agent, round),
  }));
  const wrong = addBadTurn(l, siteOf(l, ask, 'manager.choice'), {
    what: 'no member of the team was chosen',
    corrections: [
      {
        type: 'unknown_speaker',
        text: `text("There is no agent ", ${CHOICE}.speaker, ${quote(`. Call \`${SPEAKER}\` with one of: ${team.names.join(', ')}.`)})`,
      },
    ],
    shared: false,
  });
  const judged = l.kit.pick(manager('chosen'), cases, wrong);
  const stored = l.kit.set(manager('choose'), [set(CHOICE, answered(SPEAKER)), set(NOTE, 'null')], judged);
  const most = (1 + raw.MaxResetCount) * raw.MaxRoundCount * badTurns(l);
  const meter = l.kit.visits('selections', most, exhausted(l), 'selections');
  addAsk(l, {
    id: ask,
    agent: MANAGER,
    hint: ask,
    input: { prompt: asking(l, SPEAKER, 'Choose who goes on, and with what instruction.'), tool: quote(SPEAKER) },
    charges: [meter],
    readsObject: true,
    samples: team.names.map((speaker) => ({ speaker, instruction: 'Do the next step.' })),
    next: stored,
  });
  return ask;
}

function addParticipant(l: Lowering, agent: string, round: NodeId): NodeId {
  const turn = addTurnOf(l, agent, round, { opening: [set(BAD, '0')] });
  return l.kit.set({ hint: `${agent}.instruct`, origin: MANAGER }, [tell(`${CHOICE}.instruction`, agent)], turn);
}

function addStalledOut(l: Lowering, raw: RawMagentic): NodeId {
  const message = quote(`the team could make no further progress after ${raw.MaxResetCount} new plans`);
  return l.kit.fail(
    { hint: 'manager.gaveup', origin: 'magentic:stalled' },
    { type: 'StalledError', message, node: MANAGER },
    l.builder.failedEnd(OUTPUT),
  );
}

/** The manager's answer: the arguments of its tool call, or the JSON in its text. */
function answered(tool: string): Expr {
  return `cel.bind(a, ${REPLY}.toolCalls.filter(c, c.name == ${quote(tool)}), size(a) > 0 ? a[0].args : jsonIn(${REPLY}.text))`;
}

function asking(l: Lowering, tool: string, request: string): Expr {
  const parts: Expr[] = [quote('The task:\n'), 'input', quote(`\n\nThe team:\n${roster(l.team)}\n\n`)];
  parts.push(`${PLAN} == null ? "" : text(${brief().join(', ')})`);
  parts.push(
    quote('What was said, latest last:\n'),
    recent(l.team),
    quote(`\n\n${request} Call \`${tool}\`.`),
    `${NOTE} == null ? "" : text("\\n\\n", ${NOTE})`,
  );
  return `text(${parts.join(', ')})`;
}

/** The current plan and the known facts. */
function brief(): readonly Expr[] {
  const part = (label: string, value: Expr): Expr =>
    `cel.bind(p, ${value}, p == "" ? "" : text(${quote(`${label}:\n`)}, p, ${quote('\n\n')}))`;
  const known = `join([${lined(`${PLAN}.known_facts`)}, ${lined(FACTS)}].filter(f, f != ""), ${quote('\n')})`;
  return [
    part('In short', `text(${PLAN}.task_summary)`),
    part('The plan', `text(${PLAN}.plan)`),
    part('The next step', `text(${PLAN}.next_step)`),
    part('Established', known),
  ];
}

/** An edited plan: text, a list of steps, or an object like the manager's. */
const STEPS: readonly Json[] = [
  { type: 'string', minLength: 1 },
  { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
];
const EDITED: Json = {
  anyOf: [...STEPS, { type: 'object', properties: { plan: { anyOf: [...STEPS] } }, required: ['plan'] }],
};

function addReview(l: Lowering, again: NodeId, next: NodeId): NodeId {
  const place = { hint: 'review', origin: ORIENTATION };
  const edit = `${ANSWER}.edit`;
  const given = (field: string, otherwise: Expr): Write => {
    const value = `type(${edit}) == map && ${edit}.${field} != null ? ${edit}.${field} : ${otherwise}`;
    return setField(PLAN, [field], value);
  };
  const writes: readonly Write[] = [
    given('task_summary', `${PLAN}.task_summary`),
    given('known_facts', `${PLAN}.known_facts`),
    // The next step belonged to the plan that was edited.
    given('next_step', 'null'),
    setField(PLAN, ['plan'], lined(`(type(${edit}) == map ? ${edit}.plan : ${edit})`)),
  ];
  const edited = l.kit.set(part(place, 'edited'), writes, next);
  const back = l.kit.set(
    { hint: 'review.back', origin: 'correction:plan_review' },
    [set(NOTE, `text("The plan was sent back.", ${remark()}, " Make a better one.")`)],
    again,
  );
  return l.kit.ask(place, {
    about: 'plan_review',
    askedBy: MANAGER,
    choices: ['approve', { name: 'edit', edit: EDITED, needs: 'edit' }, 'reject', { name: 'respond', needs: 'text' }],
    onExpiry: 'reject',
    message: `text("The manager's plan:\\n", ${PLAN}.plan)`,
    payload: { plan: PLAN },
    code: 'CONFIRM_REQUIRED',
    purpose: 'plan_review',
    row: 'high_impact_mutation',
    into: ANSWER,
    next: l.kit.decide(part(place, 'decided'), ANSWER, { approve: next, edit: edited }, back),
    fail: l.builder.failedEnd(OUTPUT),
  });
}

const ORIENTATION = 'magentic_orientation';
const LEDGER = 'magentic_ledger_update';
const SPEAKER = 'magentic_select_speaker';

const word: Json = { type: 'string' };
const flag: Json = { type: 'boolean' };
const texts: Json = { type: ['array', 'string'], items: word };

/** The three tools by which the manager answers. Calling one runs nothing. */
const MAGENTIC_TOOLS: { readonly [name: string]: ToolDef } = {
  [ORIENTATION]: tool(
    'Says how you understand the task and what the plan is.',
    { task_summary: word, known_facts: texts, plan: texts, next_step: word, task_complete: flag },
    ['plan'],
  ),
  [LEDGER]: tool(
    'Says whether the task is done, whether the team is stalling, and what is established.',
    { task_complete: flag, stalling: flag, facts: texts, final_answer: word },
    ['task_complete', 'stalling'],
  ),
  [SPEAKER]: tool('Says who goes on, and with what instruction.', { speaker: word, instruction: word }, [
    'speaker',
    'instruction',
  ]),
};

function tool(
  description: string,
  properties: { readonly [field: string]: Json },
  required: readonly string[],
): ToolDef {
  return {
    description,
    input: { type: 'object', properties: { ...properties }, required: [...required] },
    output: true,
    effect: 'read',
    implementation: null,
    timeoutMs: 1000,
    permission: 'manager',
    idempotent: true,
    compensate: null,
  };
}

const MANAGER_INSTRUCTIONS = `You lead a team of agents and do none of the work yourself. You are asked for three things, each by calling the tool that is named:
how you understand the task and what the plan is; after each step, whether the task is done and whether the team makes progress; and who goes on, with one concrete instruction.
Judge by what the agents have really produced. Say that the team is stalling when a round brought nothing new. Say that the task is complete only when it is, and give the final answer then.`;
