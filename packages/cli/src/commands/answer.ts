/** `sluice answer`: records an answer, then follows the run until it waits or ends. */
import { present } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { GivenAnswer, OpenedRun, Store } from '@sluice-internal/engine/ports';
import { questionsOf } from '@sluice-internal/engine/report';
import { readJson, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { choiceMeant, currentUser, personHere } from '../session/ask-person.ts';
import type { Options } from '../table/command-table.ts';
import { requireNext, withRunSession } from '../session/continue-run.ts';
import { followToResult } from '../session/follow.ts';
import { readKey } from './keys.ts';
import { demandDatabase } from '../session/store.ts';

export async function answerCommand(
  cli: Cli,
  id: string,
  choice: string,
  options: Options<'answer'>,
): Promise<ExitStatus> {
  if (options.edit !== undefined && options.data !== undefined)
    throw usage('`--data` and `--edit` both pass the data of the answer', 'Give one of the two.');
  const edit = readJson('--edit', options.edit) ?? readJson('--data', options.data);
  const { text, payload } = options;
  const key = options.key === undefined ? undefined : readKey(cli, options.key);
  const given: GivenAnswer = { choice, by: options.as ?? currentUser(), ...present({ edit, text, payload, key }) };
  demandDatabase(cli, 'approval-not-found', `there is no approval \`${id}\``);
  return withRunSession(cli, runAsking, id, options, async (session, opened) => {
    const { run, program, seq, state } = opened;
    // Without `--as`, the person whose user this is; the user itself if the run has no people.
    const by = options.as === undefined ? (personHere(program.flow.people) ?? given.by) : given.by;
    const choices = questionsOf(program, state).find((each) => each.id === id)?.choices ?? [];
    const answer = { ...given, by, choice: choiceMeant(choice, choices) };
    demandContent(opened, id, answer);
    await requireNext(session, opened, options, { type: 'answer', id, answer });
    await session.engine.answer(id, answer);
    return followToResult(cli, session, run, seq);
  });
}

/** An approval's id contains the id of its run. */
async function runAsking(_: Cli, { index }: Store, id: string): Promise<RunId> {
  const entry = await index.find(id.slice(2, id.indexOf('.')));
  if (entry !== null) return entry.run;
  throw new SluiceError('approval-not-found', `there is no approval \`${id}\``, 'List them with `sluice approvals`.');
}

/** Refuses a choice without the data (`--edit`) or the text that it needs before anything is recorded. */
function demandContent({ program, state }: OpenedRun, id: string, answer: GivenAnswer): void {
  if (answer.edit !== undefined || answer.text !== undefined) return;
  const question = questionsOf(program, state).find((each) => each.id === id);
  const needs = question?.choices.includes(answer.choice) === true ? question.needs[answer.choice] : undefined;
  if (needs === 'edit') {
    const isCall = question?.kind === 'tool_call';
    throw usage(
      `\`${answer.choice}\` needs ${isCall ? 'the arguments to call with' : 'data'}`,
      `Give ${isCall ? 'them' : 'it'} as JSON: sluice answer ${id} ${answer.choice} ${isCall ? '--edit' : '--data'} '{"amount": 20}'`,
    );
  }
  if (needs !== undefined)
    throw usage(`\`${answer.choice}\` needs a text`, `Add it: sluice answer ${id} ${answer.choice} --text "…"`);
}
