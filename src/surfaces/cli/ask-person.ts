/** Asks the person at the terminal. Call it only on a terminal: the prompts wait for input. */
import { userInfo } from 'node:os';
import type { Json } from '../../expr/json.ts';
import type { Answer } from '../../ir/events.ts';
import type { Waiting } from '../../runtime/engine/types.ts';
import { framed, harmless, oneLine } from './text.ts';

export interface Answered {
  readonly id: string;
  readonly answer: Answer;
}

const LATER = '\u0000later';

/** Null if the person postpones the answer. */
export async function askPerson(waiting: readonly Waiting[], interrupted: Promise<unknown>): Promise<Answered | null> {
  const { isCancel, note, select, text } = await import('@clack/prompts');
  const stop = new AbortController();
  void interrupted.then(() => stop.abort());
  const io = { input: process.stdin, output: process.stderr, signal: stop.signal };
  const question = waiting[0];
  if (question === undefined) return null;
  if (hasContent(question.payload))
    note(harmless(JSON.stringify(question.payload, null, 2)), oneLine(question.node), { output: process.stderr });
  const choice = await select({
    ...io,
    message: framed(question.message),
    options: [
      ...question.choices.map((value) => ({ value, label: oneLine(value) })),
      { value: LATER, label: 'decide later' },
    ],
  });
  if (isCancel(choice) || choice === LATER) return null;
  const edits = choice === 'edit' && isCall(question.payload);
  const message = edits ? 'The arguments to call with, as JSON:' : 'What do you want to say?';
  const validate = (given = ''): string | undefined =>
    edits && parsed(given) === undefined ? 'That is not valid JSON.' : undefined;
  const typed = NEEDS_WORDS.has(choice) ? await text({ ...io, message, validate }) : undefined;
  if (isCancel(typed)) return null;
  return {
    id: question.id,
    answer: {
      choice,
      by: currentUser(),
      payload: question.payloadHash,
      ...(typed === undefined || typed === '' ? {} : edits ? { edit: parsed(typed) } : { text: typed }),
    },
  };
}

/** The name of the current user. In a container the user id may have no name. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'cli';
  }
}

const NEEDS_WORDS: ReadonlySet<string> = new Set(['respond', 'edit']);

/** True if the question is about a tool call. */
function isCall(payload: Json): boolean {
  return typeof payload === 'object' && payload !== null && 'tool' in payload;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function hasContent(payload: unknown): boolean {
  return typeof payload === 'object' && payload !== null && Object.keys(payload).length > 0;
}
