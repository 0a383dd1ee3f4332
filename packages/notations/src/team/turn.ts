/**
 * One turn of a member: the agent sees its view of the shared history, and its message is appended to it. Each turn has a
 * number, by which checks find the evidence of that turn.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Expr, Input, NodeId, Write } from '@sluice-internal/kernel/ir';
import {
  OBSERVATIONS,
  REMARK,
  REPAIR_THEN_PASS,
  REPLY,
  TALK,
  addTurn,
  append,
  hearsAs,
  set,
} from '@sluice-internal/compile/lower';
import type { AgentTurn } from '@sluice-internal/compile/lower';
import { literal, object, quote } from '@sluice-internal/compile/expressions';
import { HANDOFF } from './agents.ts';
import { assemble, reminder } from './context.ts';
import { member, openRules, part, type Lowering, type Place } from './lowering.ts';
import type { Member, Team } from './model.ts';
import {
  CONTEXT,
  CONTRACTS,
  DIRECTIVE,
  ENTRY,
  HISTORY,
  OUTPUT,
  RECAP,
  REJECTED,
  MESSAGE,
  SIGNAL,
  SPEAKER,
  STATE,
  TURN,
  TURNS,
  VOIDED,
  enter,
  fenced,
} from './slots.ts';

const EVIDENCE_MAX = 20;

/** `enters` is absent for turns that `path` leaves out. `charges` are meters beside the session's. */
export interface TeamTurn
  extends Place, Pick<AgentTurn, 'agent' | 'enters' | 'begin' | 'at' | 'opening' | 'charges' | 'next' | 'fail'> {
  /** Replaces the shared history as the input of the agent. */
  readonly input?: Input;
  /** True, the default, if the message goes into the shared history. */
  readonly shared?: boolean;
  /** True, the default, if the turn counts towards `MaxIterations`. */
  readonly counts?: boolean;
  /**
   * Where the evidence of the agent begins: at each turn, the default; at the turn that a `route` led to; `none` for a turn in
   * the middle of another agent's work.
   */
  readonly entry?: 'each' | 'route' | 'none';
  readonly visitsMax?: number;
  /** Messages of the form that the strategy asks for. */
  readonly samples?: readonly Json[];
  /** True if the message is read as a JSON object. Different objects in one reply then get a repair turn. */
  readonly readsObject?: boolean;
  /** The keywords of the strategy at this place. A handoff with another one is answered inside the turn. */
  readonly words?: readonly string[];
  /** The turn runs in a branch. */
  readonly branch?: true;
}

/** Messages that end with one of the words. */
export function messagesWith(words: readonly string[]): readonly string[] {
  return words.map((word) => `This is done.\n${word}`);
}

/** A turn whose place has the agent's own name. */
export function addTurnOf(
  l: Lowering,
  agent: string,
  next: NodeId,
  more: Pick<TeamTurn, 'opening' | 'readsObject' | 'samples' | 'entry' | 'words'> = {},
): NodeId {
  const at = l.at('Agents', l.team.names.indexOf(agent), 'Name');
  const begin = l.builder.idOf(agent);
  return addTeamTurn(l, { agent, hint: agent, origin: agent, enters: agent, begin, at, next, ...more });
}

/** Afterwards `message` holds the message and `signal` the keyword of its handoff call, or null. */
export function addTeamTurn(l: Lowering, turn: TeamTurn): NodeId {
  const who = member(l, turn.agent);
  const { hint, origin, enters, begin, at } = turn;
  const prepare = (ask: NodeId): NodeId => assemble(l, who.sources, part(turn, 'context'), ask, who.name);
  // A session that ends here returns the message before.
  const over = l.builder.failedEnd(OUTPUT);
  const first = addTurn(l.builder, {
    agent: who.name,
    hint,
    origin,
    enters: enters === undefined ? undefined : `${l.prefix}${enters}`,
    begin,
    at,
    ...hearsOf(turn, who),
    charges: chargesOf(l, turn),
    opening: [...openingOf(l, turn, who), ...spokenAt(l, turn), ...(turn.opening ?? [])],
    input: turn.input ?? sharedInput(l, who),
    tools: who.tools,
    ...closingOf(l, turn, who),
    callsMax: who.callsMax,
    // The author granted the plugins: a call needs a person only if a policy or the tool asks for one.
    gate: 'granted',
    visitsMax: turn.visitsMax ?? l.turnsMax,
    // A reply that is read as an object and contains different ones is repaired once. Then the strategy corrects it.
    fit: turn.readsObject === true ? REPAIR_THEN_PASS : undefined,
    samples: turn.samples,
    prepare: turn.input === undefined && who.sources !== null ? prepare : undefined,
    next: addCommit(l, turn, who),
    fail: turn.fail ?? over,
    refused: over,
  });
  if (isJudged(l, turn)) l.turns.push({ place: hint, agent: who.name, begin: first });
  return first;
}

