/**
 * A member's turn in a session: it sees what it may of the shared history, and what it says becomes part of that. The turn
 * gets the next number, so that whoever looks for evidence later can tell this turn's from the others'.
 */
import type { Expr, Input, MeterId, NodeId, Write } from '../../../ir/nodes.ts';
import { REPLY, TALK } from '../../lower/agent-turn/slots.ts';
import { addTurn } from '../../lower/agent-turn/agent-turn.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import type { Range } from '../../source/range.ts';
import { HANDOFF } from './agents.ts';
import { recapOf } from './compaction.ts';
import { assemble, reminder } from './context.ts';
import { addPick, member } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Member } from './model.ts';
import { CONTEXT, HISTORY, SAID, SIGNAL, TURN, TURNS, set } from './slots.ts';

export interface TeamTurn {
  readonly agent: string;
  readonly hint: string;
  readonly origin: string;
  /** What `path` lists; absent for turns that it leaves out. */
  readonly enters?: string;
  readonly begin?: NodeId;
  readonly at?: Range;
  readonly opening?: readonly Write[];
  /** Meters that it charges beside the session's. */
  readonly charges?: readonly MeterId[];
  /** What the agent is told, instead of the shared history. */
  readonly input?: Input;
  /** Whether what it says becomes part of the shared history. Yes, unless told. */
  readonly shared?: boolean;
  /** Whether the turn counts among the session's. Yes, unless told. */
  readonly counts?: boolean;
  readonly visitsMax?: number;
  readonly next: NodeId;
  readonly fail?: NodeId;
}

/** A turn that is named after the agent who has it, and begins where whoever hands over to the agent expects it. */
export function addTurnOf(l: Lowering, agent: string, next: NodeId, opening: readonly Write[] = []): NodeId {
  const at = l.at('Agents', l.team.names.indexOf(agent), 'Name');
  const begin = l.builder.idOf(agent);
  return addTeamTurn(l, { agent, hint: agent, origin: agent, enters: agent, begin, at, opening, next });
}

/** Afterwards `said` holds the message and `signal` the keyword of a handoff call, if there was one. */
export function addTeamTurn(l: Lowering, turn: TeamTurn): NodeId {
  const who = member(l, turn.agent);
  const { hint, origin, enters, at, opening = [], counts = true } = turn;
  const told = turn.input ?? sharedInput(l, who);
  const prepares = turn.input === undefined && who.sources !== null;
  // A session that ends here returns what was said before.
  const over = l.builder.failedEnd(SAID);
  return addTurn(l.builder, {
    agent: who.name,
    hint,
    origin,
    ...(enters === undefined ? {} : { enters: `${l.prefix}${enters}` }),
    ...(turn.begin === undefined ? {} : { begin: turn.begin }),
    ...(at === undefined ? {} : { at }),
    charges: [...(counts && l.meter !== null ? [l.meter] : []), ...(turn.charges ?? [])],
    opening: [...numbered(who.name, counts), ...opening],
    input: told,
    tools: who.tools,
    ...(who.hands ? { closing: HANDOFF } : {}),
    callsMax: who.callsMax,
    // A plugin is granted by the author: a call passes every stage, but needs a person only where something written asks for one.
    gate: 'granted',
    visitsMax: turn.visitsMax ?? l.turnsMax,
    ...(prepares
      ? { prepare: (ask: NodeId) => assemble(l, who.sources, `${hint}.context`, origin, ask, who.name) }
      : {}),
    next: addCommit(l, turn, who),
    fail: turn.fail ?? over,
    refused: over,
  });
}

/** A turn beside the session's has a number between those of its neighbours. */
function numbered(agent: string, counts: boolean): readonly Write[] {
  return counts
    ? [set(TURN, `size(${TURNS}) + 1`), { slot: TURNS, mode: 'append', value: quote(agent) }]
    : [set(TURN, `size(${TURNS}) + 0.5`)];
}

function sharedInput(l: Lowering, who: Member): Input {
  const recap = recapOf(l.team);
  const view = { ...(who.view as { [field: string]: never } | null), ...(recap === null ? {} : { keep: recap.keep }) };
  return {
    history: HISTORY,
    ...(Object.keys(view).length === 0 ? {} : { view: literal(view) }),
    ...(recap === null ? {} : { recap: recap.text }),
    ...(who.sources === null ? {} : { context: `${CONTEXT}.text`, prompt: reminder() }),
  };
}

/** What was said is stored by reference; only a turn that ended without a word has its message put together. */
function addCommit(l: Lowering, { hint, origin, shared = true, next }: TeamTurn, who: Member): NodeId {
  const handed: Expr = who.hands
    ? `cel.bind(h, ${REPLY}.toolCalls.filter(c, c.name == ${quote(HANDOFF)}), size(h) == 0 ? null : trim(text(h[0].args.route_keyword)))`
    : 'null';
  const store = (kind: string, content: Expr, withSteps: boolean): NodeId => {
    const item = {
      author: quote(who.name),
      role: quote('assistant'),
      content,
      turn: TURN,
      ...(withSteps ? { steps: TALK } : {}),
    };
    const writes: Write[] = [
      ...(shared ? [{ slot: HISTORY, mode: 'append', value: item } as const] : []),
      set(SAID, content),
      set(SIGNAL, withSteps ? handed : 'null'),
    ];
    return l.builder.add(l.builder.fresh(`${hint}.${kind}`), { op: 'let', label: { name: origin }, writes, next });
  };
  const spoken = `cel.bind(t, ${TALK}.filter(m, m.role == "assistant" && m.content != ""), size(t) > 0 ? t[size(t) - 1].content : text(${handed}))`;
  return addPick(
    l,
    `${hint}.commit`,
    origin,
    [
      { when: `size(${TALK}) == 1`, to: store('said', `${REPLY}.text`, false) },
      { when: `${REPLY}.text != ""`, to: store('done', `${REPLY}.text`, true) },
    ],
    store('mute', spoken, true),
  );
}
