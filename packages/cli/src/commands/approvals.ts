/** `sluice approvals`: open questions, each with the commands that answer it. */
import { present } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError, allOf } from '@sluice-internal/engine/ports';
import type { Page, PageRequest, Store, Waiting } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { waitingOf } from '@sluice-internal/engine/report';
import { OK, fitted, framed, oneLine, plural, readWhole, seconds, table } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { answerLines, approversLine, escalationLine } from '../view/report-text.ts';
import { flagsOf, scriptOf } from '../table/command-name.ts';
import type { Options } from '../table/command-table.ts';
import { QUESTION_LINES_MAX, fittedSections, sectionsOf } from '../view/question.ts';
import { findRun, withStore } from '../session/store.ts';
import type { WorldOptions } from '../session/world.ts';
import { askPerson, currentUser, prompt } from '../session/ask-person.ts';
import { answerCommand } from './answer.ts';

export async function approvalsCommand(
  cli: Cli,
  given: string | undefined,
  options: Options<'approvals'>,
): Promise<ExitStatus> {
  if (cli.screen.interactive && !cli.json && !cli.quiet)
    return openInbox(cli, options, async () => (await waitingPage(cli, given, null)).items);
  const limit = readWhole('--limit', options.limit, 1);
  const { cursor } = options;
  const isPaged = cursor !== undefined || limit !== undefined;
  const { items: waiting, next } = await waitingPage(cli, given, isPaged ? present({ cursor, limit }) : null);
  const questions = waiting.map(({ question }) => question);
  if (cli.json) cli.printJson(isPaged ? { items: questions, next } : questions);
  else if (waiting.length === 0) cli.hint('there are no open questions');
  else {
    const flags = ({ world }: OpenQuestion): string => flagsOf(cli, { ...world, ...options });
    cli.screen.print(waiting.map((each) => block(each.question, flags(each), cli.screen.width())).join('\n\n'));
  }
  if (next !== null && !cli.json) cli.hint(`there are more; add \`--cursor ${next}\` for the next page`);
  return OK;
}

/** Without a page request: all questions. Each run is read once. */
function waitingPage(cli: Cli, given: string | undefined, page: PageRequest | null): Promise<Page<OpenQuestion>> {
  return withStore(cli, async (store) => {
    const { index } = store;
    const run = given === undefined ? undefined : await findRun(cli, store, given);
    if (run !== undefined && page === null) return { items: await waitingIn(store, run), next: null };
    const whose = present({ run });
    const { items, next } =
      page === null
        ? { items: await allOf((each) => index.questions({ ...whose, ...each })), next: null }
        : await index.questions({ ...whose, ...page });
    const found = new Map<RunId, readonly OpenQuestion[]>();
    for (const asked of items)
      if (!found.has(asked.run))
        found.set(
          asked.run,
          await waitingIn(store, asked.run).catch((error: unknown) => leftOut(cli, asked.run, error)),
        );
    const questions = items.flatMap(({ run: of, id }) =>
      (found.get(of) ?? []).filter(({ question }) => question.id === id),
    );
    return { items: questions, next };
  });
}

/** A run that was changed from outside must not hide the questions of the others. */
function leftOut({ screen }: Cli, run: RunId, error: unknown): readonly OpenQuestion[] {
  if (!(error instanceof SluiceError)) throw error;
  screen.note(
    `${screen.colors.yellow(`warning[${error.code}]`)}: ${framed(`the questions of ${run} are left out: ${error.message}`)}`,
  );
  return [];
}

async function waitingIn(store: Store, run: RunId): Promise<readonly OpenQuestion[]> {
  const read = await readRun(store.journal, run);
  const world = scriptOf(read.state);
  return waitingOf(read).map((question) => ({ question, world }));
}

function block(waiting: Waiting, flags: string, width: number): string {
  const { id, run, node, packet, approvers } = waiting;
  const whose = escalationLine(waiting);
  const commands = answerLines(waiting, flags).map((line) => ['answer', line]);
  const column = Math.min(TEXT_WIDTH, width - NAMES_WIDTH);
  const head = [
    ['question', oneLine(packet.question, QUESTION_WIDTH)],
    ['approval', `${id}  run ${run}, node ${oneLine(node)}`],
  ];
  const about = [
    ...(whose === '' ? [] : [['goes to', whose]]),
    ...(approvers === null ? [] : [['people', approversLine(waiting)]]),
  ];
  const room = QUESTION_LINES_MAX - head.length - about.length - commands.length - 1;
  const sections = sectionsOf(waiting);
  const { rows, left } = fittedSections(sections, column, Math.max(sections.length, room));
  const more = left > 0 ? [['', `${plural(left, 'more line')}: \`approvals --json\` has all`]] : [];
  const fitting = (rows: readonly (readonly string[])[]): string[][] =>
    rows.map(([name = '', value = '']) => [name, fitted(value, width - NAMES_WIDTH)]);
  return table([...fitting(head), ...rows, ...fitting([...more, ...about]), ...commands]);
}

const TEXT_WIDTH = 110;
const QUESTION_WIDTH = 400;
/** The longest name of a row, the gap, and the mark of a broken line. */
const NAMES_WIDTH = 14;

/** A question, and the options that its run needs to go on as it began. */
interface OpenQuestion {
  readonly question: Waiting;
  readonly world: Pick<WorldOptions, 'script'>;
}

const NEVER: Promise<never> = new Promise(() => undefined);

/** Asks until the person leaves or nothing waits any more. `load` gives the open questions. */
async function openInbox(
  cli: Cli,
  options: WorldOptions,
  load: () => Promise<readonly OpenQuestion[]>,
): Promise<ExitStatus> {
  for (;;) {
    const waiting = await load();
    if (waiting.length === 0) {
      cli.hint('there are no open questions');
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
