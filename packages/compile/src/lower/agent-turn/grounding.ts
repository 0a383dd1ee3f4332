/**
 * The grounding check in a graph, and the end of a turn under a boundary with a rule for unsupported claims
 * (`escalation.ungrounded`). An unsupported answer goes back to the agent, to a person, or fails the turn. Without such a rule it
 * is marked.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Case, Consequence, Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { literal, quote } from '@sluice-internal/kernel/expr';
import { append, set, setField, type Kit } from '../kit.ts';
import { recordUnchecked, recordVerdict } from '../marked-ends.ts';
import { OBSERVATIONS, REPLY, TALK, type AgentTurn } from './turn.ts';

export const GROUNDING_CHECK = 'policy:grounding';
export const BIND_CHECK = 'policy:bind';
export const DEEDS_CHECK = 'policy:deeds';
const ANSWER_CHECK = 'policy:answer';
export const VALUES = ['off', 'names', 'all', 'bound'] as const;
export const ON_VIOLATIONS = ['mark', 'repair', 'halt', 'escalate'] as const;
export type OnViolation = (typeof ON_VIOLATIONS)[number];

export interface GroundingRules {
  /** Observations must be cited. */
  readonly cite: boolean;
  /** Claims of actions need an observation. */
  readonly claims: boolean;
  /** The values that need a source. */
  readonly values: (typeof VALUES)[number];
}

export interface GroundedText {
  /** The subject of the reason: "the answer …". */
  readonly what: string;
  readonly tools: readonly string[];
  readonly reply: Expr;
  /** Texts that the agent may rely on. */
  readonly given: readonly Expr[];
  /** Texts by people: `[{ turn, text }]`. */
  readonly userAnswers: Expr;
  /** Earlier sentences whose claims were supported. */
  readonly claimed: Expr;
}

/** Calls were made, and each failed with an error. A command with an exit code has a result; a refused call was not made. */
export const NO_CALL_SUCCEEDED: Expr = `size(${OBSERVATIONS}) > 0 && ${OBSERVATIONS}.all(o, o.ok != true && o.error != null && o.refused == null)`;
const LAST = `${OBSERVATIONS}[size(${OBSERVATIONS}) - 1]`;
export const NO_CALL_REASON: Expr = `text("no tool call succeeded; the last one, ", ${LAST}.tool, ", failed: ", ${LAST}.error)`;

/** The input of `policy:grounding`. The verdict is `{ ok, claimed, reason?, kinds?, findings? }`. */
export function groundingInput(checked: GroundedText, { cite, claims, values }: GroundingRules): Input {
  return {
    what: quote(checked.what),
    tools: literal([...checked.tools]),
    reply: checked.reply,
    observations: OBSERVATIONS,
    given: `[${checked.given.join(', ')}]`,
    userAnswers: checked.userAnswers,
    claimed: checked.claimed,
    cite: String(cite),
    claims: String(claims),
    values: quote(values === 'bound' ? 'names' : values),
  };
}

const GROUNDED = '_grounded';
const REASON = `text(${GROUNDED}.reason)`;
/** Repairs of one turn. */
const REPAIRS_MAX = 2;
type StartedTurn = AgentTurn & { readonly begin: NodeId };

/** Returns the node after the last reply: `next`, or the check before it. `ask` is the node that asks the agent again. */
export function addGroundedEnd(kit: Kit, turn: StartedTurn, ask: NodeId): NodeId {
  if (turn.tools.length === 0) return turn.next;
  const consequence = consequenceOf(kit, turn);
  const end = consequence === undefined ? addMark(kit, turn) : addGroundingEnd(kit, turn, ask, consequence);
  return addBinding(kit, turn, ask, end);
}

/** The reply contains references to observations. */
export const REFERS = `${REPLY}.text.contains("{{obs.")`;

/** Fills in references to observations. A reference to nothing goes back to the agent. */
function addBinding(kit: Kit, turn: StartedTurn, ask: NodeId, next: NodeId, others: readonly Case[] = []): NodeId {
  const { hint, origin } = turn;
  const mend = addRepair(kit, turn, ask, `text("This is not supported: ", ${REASON}, ". Correct it.")`);
  const bound = kit.check(
    { hint: `${hint}.bind`, origin: `${origin}: bind`, authored: origin },
    {
      check: BIND_CHECK,
      input: { text: `${REPLY}.text`, observations: OBSERVATIONS },
      writes: [set(GROUNDED, 'it'), setField(REPLY, ['text'], 'it.text')],
      next: kit.when({ hint: `${hint}.bound`, origin }, `${GROUNDED}.ok == true`, next, mend),
      fail: next,
    },
  );
  return kit.pick({ hint: `${hint}.refers`, origin }, [{ when: REFERS, to: bound }, ...others], next);
}

/** The rule of the boundary for unsupported claims, if it has one. */
function consequenceOf({ builder }: Kit, { agent, tools, gate = 'eligible' }: StartedTurn): Consequence | undefined {
  const { escalation } = builder.boundary(agent, tools, gate);
  return Object.hasOwn(escalation, 'ungrounded') ? escalation['ungrounded'] : undefined;
}

