/** Asks whoever sits at the terminal. Never called without one: the prompts would wait for ever. */
import { userInfo } from 'node:os';
import type { Json } from '../../expr/json.ts';
import type { Answer } from '../../ir/events.ts';
import type { Waiting } from '../../runtime/engine/types.ts';
import { harmless, oneLine } from './text.ts';

export interface Answered {
  readonly id: string;
  readonly answer: Answer;
}

const LATER = '\u0000later';

/** Null when nobody wants to answer now. */
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
    message: harmless(question.message),
    options: [
      ...question.choices.map((value) => ({ value, label: harmless(value) })),
      { value: LATER, label: 'decide later' },
    ],
  });
  if (isCancel(choice) || choice === LATER) return null;
  const edits = choice === 'edit' && isCall(question.payload);
  const message = edits ? 'The arguments to call with, as JSON:' : 'What do you want to say?';
  const validate = (given = ''): string | undefined =>
    edits && parsed(given) === undefined ? 'That is no JSON.' : undefined;
  const said = NEEDS_WORDS.has(choice) ? await text({ ...io, message, validate }) : undefined;
  if (isCancel(said)) return null;
  return {
    id: question.id,
    answer: {
      choice,
      by: currentUser(),
      payload: question.payloadHash,
      ...(said === undefined || said === '' ? {} : edits ? { edit: parsed(said) } : { text: said }),
    },
  };
}

/** Whoever is logged in here; a container may have nobody by that number. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'cli';
  }
}

const NEEDS_WORDS: ReadonlySet<string> = new Set(['respond', 'edit']);

/** Whether somebody is asked about a call of a tool. */
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