/** The verdict on the end goes back to the turn that wrote the last message. A branch cannot be entered again. */
function isJudged({ team }: Lowering, { branch }: TeamTurn): boolean {
  return team.verifier !== null && branch !== true;
}

function spokenAt(l: Lowering, turn: TeamTurn): readonly Write[] {
  return isJudged(l, turn) ? [set(SPEAKER, quote(turn.hint))] : [];
}

function chargesOf({ meter }: Lowering, { counts = true, charges = [] }: TeamTurn): NonNullable<TeamTurn['charges']> {
  return counts && meter !== null ? [meter, ...charges] : charges;
}

function openingOf(l: Lowering, { counts = true, entry = 'each' }: TeamTurn, { name }: Member): readonly Write[] {
  return [...recapped(l.team), ...numbered(name, counts, entry)];
}

function hearsOf({ input }: TeamTurn, { name, isFresh }: Member): Pick<AgentTurn, 'hears'> {
  return input === undefined && !isFresh ? { hears: hearsAs(name, [remarkTo(name)]) } : {};
}

/** A remark of a person, as a message before the turn. */
function remarkTo(agent: string): Write {
  return append(HISTORY, { ...REMARK, author: 'it.by', to: quote(agent), turn: TURN });
}

function closingOf(
  l: Lowering,
  { words = [] }: TeamTurn,
  { mayHandOff }: Member,
): Pick<AgentTurn, 'closing' | 'closes'> {
  return mayHandOff ? { closing: HANDOFF, closes: handsOff(l, words) } : {};
}

/** A turn that does not count gets a number between its neighbours'. */
function numbered(agent: string, counts: boolean, entry: NonNullable<TeamTurn['entry']>): readonly Write[] {
  const number = `size(${TURNS}) + ${counts ? '1' : '0.5'}`;
  const entered = { each: [set(VOIDED, '[]'), set(ENTRY, number)], route: enter(number), none: [] }[entry];
  return [...entered, set(TURN, number), ...(counts ? [append(TURNS, quote(agent))] : [])];
}

function sharedInput(l: Lowering, who: Member): Input {
  return {
    history: HISTORY,
    ...(who.view === null ? {} : { view: literal(who.view) }),
    ...(recapped(l.team).length === 0 ? {} : { recap: RECAP }),
    ...(who.sources === null ? {} : { context: contextOf(who), prompt: reminder() }),
  };
}

/** An agent without the history sees only the message of the handover, which its own messages do not replace. */
function contextOf({ isFresh, name }: Member): Expr {
  if (!isFresh) return `${CONTEXT}.text`;
  const parts = `[${handoverTo(name)}, ${CONTEXT}.text].filter(p, p != null && p != "")`;
  return `join(${parts}, "\\n\\n")`;
}

/** The latest message of another agent; null if there is none. */
function handoverTo(agent: string): Expr {
  return `${DIRECTIVE} == null ? null : ${DIRECTIVE}.by == ${quote(agent)} ? ${DIRECTIVE}.before : ${DIRECTIVE}.text`;
}

/** Stores the message. A turn that ended without text, as by a handoff call, gets its last text or its keyword. */
function addCommit(l: Lowering, turn: TeamTurn, who: Member): NodeId {
  const { shared = true, next } = turn;
  const { when } = handsOff(l, turn.words ?? []);
  const handed: Expr = who.mayHandOff
    ? `cel.bind(h, ${REPLY}.toolCalls.filter(c, c.name == ${quote(HANDOFF)} && ${when('c')}), size(h) == 0 ? null : trim(text(h[0].args.route_keyword)))`
    : 'null';
  const isHandedOn = shared && [...l.team.members.values()].some(({ isFresh }) => isFresh);
  const store = (kind: string, content: Expr, withSteps: boolean): NodeId => {
    const item = {
      author: quote(who.name),
      role: quote('assistant'),
      content,
      turn: TURN,
      ...(withSteps ? { steps: TALK } : {}),
    };
    const writes: Write[] = [
      ...(shared ? [append(HISTORY, item)] : []),
      set(MESSAGE, content),
      set(REJECTED, 'null'),
      set(SIGNAL, withSteps ? handed : 'null'),
      ...(isHandedOn
        ? [set(DIRECTIVE, directive(who.name, who.isRemote ? fenced(quote(who.name), content) : content))]
        : []),
    ];
    return l.kit.set(part(turn, kind), writes, next);
  };
  const lastText = `cel.bind(t, ${TALK}.filter(m, m.role == "assistant" && m.content != ""), size(t) > 0 ? t[size(t) - 1].content : text(${handed}))`;
  return l.kit.pick(
    part(turn, 'commit'),
    [
      // A single reply without parts of its own is its text. Steps would only repeat it.
      { when: `size(${TALK}) == 1 && ${REPLY}.parts == null`, to: store('replied', `${REPLY}.text`, false) },
      { when: `${REPLY}.text != ""`, to: store('done', `${REPLY}.text`, true) },
    ],
    store('mute', lastText, true),
  );
}

