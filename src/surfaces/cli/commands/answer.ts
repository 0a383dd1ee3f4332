/** `sluice answer`: records an answer, then follows the run until it waits or ends. */
import type { RunId } from '../../../ir/events.ts';
import type { Store } from '../../../runtime/ports.ts';
import type { GivenAnswer } from '../../../runtime/engine/identity.ts';
import { currentUser } from '../ask-person.ts';
import type { Cli } from '../context.ts';
import { statusOfRun, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { readKey } from '../keys.ts';
import { personHere } from '../person.ts';
import { foresee, headOf } from '../store.ts';
import { readJson } from '../option-values.ts';
import { checkCode } from '../pinned.ts';
import { withRunSession, type ContinueOptions } from '../recorded-script.ts';
import type { Session } from '../session.ts';
import { demandDatabase } from '../store.ts';
import { usage } from '../usage.ts';
import { requireNext } from '../world.ts';

export interface AnswerOptions extends ContinueOptions {
  readonly edit?: string;
  readonly text?: string;
  readonly as?: string;
  readonly key?: string;
  readonly payload?: string;
}

export async function answerCommand(cli: Cli, id: string, choice: string, options: AnswerOptions): Promise<ExitStatus> {
  const edit = readJson('--edit', options.edit);
  const { text, payload } = options;
  const key = options.key === undefined ? undefined : readKey(cli, options.key);
  const given: GivenAnswer = {
    choice,
    by: options.as ?? currentUser(),
    ...(edit === undefined ? {} : { edit }),
    ...(text === undefined ? {} : { text }),
    ...(payload === undefined ? {} : { payload }),
    ...(key === undefined ? {} : { key }),
  };
  demandDatabase(cli, 'approval-not-found', `there is no approval \`${id}\``);
  const find = async (store: Store): Promise<RunId | null> => (await store.roster.find(runOf(id)))?.run ?? null;
  return withRunSession(cli, options, find, async (session) => {
    const answer = options.as === undefined ? { ...given, by: await nameHere(session, id, given.by) } : given;
    await demandContent(session, id, answer);
    if ((await session.store.roster.find(runOf(id))) !== null) await checkCode(session, runOf(id), options);
    const known = await seqBefore(session, id);
    if (known > 0) requireNext(session.world, await foresee(session.store, runOf(id), { type: 'answer', id, answer }));
    const run = await session.engine.answer(id, answer);
    const report = await follow(cli, session, run, known);
    if (cli.json) cli.printJson(report);
    else printOutcome(cli, session.world.flags, report);
    return statusOfRun(report);
  });
}

/** Without `--as`, the person whose user this is; the user itself if the run has no people. */
async function nameHere({ store }: Session, id: string, user: string): Promise<string> {
  if ((await store.roster.find(runOf(id))) === null) return user;
  return personHere((await headOf(store, runOf(id))).flow.people) ?? user;
}

/** Refuses a choice without the data (`--edit`) or the text that it needs before anything is recorded. */
async function demandContent({ engine, store }: Session, id: string, answer: GivenAnswer): Promise<void> {
  const run = runOf(id);
  if (answer.edit !== undefined || answer.text !== undefined || (await store.roster.find(run)) === null) return;
  const question = (await engine.approvals(run)).find((each) => each.id === id);
  const needs = question?.choices.includes(answer.choice) === true ? question.needs[answer.choice] : undefined;
  if (needs === 'edit') {
    const isCall = question?.kind === 'tool_call';
    throw usage(
      `\`${answer.choice}\` needs ${isCall ? 'the arguments to call with' : 'data'}`,
      `Give ${isCall ? 'them' : 'it'} as JSON: sluice answer ${id} ${answer.choice} --edit '{"amount": 20}'`,
    );
  }
  if (needs !== undefined)
    throw usage(`\`${answer.choice}\` needs a text`, `Add it: sluice answer ${id} ${answer.choice} --text "…"`);
}

/** An approval's id contains the id of its run. */
async function seqBefore({ store }: Session, id: string): Promise<number> {
  const run = runOf(id);
  return (await store.roster.find(run)) === null ? 0 : (await headOf(store, run)).seq;
}

function runOf(id: string): string {
  return id.slice(2, id.indexOf('.'));
}
