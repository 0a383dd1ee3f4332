/**
 * The slots of a session. `history` holds the messages that all agents share and is only appended to; `turns` lists the
 * agent of each turn; `message` is the last message and `signal` the keyword of its handoff call; `bad` counts bad turns in a
 * row; `fails` counts refusals in a row for each route; `rejected` holds the last message if it was refused.
 */
import { OBSERVATIONS, append, set } from '@sluice-internal/compile/lower';
import type { Expr, Write } from '@sluice-internal/kernel/ir';
import { isIdentifier, quote } from '@sluice-internal/compile/expressions';

export const HISTORY = 'history';
export const TURNS = 'turns';
export const TURN = 'turn';
export const MESSAGE = 'message';
/** The last message with the reasons, if it was refused; else null. */
export const REJECTED = 'rejected';
/** The output of a session that does not succeed. A refused message is never the output. */
export const OUTPUT = `${REJECTED} == null ? ${MESSAGE} : null`;
/** The place whose turn wrote the last message; only of a team with a verifier. */
export const SPEAKER = 'speaker';
/** How often the verdict on the end went back to an agent. */
export const REFLECTED = 'reflected';
export const SIGNAL = 'signal';
export const MATCHED = 'matched';
export const BAD = 'bad';
/** The value of `bad` after one more bad turn. */
export const ONE_MORE_BAD = `${BAD} + 1`;
export const FAILS = 'fails';
export const RECOVERED = 'recovered';
export const VERDICT = 'verdict';
/** The calls that satisfied the checks of a gate that asks a person, since the agent got the word. */
export const PROVEN = 'proven';
export const FAULT = 'fault';
/** The turn from which the evidence of the current agent counts; null if the next turn is an entry. */
export const ENTRY = 'entry';
/** Ids of observations since the entry that a refusal named. They count no more. */
export const VOIDED = 'voided';
/** The gates of the agent's keywords, with what each still needs. */
export const OPEN = 'open';
/** The entry in which the author of a silent message already had a second turn. */
export const ASKED = 'asked';
/** Stands for the turns that agents no longer see: `{ text, upTo }`. It changes in steps, so that the beginning of requests stays. */
export const RECAP = 'recap';
export const IDLE = 'idle';
export const BROKEN = 'broken';
export const STATE = 'state';
/** The last verdict of each contract, by name. */
export const CONTRACTS = 'contracts';
/** The outcomes of branches, in their order. */
export const BRANCHES = 'branches';
/** True if a message of a branch matched a termination. */
export const ENDED = 'ended';
/** True if unapproved work was let through: the session is a partial success at best. */
export const PARTIAL = 'partial';
export const CONTEXT = 'context';
export const ANSWER = 'answer';
/**
 * For agents that do not see the history: `text` is the last message with its handoff call, `by` its author, and `before` the
 * last message of another author.
 */
export const DIRECTIVE = 'directive';
/** A correction for a model that does not see the shared history. */
export const NOTE = 'note';
/** The author of messages that neither an agent nor the user wrote. */
const ENGINE = 'sluice';

/** The writes that begin a session. */
export function begin(): readonly Write[] {
  return [
    append(HISTORY, { author: quote('user'), role: quote('user'), content: 'input' }),
    set(TURNS, '[]'),
    set(OBSERVATIONS, '[]'),
    ...clean(),
  ];
}

/**
 * The writes after a turn that took a route: all counters start again. A route from a place to itself is no entry, so the
 * evidence stays.
 */
export function clean(entry = true): readonly Write[] {
  return [set(BAD, '0'), set(FAILS, '{}'), set(IDLE, '0'), set(BROKEN, '0'), ...(entry ? [leave()] : [])];
}

/** The next turn is an entry. */
export function leave(): Write {
  return set(ENTRY, 'null');
}

/** The writes at the start of a turn that is an entry if a route led to it. */
export function enter(turn: Expr): readonly Write[] {
  return [set(VOIDED, `${ENTRY} == null ? [] : ${VOIDED}`), set(ENTRY, `${ENTRY} == null ? ${turn} : ${ENTRY}`)];
}

/** A message of the engine in the shared history. */
export function tell(content: Expr, to: string | null, more: { readonly [field: string]: Expr } = {}): Write {
  const addressee: { readonly [field: string]: Expr } = to === null ? {} : { to: quote(to) };
  return append(HISTORY, { author: quote(ENGINE), role: quote('user'), ...addressee, content, turn: TURN, ...more });
}

/** One counter of several, such as the refusals of one edge. */
export function count(slot: string, key: string): Expr {
  const read = isIdentifier(key) ? `${slot}.${key}` : `${slot}[${quote(key)}]`;
  return `(${read} == null ? 0 : ${read})`;
}

/** Marks the last message as refused. */
export function reject(reason: Expr): Write {
  return set(REJECTED, { text: `text(${MESSAGE})`, reasons: `[${reason}]` });
}

/** The text of a person's answer as a further sentence, or nothing. */
export function remark(): Expr {
  return `(trim(text(${ANSWER}.text)) == "" ? "" : text(" ", ${ANSWER}.text))`;
}

/** The text of a remote agent inside `<data>` tags, so that models treat it as data and not as instructions. */
export function fenced(author: Expr, content: Expr): Expr {
  const data = `text(${content}).replace("</data>", "<\\\\/data>")`;
  return `text("<data from=\\"", ${author}, " (remote agent)\\">\\n", ${data}, "\\n</data>")`;
}

/** A text as it is, a list as one line for each item. */
export function lined(value: Expr): Expr {
  return `(type(${value}) == list ? join(${value}.map(m, text(m)), ${quote('\n')}) : text(${value}))`;
}