/** A handoff needs a keyword, and one that a route or a termination of the session reads, if there are keywords. */
function handsOff(l: Lowering, words: readonly string[]): NonNullable<AgentTurn['closes']> {
  const patterns = openRules(l).flatMap(({ pattern, condition }) => (condition === undefined ? [pattern] : []));
  const known = [
    `lower(trim(k)) in ${literal(words.map((word) => word.trim().toLowerCase()))}`,
    ...patterns.map((pattern) => `re(k, ${quote(pattern)})`),
  ].join(' || ');
  const isKnown = words.length === 0 ? '' : ` && (${known})`;
  const choice = words.length === 0 ? '' : ` There are ${words.map((word) => `\`${word}\``).join(', ')}.`;
  return {
    when: (call) => `cel.bind(k, ${call}.args.route_keyword, type(k) == string && trim(k) != ""${isKnown})`,
    reason: quote(
      `the handoff was not made: \`route_keyword\` must be one of your keywords, as a text.${choice} Call it again.`,
    ),
  };
}

/** The handoff as the next agent sees it: the message, and the fields of the handoff call. */
function directive(agent: string, content: Expr): Expr {
  const fields = ['goal', 'background', 'constraints'].map(
    (field) =>
      `cel.bind(h, ${REPLY}.toolCalls.filter(c, c.name == ${quote(HANDOFF)}), size(h) == 0 || trim(text(h[0].args.${field})) == "" ? "" : text(${quote(`\n${field}: `)}, h[0].args.${field}))`,
  );
  return object([
    ['by', quote(agent)],
    ['text', `text(${quote(`[HANDOFF from ${agent}]\n`)}, ${content}, ${fields.join(', ')})`],
    ['before', handoverTo(agent)],
  ]);
}

/**
 * Compaction without a model: after `TriggerTurnCount` turns, agents see the latest `KeepRecentTurns` and a recap of the rest. Then
 * new turns are only added, until there are `TriggerTurnCount` again. So a request begins like the one before, which providers
 * charge less for. Only the view changes; routes and gates do not read it. Empty if agents see everything.
 */
function recapped(team: Team): readonly Write[] {
  const settings = team.raw.Compaction;
  if (settings === undefined || !isCompacted(team)) return [];
  const { TriggerTurnCount: most, KeepRecentTurns: kept } = settings;
  const text = isLossless(team) ? lossless() : '"[Earlier turns are left out.]"';
  const recap = object([
    ['text', text],
    ['upTo', `size(${TURNS}) - ${kept}`],
  ]);
  const seen = `size(${TURNS}) - (${RECAP} == null ? 0 : ${RECAP}.upTo)`;
  return [set(RECAP, `${seen} >= ${most} ? ${recap} : ${RECAP}`)];
}

/** `lossless` needs a state and an evidence store. */
export function isCompacted(team: Pick<Team, 'raw' | 'strategy'>): boolean {
  return team.raw.Compaction?.Mode !== 'lossless' || isLossless(team);
}

/** Modes that would ask a model are rebuilt from evidence where that is possible. */
function isLossless({ raw, strategy }: Pick<Team, 'raw' | 'strategy'>): boolean {
  const rebuilds = ['lossless', 'intent', 'hybrid'].includes(raw.Compaction?.Mode ?? '');
  return rebuilds && strategy === 'statemachine' && raw.EvidenceStore !== undefined;
}

function lossless(): Expr {
  const contracts = `join(${CONTRACTS}.map(k, text(${CONTRACTS}[k].ok ? "✓ " : "✗ ", k, ${CONTRACTS}[k].ok ? "" : text(": ", ${CONTRACTS}[k].reason))), "\\n")`;
  const evidence = `join(tail(${OBSERVATIONS}, ${EVIDENCE_MAX}).map(o, text(o.ok ? "✓ " : "✗ ", "turn ", o.turn, " ", o.agent, " ", o.tool, " ", o.args.path, o.args.command)), "\\n")`;
  const parts = [
    '"[CONTEXT RECONSTRUCTION — derived from durable evidence, not summarised by a model]\\n\\nSTATE MACHINE POSITION\\n"',
    STATE,
    '"\\n\\nCONTRACT STATUS\\n"',
    contracts,
    '"\\n\\nRECENT EVIDENCE, latest last\\n"',
    evidence,
    '"\\n\\nRESUMPTION NOTE\\nGo on from this position. What is listed here was really done; what is not, was not."',
  ];
  return `text(${parts.join(', ')})`;
}