function addGroundingEnd(kit: Kit, turn: StartedTurn, ask: NodeId, consequence: Consequence): NodeId {
  const { agent, hint, origin, tools, next } = turn;
  const { approvalTimeoutMs } = kit.builder.boundary(agent, tools, turn.gate ?? 'eligible');
  const violated = {
    tell: () => addRepair(kit, turn, ask, `text("This is not supported: ", ${REASON}, ". Correct it.")`),
    ask: () => addQuestion(kit, turn, ask, approvalTimeoutMs),
    fail: () => addFailure(kit, turn),
  }[consequence]();
  const broken = kit.set(
    { hint: `${hint}.grounding.broken`, origin },
    [set(GROUNDED, { ok: 'false', reason: 'error.message' })],
    violated,
  );
  const checked = {
    what: 'the answer',
    tools,
    reply: `${REPLY}.text`,
    given: turn.input['prompt'] === undefined ? ['input'] : ['input', turn.input['prompt']],
    userAnswers: '[]',
    claimed: '[]',
  };
  return kit.check(
    { hint: `${hint}.grounding`, origin: `${origin}: grounding`, authored: origin },
    {
      check: GROUNDING_CHECK,
      input: groundingInput(checked, { cite: false, claims: true, values: 'names' }),
      into: GROUNDED,
      next: kit.when({ hint: `${hint}.grounded`, origin }, `${GROUNDED}.ok == true`, next, violated),
      fail: broken,
    },
  );
}

/** Records a verdict on the answer and goes on: a marked answer makes the run a partial success at best. */
function addMark(kit: Kit, turn: StartedTurn): NodeId {
  const { hint, origin, tools, next } = turn;
  const prompt = turn.input['prompt'] ?? 'null';
  const checked = {
    what: 'the answer',
    tools,
    reply: `${REPLY}.text`,
    given: ['input', prompt],
    userAnswers: '[]',
    claimed: '[]',
  };
  return kit.check(
    { hint: `${hint}.answer`, origin: `${origin}: answer`, authored: origin },
    {
      check: ANSWER_CHECK,
      input: {
        ...groundingInput(checked, { cite: false, claims: true, values: 'off' }),
        prompt,
        task: taskOf(kit, turn),
      },
      writes: [recordVerdict(turn.agent)],
      next,
      fail: kit.set(
        { hint: `${hint}.answer.broken`, origin },
        [recordUnchecked(turn.agent), set('error', 'null')],
        next,
      ),
    },
  );
}

/**
 * The task that the reply must do: that of the prompt. Members of a team talk to each other, so for them it is the goal of the
 * run, and only if they have a tool of the document that changes something.
 */
function taskOf(kit: Kit, { converses, tools }: StartedTurn): Expr {
  if (converses !== true) return 'true';
  const isOwn = (name: string): boolean => {
    const tool = kit.builder.toolDef(name);
    const { implementation = null } = tool ?? {};
    const isBuiltIn = implementation !== null && typeof implementation === 'object' && 'builtin' in implementation;
    return tool !== undefined && !onlyReads(tool.effect) && !isBuiltIn;
  };
  return tools.some(isOwn) ? quote('goal') : 'false';
}

/** Sends the answer back to the agent, as long as the turn has repairs left. Each repair is a message of the user. */
function addRepair(kit: Kit, turn: StartedTurn, ask: NodeId, words: Expr): NodeId {
  const { hint, origin } = turn;
  const failed = addFailure(kit, turn);
  const meter = kit.builder.meter(
    `repairs:${hint}`,
    {
      unit: 'visits',
      max: REPAIRS_MAX * turn.visitsMax,
      over: failed,
      label: `repairs of the answer of ${origin}`,
    },
    { of: turn.begin, max: REPAIRS_MAX },
  );
  const mend = kit.set(
    { hint: `${hint}.grounding.mend`, origin, charges: [meter] },
    [append(TALK, { role: quote('user'), content: words })],
    ask,
  );
  const isLeft = `size(${TALK}.filter(m, m.role == "user")) < ${REPAIRS_MAX}`;
  return kit.when({ hint: `${hint}.grounding.left`, origin }, isLeft, mend, failed);
}

function addQuestion(kit: Kit, turn: StartedTurn, ask: NodeId, timeoutMs: number | null): NodeId {
  const { agent, hint, origin, next } = turn;
  const stopped = addFailure(kit, turn);
  const answered = addRepair(kit, turn, ask, `text(${GROUNDED}.text)`);
  const ways = { approve: next, respond: answered };
  return kit.ask(
    { hint: `${hint}.ungrounded.ask`, origin },
    {
      about: 'ungrounded',
      askedBy: agent,
      choices: ['approve', { name: 'respond', needs: 'text' }, 'stop'],
      onExpiry: 'stop',
      code: 'REVIEW_REQUIRED',
      purpose: 'escalation',
      row: 'low_confidence',
      message: `text(${quote(`${agent}: `)}, ${REASON})`,
      payload: { answer: `${REPLY}.text`, problem: REASON, observations: OBSERVATIONS },
      // The reason stays in the slot, for the error if the person stops the run.
      writes: [setField(GROUNDED, ['choice'], 'it.choice'), setField(GROUNDED, ['text'], 'it.text')],
      timeoutMs,
      next: kit.decide({ hint: `${hint}.ungrounded.decided`, origin }, GROUNDED, ways, stopped),
      fail: stopped,
    },
  );
}

function addFailure(kit: Kit, { hint, origin, fail, refused }: AgentTurn): NodeId {
  return kit.fail({ hint: `${hint}.ungrounded`, origin }, { type: 'GroundingError', message: REASON }, refused ?? fail);
}
