/** The inbox of `sluice approvals` on a terminal: choose a question, see it whole, answer it. */
import { present } from '../../expr/present.ts';
import type { Waiting } from '../../runtime/engine/types.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { askPerson, currentUser, prompt } from './ask-person.ts';
import { answerCommand } from './commands/answer.ts';
import type { Cli } from './context.ts';
import { OK, type ExitStatus } from './exit-status.ts';
import { approversLine } from './report-text.ts';
import { framed, oneLine, seconds } from './text.ts';
import type { WorldOptions } from './world.ts';

/** A question, and the options that its run needs to go on as it began. */
export interface OpenQuestion {
  readonly question: Waiting;
  readonly world: Pick<WorldOptions, 'script'>;
}

const NEVER: Promise<never> = new Promise(() => undefined);

/** Asks until the person leaves or nothing waits any more. `load` gives the open questions. */
export async function openInbox(
  cli: Cli,
  options: WorldOptions,
  load: () => Promise<readonly OpenQuestion[]>,
): Promise<ExitStatus> {
  for (;;) {
    const waiting = await load();
    if (waiting.length === 0) {
      cli.hint('nothing waits for an answer');
      return OK;
    }
    const chosen = await choose(cli, waiting);
    if (chosen === null) return OK;
    await answer(cli, { ...chosen.world, ...options }, chosen.question);
  }
}

async function choose(cli: Cli, waiting: readonly OpenQuestion[]): Promise<OpenQuestion | null> {
  cli.screen.note(
    waiting.map((each, index) => `${String(index + 1).padStart(3)}  ${lineOf(each.question)}`).join('\n'),
  );
  const typed = await prompt('Which one? A number, or q to leave: ', NEVER, (given) =>
    /^q/i.test(given.trim()) || waiting[Number(given) - 1] !== undefined
      ? null
      : `Type a number from 1 to ${waiting.length}, or q.`,
  );
  return typed === null || /^q/i.test(typed) ? null : (waiting[Number(typed) - 1] ?? null);
}

function lineOf({ node, message, run, askedAt, expiresAt }: Waiting): string {
  const age = seconds(Math.max(0, Date.now() - Date.parse(askedAt)));
  const until = expiresAt === null ? '' : `, until ${expiresAt}`;
  return `${oneLine(node, 30)}: ${oneLine(message, 60)}  (${run}, for ${age}${until})`;
}

/** A refused answer is shown, and the question stays in the list. */
async function answer(cli: Cli, options: WorldOptions, question: Waiting): Promise<void> {
  const people = approversLine(question);
  if (people !== '') cli.screen.note(people);
  const who = await identity(question);
  if (who === null) return;
  const answered = await askPerson(cli.screen, [question], NEVER, who.as);
  if (answered === null) return;
  const { choice, text, edit, payload } = answered.answer;
  try {
    await answerCommand(cli, question.id, choice, {
      ...options,
      ...who,
      ...present({ text, payload, edit: edit === undefined ? undefined : JSON.stringify(edit) }),
    });
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    for (const line of [error.message, error.help]) if (line !== undefined) cli.screen.note(framed(line));
  }
}

/** Null if the person leaves. */
async function identity({ approvers }: Waiting): Promise<{ readonly as: string; readonly key?: string } | null> {
  if (approvers === null) return { as: currentUser() };
  const names = approvers.people.join(', ');
  const as = await prompt(`Your name (${names}): `, NEVER, (given) => (given.trim() === '' ? 'Type your name.' : null));
  if (as === null) return null;
  if (approvers.people.includes(as) && !approvers.signing.includes(as)) return { as };
  const key = await prompt(
    'Your key: a file, or its name in `sluice keys list`; empty without one: ',
    NEVER,
    () => null,
  );
  return key === null ? null : { as, ...(key === '' ? {} : { key }) };
}
