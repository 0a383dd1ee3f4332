/**
 * Where a session keeps what it knows. `history` is what all agents share, appended to and never changed; `turns` names who
 * had each turn; `said` is the last message and `signal` the keyword of a handoff call in it; `bad` counts the turns in a
 * row that led nowhere; `fails` counts the refusals of one route in a row.
 */
import { OBSERVATIONS } from '../../lower/agent-turn/slots.ts';
import type { Expr, Write } from '../../../ir/nodes.ts';
import { isIdentifier, quote } from '../../expressions/cel-text.ts';

export const HISTORY = 'history';
export const TURNS = 'turns';
export const TURN = 'turn';
export const SAID = 'said';
export const SIGNAL = 'signal';
export const HEARD = 'heard';
export const BAD = 'bad';
export const FAILS = 'fails';
export const RECOVERED = 'recovered';
export const VERDICT = 'verdict';
export const FAULT = 'fault';
export const IDLE = 'idle';
export const BROKEN = 'broken';
export const STATE = 'state';
/** What branches came to, in their order. */
export const BRANCHES = 'branches';
/** Whether a branch has said what ends the session. */
export const ENDED = 'ended';
/** Set where something was let go on that is not as good as it should be: the session is a partial success at best. */
export const PARTIAL = 'partial';
export const CONTEXT = 'context';
export const ANSWER = 'answer';
/** A correction for somebody who does not see the shared history. */
export const NOTE = 'note';
/** Who writes what no agent and no user wrote. */
export const ENGINE = 'sluice';

export function set(slot: string, value: Expr): Write {
  return { slot, mode: 'set', value };
}

/** The slots of a session that begins. */
export function begin(): readonly Write[] {
  return [
    { slot: HISTORY, mode: 'append', value: { author: quote('user'), role: quote('user'), content: 'input' } },
    set(TURNS, '[]'),
    set(OBSERVATIONS, '[]'),
    ...clean(),
  ];
}

/** After a turn that led somewhere, nothing counts against anybody. */
export function clean(): readonly Write[] {
  return [set(BAD, '0'), set(FAILS, '{}'), set(IDLE, '0'), set(BROKEN, '0')];
}

/** A message of the engine's own in the shared history. */
export function tell(content: Expr, to: string | null, more: { readonly [field: string]: Expr } = {}): Write {
  const addressee: { readonly [field: string]: Expr } = to === null ? {} : { to: quote(to) };
  return {
    slot: HISTORY,
    mode: 'append',
    value: { author: quote(ENGINE), role: quote('user'), ...addressee, content, turn: TURN, ...more },
  };
}

/** A count of one kind among several, such as the refusals of one edge; zero while there was none. */
export function count(slot: string, key: string): Expr {
  const read = isIdentifier(key) ? `${slot}.${key}` : `${slot}[${quote(key)}]`;
  return `(${read} == null ? 0 : ${read})`;
}

/** What a person said beside the choice, as a further sentence; nothing where nothing was said. */
export function remark(): Expr {
  return `(trim(text(${ANSWER}.text)) == "" ? "" : text(" ", ${ANSWER}.text))`;
}

/** A text, or the items of a list line by line. */
export function lined(value: Expr): Expr {
  return `(type(${value}) == list ? join(${value}.map(m, text(m)), ${quote('\n')}) : text(${value}))`;
}
