/**
 * The grounding check in a graph: the values, citations and claimed calls of a reply against the observations. Under a boundary with
 * a rule for them (`escalation.ungrounded`), an unsupported answer goes back to the agent, to a person, or fails the turn. A turn with
 * a verifier ends with its verdict.
 */
import { RETRY_CHECK } from '@sluice-internal/kernel/ir';
import type { Case, Consequence, Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { literal, quote } from '@sluice-internal/kernel/expr';
import { REMARKS } from '../guidance.ts';
import { append, set, setField, type Kit } from '../kit.ts';
import { OBJECTION, VERDICT } from '../verdict-slot.ts';
import { addVerifier } from '../verifier.ts';
import type { Verifier } from '../verifier-def.ts';
import { OBSERVATIONS, REPLY, TALK, type AgentTurn } from './turn.ts';

export const GROUNDING_CHECK = 'policy:grounding';
export const BIND_CHECK = 'policy:bind';
export const VALUES = ['off', 'names', 'all', 'bound'] as const;
export const ON_VIOLATIONS = ['mark', 'repair', 'halt', 'escalate'] as const;
export type OnViolation = (typeof ON_VIOLATIONS)[number];

export interface GroundingRules {
  /** Observations must be cited. */
  readonly cite: boolean;
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
}

/** The input of `policy:grounding`. The verdict is `{ ok, reason?, kinds?, findings? }`. */
export function groundingInput(checked: GroundedText, { cite, values }: GroundingRules): Input {
  return {
    what: quote(checked.what),
    tools: literal([...checked.tools]),
    reply: checked.reply,
    observations: OBSERVATIONS,
    given: `[${checked.given.join(', ')}]`,
    userAnswers: checked.userAnswers,
    cite: String(cite),
    values: quote(values === 'bound' ? 'names' : values),
  };
}

const GROUNDED = '_grounded';
const REASON = `text(${GROUNDED}.reason)`;
/** Repairs of one turn. */
const REPAIRS_MAX = 2;
type StartedTurn = AgentTurn & { readonly begin: NodeId };

/** Returns the node after the last reply: `next`, or the check before it. `ask` is the node that asks the agent again. */
export function addGroundedEnd(kit: Kit, given: StartedTurn, ask: NodeId): NodeId {
  const turn = given.verifier === undefined ? given : { ...given, next: addVerdict(kit, given, given.verifier, ask) };
  if (turn.tools.length === 0) return turn.next;
  const consequence = consequenceOf(kit, turn);
  const end = consequence === undefined ? turn.next : addGroundingEnd(kit, turn, ask, consequence);
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

/** The rule of the boundary for unsupported values, if it has one. */
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
    given: ['input', REMARKS, ...(turn.input['prompt'] === undefined ? [] : [turn.input['prompt']])],
    userAnswers: '[]',
  };
  return kit.check(
    { hint: `${hint}.grounding`, origin: `${origin}: grounding`, authored: origin },
    {
      check: GROUNDING_CHECK,
      input: groundingInput(checked, { cite: false, values: 'names' }),
      into: GROUNDED,
      next: kit.when({ hint: `${hint}.grounded`, origin }, `${GROUNDED}.ok == true`, next, violated),
      fail: broken,
    },
  );
}

/** Sends the answer back to the agent, as long as the turn has repairs left. Each repair is a message of the user. */
function addRepair(kit: Kit, turn: StartedTurn, ask: NodeId, words: Expr): NodeId {
  const { hint, origin } = turn;
  const failed = addFailure(kit, turn);
  const mend = addMend(kit, turn, { name: 'grounding', words, ask, failed });
  return kit.when({ hint: `${hint}.grounding.left`, origin }, `${messagesOfUser} < ${REPAIRS_MAX}`, mend, failed);
}

interface Mend {
  readonly name: 'grounding' | 'reflection';
  readonly words: Expr;
  readonly ask: NodeId;
  readonly failed: NodeId;
}

function addMend(kit: Kit, turn: StartedTurn, { name, words, ask, failed }: Mend): NodeId {
  const { hint, origin } = turn;
  const meter = kit.builder.meter(
    name === 'grounding' ? `repairs:${hint}` : `reflections:${hint}`,
    {
      unit: 'visits',
      max: REPAIRS_MAX * turn.visitsMax,
      over: failed,
      label: `repairs of the answer of ${origin}`,
    },
    { of: turn.begin, max: REPAIRS_MAX },
  );
  return kit.set(
    { hint: `${hint}.${name}.mend`, origin, charges: [meter] },
    [append(TALK, { role: quote('user'), content: words })],
    ask,
  );
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

/** The verifier judges the reply. A "no" goes back while `budgets.reflections` has room, at most twice; then the turn fails. */
function addVerdict(kit: Kit, turn: StartedTurn, verifier: Verifier, ask: NodeId): NodeId {
  const { agent, hint, origin, fail, refused, next } = turn;
  const least = verifier.confidence;
  const unsure = least === null ? 'false' : `(${VERDICT}.confidence == null || ${VERDICT}.confidence < ${least})`;
  const problem = `text(${VERDICT}.conflict != null ? ${VERDICT}.conflict : ${VERDICT}.problem != null ? ${OBJECTION} : "the verifier is not sure enough")`;
  const failed = kit.fail(
    { hint: `${hint}.refused`, origin },
    { type: 'VerifierError', message: problem },
    refused ?? fail,
  );
  const words = `text("This is not acceptable: ", ${problem}, ". Correct it.")`;
  const mend = addMend(kit, turn, { name: 'reflection', words, ask, failed });
  const paid = kit.call(
    { hint: `${hint}.reflection.paid`, origin, onBudget: failed },
    {
      effect: { kind: 'check', check: RETRY_CHECK, input: { name: quote(agent) }, reserve: { reflections: 1 } },
      shared: { retryBudget: null },
      next: mend,
      fail: failed,
    },
  );
  const judged = kit.pick(
    { hint: `${hint}.judged`, origin },
    [
      { when: `${VERDICT}.ok == true && ${VERDICT}.conflict == null && !${unsure}`, to: next },
      { when: `${VERDICT}.ok == null || ${messagesOfUser} >= ${REPAIRS_MAX}`, to: failed },
    ],
    paid,
  );
  return addVerifier(kit, verifier, {
    hint,
    origin,
    agent,
    goal: turn.input['prompt'] ?? 'input',
    people: REMARKS,
    answer: `${REPLY}.text`,
    criteria: [],
    next: judged,
  });
}

const messagesOfUser: Expr = `size(${TALK}.filter(m, m.role == "user" && m.by == null))`;

function addFailure(kit: Kit, { hint, origin, fail, refused }: AgentTurn): NodeId {
  return kit.fail({ hint: `${hint}.ungrounded`, origin }, { type: 'GroundingError', message: REASON }, refused ?? fail);
}
