/** Validators of what was done in the turn: files written, commands passed, a summary left. */
import { isFilled, pathsIn, readBrief, setting } from './artifacts.ts';
import type { Evidence, Validator } from './evidence.ts';
import { matchesPattern, samePath } from './match.ts';
import { isWrite, succeeded } from './records.ts';
import { block, pass } from './verdicts.ts';

export const requireBrief: Validator = async (evidence) => {
  const brief = await readBrief(evidence);
  if (!brief.ok)
    return block(
      'MissingEvidence',
      `The brief is not there yet: ${brief.why}. Write it with \`goal\`, \`files_to_change\` and \`acceptance_criteria\`.`,
    );
  const empty = ['goal', 'files_to_change', 'acceptance_criteria'].filter((field) => !isFilled(brief.value[field]));
  return empty.length === 0
    ? pass()
    : block(
        'MissingEvidence',
        `The brief is incomplete: ${list(empty)} ${empty.length === 1 ? 'is' : 'are'} missing or empty.`,
      );
};

export const requireWriteFile: Validator = (evidence) => {
  const writes = evidence.thisTurn.filter(isWrite);
  const done = writes.filter(succeeded);
  if (done.length > 0) return pass(ids(done));
  const pattern = setting(evidence, 'ShellFallbackPattern');
  const shell =
    pattern === ''
      ? []
      : evidence.commands('turn').filter(({ command, passed }) => passed && matchesPattern(command, pattern));
  if (shell.length > 0) return pass(ids(shell));
  if (writes.length > 0)
    return block(
      'InvalidTransition',
      `Every write of this turn failed. Write the files with write_file, then hand over again.`,
      ids(writes),
    );
  return block(
    'MissingEvidence',
    'No file was written this turn. Code in a message is not on disk: call write_file, then hand over again.',
  );
};

export const requireAllFilesWritten: Validator = async (evidence) => {
  const brief = await readBrief(evidence);
  if (!brief.ok) return block('MissingEvidence', `What has to be written is not known: ${brief.why}.`);
  const written = evidence.filesWritten('session');
  const left = pathsIn(brief.value['files_to_change']).filter((path) => !written.some((each) => samePath(each, path)));
  if (left.length === 0) return pass(writesOf(evidence, pathsIn(brief.value['files_to_change'])));
  return block(
    'MissingEvidence',
    `Not written yet: ${list(left)}. Write every file of \`files_to_change\`, then hand over again.`,
  );
};

export const requireShellPass: Validator = (evidence) => {
  const pattern = setting(evidence, 'RequiredCommandPattern');
  const wanted =
    pattern === ''
      ? ''
      : ` that contains ${list(
          pattern
            .split('|')
            .map((part) => part.trim())
            .filter((part) => part !== ''),
          'or',
        )}`;
  const runs = evidence.commands('turn').filter(({ command }) => pattern === '' || matchesPattern(command, pattern));
  const passed = runs.filter((run) => run.passed);
  if (passed.length > 0) return pass(ids(passed));
  if (runs.length > 0)
    return block(
      'InvalidTransition',
      `No command${wanted} ended with exit code 0 this turn. Mend what fails and run it again.`,
      ids(runs),
    );
  return block('MissingEvidence', `No command${wanted} ran this turn. Run it with shell_run, then hand over again.`);
};

export const requireSessionContextWrite: Validator = (evidence) => {
  const done = evidence.thisTurn.filter(
    (observation) => observation.tool === 'session_context_write' && succeeded(observation),
  );
  return done.length > 0
    ? pass(ids(done))
    : block('MissingEvidence', 'No summary was left this turn. Call session_context_write, then hand over again.');
};

/** Stops a team that goes round in circles: the last three turns that ran such a command all failed. */
export const blockOnConsecutiveFail: Validator = (evidence) => {
  const pattern = setting(evidence, 'RequiredCommandPattern');
  const turns = new Map<number, { passed: boolean; ids: string[] }>();
  for (const { id, turn, command, passed } of evidence.commands('session')) {
    if (pattern !== '' && !matchesPattern(command, pattern)) continue;
    const known = turns.get(turn);
    turns.set(turn, { passed: passed || known?.passed === true, ids: [...(known?.ids ?? []), id] });
  }
  const last = [...turns.values()].slice(-TURNS);
  if (last.length < TURNS || last.some(({ passed }) => passed)) return pass();
  return block(
    'InvalidTransition',
    `The last ${TURNS} turns that ran this all failed. Stop mending and emit REPLAN REQUIRED.`,
    last.flatMap((turn) => turn.ids),
  );
};

const TURNS = 3;

function writesOf(evidence: Evidence, paths: readonly string[]): string[] {
  return ids(
    evidence.observations.filter(
      (observation) =>
        isWrite(observation) &&
        succeeded(observation) &&
        paths.some((path) => samePath(path, String(observation.args['path'] ?? ''))),
    ),
  );
}

function ids(of: readonly { readonly id: string }[]): string[] {
  return of.map(({ id }) => id);
}

function list(names: readonly string[], word: 'and' | 'or' = 'and'): string {
  const quoted = names.map((name) => `\`${name}\``);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} ${word} ${quoted.at(-1)}`;
}
