/** Asks the person at the terminal. Call it only on a terminal: the prompts wait for input. No choice is preselected. */
import { checkedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Answer, PeopleDef } from '@sluice-internal/kernel/ir';
import type { Waiting } from '@sluice-internal/engine/ports';
import { harmless, oneLine, plural, unpadded, wrap } from '@sluice-internal/library/documents';
import type { Screen } from '@sluice-internal/library/documents';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { packetLines } from '../view/packet.ts';
import { QUESTION_LINES_MAX, fittedSections, sectionLines, sectionsOf } from '../view/question.ts';
import { escalationLine } from '../view/report-text.ts';

export interface Answered {
  readonly id: string;
  readonly answer: Answer;
}

const LATER = 'decide later';

/** Null if the person postpones the answer. */
export async function askPerson(
  screen: Screen,
  waiting: readonly Waiting[],
  interrupted: Promise<unknown>,
  by = currentUser(),
): Promise<Answered | null> {
  const question = waiting[0];
  if (question === undefined) return null;
  const options = [...question.choices, LATER];
  screen.note(boxOf(question, options, screen).join('\n'));
  const typed = await prompt('Your choice, as number or name: ', interrupted, (given) => {
    if (chosen(given, options) !== undefined) return null;
    const isMore = chosen(given, [MORE]) !== undefined;
    return isMore ? wholeOf(question, screen) : `Type a number from 1 to ${options.length}, a name, or \`${MORE}\`.`;
  });
  const choice = typed === null ? undefined : chosen(typed, options);
  if (choice === undefined || choice === LATER) return null;
  const needs = question.needs[choice];
  const added = needs === undefined ? '' : await content(question, needs, interrupted);
  if (added === null) return null;
  return {
    id: question.id,
    answer: {
      choice,
      by,
      payload: question.payload,
      ...(needs === undefined ? {} : needs === 'edit' ? { edit: parsed(added) } : { text: added }),
    },
  };
}

/** The data or the text that comes with a choice, as it was typed. Null if the person leaves. */
function content(
  { kind }: Waiting,
  needs: 'edit' | 'text' | 'either',
  interrupted: Promise<unknown>,
): Promise<string | null> {
  if (needs !== 'edit')
    return prompt('Your words: ', interrupted, (given) => (given.trim() === '' ? 'Type a text.' : null));
  return prompt(
    kind === 'tool_call' ? 'The arguments to call with, as JSON: ' : 'The data, as JSON: ',
    interrupted,
    (given) => (parsed(given) === undefined ? 'That is not valid JSON.' : null),
  );
}

/**
 * The question, its packet and its choices, as lines that fit the terminal: at most 25. A second bar marks lines that a model can
 * write.
 */
export function boxOf(question: Waiting, options: readonly string[], { colors, columns }: Screen): readonly string[] {
  const width = Math.max(20, columns() - 3);
  const goesTo = escalationLine(question);
  const asked = wrap(unpadded(harmless(question.packet.question)), width - 2);
  const after = [
    ...(goesTo === '' ? [] : wrap(`goes to: ${goesTo}`, width).slice(0, 2)),
    '',
    ...options.map((option, index) => `${index + 1}  ${oneLine(option, width - 4)}`),
  ];
  // The two edges, and the line that names what is left out.
  const room = QUESTION_LINES_MAX - after.length - 3;
  const head = asked.slice(0, QUESTION_MAX);
  const { rows, left } = fittedSections(sectionsOf(question), width - 2, Math.max(1, room - head.length - 1));
  const more = left + asked.length - head.length;
  const inside = [
    ...head.map((line, index) => (index === 0 ? line : `┆ ${line}`)),
    '',
    ...sectionLines(rows).map((line) => `┆ ${line}`),
    ...(more > 0 ? [`… ${plural(more, 'more line')}: type \`${MORE}\``] : []),
    ...after,
  ];
  return [
    `${colors.yellow('┌')} ${colors.bold(oneLine(question.node, width - 6))} asks`,
    ...inside.map((line) => `${colors.yellow('│')} ${line}`.trimEnd()),
    colors.yellow('└'),
  ];
}

const QUESTION_MAX = 4;
/** Shows everything that is known about the question. */
const MORE = 'more';
const ALL_MAX = 1_000;

/** The whole packet and all data of the question. */
function wholeOf({ packet, data }: Waiting, { columns }: Screen): string {
  const whole = JSON.parse(JSON.stringify({ ...packet, data })) as Json;
  return packetLines(whole, Math.max(20, columns() - 2), ALL_MAX)
    .map((line) => `┆ ${line}`)
    .join('\n');
}

/** Plain answers to a question of yes or no. */
const PLAIN: { readonly [typed: string]: string | undefined } = {
  y: 'approve',
  yes: 'approve',
  n: 'reject',
  no: 'reject',
};

/** The choice that a plain yes or no means; otherwise the choice as it was given. */
export function choiceMeant(given: string, choices: readonly string[]): string {
  const meant = choices.includes(given) ? undefined : PLAIN[given.toLowerCase()];
  return meant !== undefined && choices.includes(meant) ? meant : given;
}

/** A number, a name, the beginning of one name, or yes and no. */
export function chosen(typed: string, options: readonly string[]): string | undefined {
  const given = typed.trim().toLowerCase();
  if (given === '') return undefined;
  if (/^\d+$/.test(given) && !options.includes(given)) return options[Number(given) - 1];
  const names = options.map((option) => option.toLowerCase());
  const exact = names.indexOf(given);
  if (exact >= 0) return options[exact];
  const meant = PLAIN[given];
  if (meant !== undefined && options.includes(meant)) return meant;
  const begun = options.filter((option) => option.toLowerCase().startsWith(given));
  return begun.length === 1 ? begun[0] : undefined;
}

/** Asks again until `problemOf` returns null. The result is null on Ctrl-C, on Ctrl-D and when the command is interrupted. */
export function prompt(
  text: string,
  interrupted: Promise<unknown>,
  problemOf: (given: string) => string | null,
): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, historySize: 0 });
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let isAnswered = false;
  const ask = (): void =>
    lines.question(text, (given) => {
      const problem = problemOf(given);
      if (problem === null) {
        isAnswered = true;
        return resolve(given.trim());
      }
      process.stderr.write(`${problem}\n`);
      ask();
    });
  lines.on('SIGINT', () => lines.close());
  lines.once('close', () => {
    // The prompt ends its line only after an answer.
    if (!isAnswered) process.stderr.write('\n');
    resolve(null);
  });
  void interrupted.then(() => lines.close());
  ask();
  return promise.finally(() => lines.close());
}

/** The name of the current user. In a container the user id may have no name. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'cli';
  }
}

function parsed(text: string): Json | undefined {
  try {
    return checkedJson(text);
  } catch {
    return undefined;
  }
}

/** The person in `people` whose user runs this process. Undefined if there is no such person. */
export function personHere(people: PeopleDef | undefined): string | undefined {
  const user = currentUser();
  return Object.keys(people ?? {}).find(
    (id) => people?.[id]?.key === undefined && (people?.[id]?.osUser ?? id) === user,
  );
}

/** True if the person at the terminal may answer this question here. Signed answers go through `sluice answer`. */
export function mayAnswerHere({ approvers }: Waiting, people: PeopleDef | undefined): boolean {
  const here = personHere(people);
  return approvers === null || (here !== undefined && approvers.people.includes(here));
}
