/** Validators of an agent's work since it got the word: files written, commands passed, a summary left. */
import { BRIEF_FIELDS, briefFault, isFilled, listFault, pathsIn, readBrief, setting } from '../artifacts.ts';
import { conflicting, invalid, missing, pass } from '../evidence.ts';
import type { CommandRun, Evidence, Observation, Validator, Verdict } from '../evidence.ts';
import {
  coveredBy,
  isWrite,
  mentions,
  normalPath,
  outOfDate,
  pathOf,
  succeeded,
  testedNothing,
  wroteBy,
} from '../records.ts';

/** The number of turns that `BlockOnConsecutiveFail` compares. */
const TURNS = 3;

export const requireBrief: Validator = async (evidence) => {
  const brief = await readBrief(evidence);
  if (!brief.ok)
    return missing(
      `The brief is not there yet: ${brief.why}. Write it with \`goal\`, \`files_to_change\` and \`acceptance_criteria\`.`,
    );
  const empty = BRIEF_FIELDS.filter((field) => !isFilled(brief.value[field]));
  if (empty.length > 0)
    return missing(`The brief is incomplete: ${list(empty)} ${empty.length === 1 ? 'is' : 'are'} missing or empty.`);
  const fault = briefFault(brief.value);
  return fault === null ? pass() : invalid(`The brief cannot be used: ${fault}.`);
};

/** A written file must still be on disk. */
export const requireWriteFile: Validator = async (evidence) => {
  const writes = evidence.thisTurn.filter(isWrite);
  const done = writes.filter(succeeded);
  const kept: Observation[] = [];
  for (const write of done)
    if (write.tool === 'git_commit' || (await evidence.readText(pathOf(write))) !== null) kept.push(write);
  if (kept.length > 0) return pass(ids(kept));
  const pattern = setting(evidence, 'ShellFallbackPattern');
  const shell = evidence.commands('turn').filter((run) => wroteBy(run, pattern));
  if (shell.length > 0) return pass(ids(shell));
  if (done.length > 0)
    return conflicting(
      `${list(done.map(pathOf))} ${done.length === 1 ? 'is' : 'are'} no longer on disk. Write the files again, then hand over.`,
      ids(done),
    );
  if (writes.length > 0)
    return invalid(
      `Every write of this turn failed. Write the files with write_file, then hand over again.`,
      ids(writes),
    );
  return missing(
    'No file was written this turn. Code in a message is not on disk: call write_file, then hand over again.',
  );
};

/** Every file of the brief must be written in this session and be on disk at its full path. */
export const requireAllFilesWritten: Validator = async (evidence) => {
  const brief = await readBrief(evidence);
  if (!brief.ok) return missing(`The files to write are not known: ${brief.why}.`);
  const paths = pathsIn(brief.value['files_to_change']);
  const fault = listFault(brief.value['files_to_change']);
  if (fault !== null) return missing(`The files to write are not known: \`files_to_change\` ${fault}.`);
  const written = new Set(evidence.filesWritten('session'));
  const left: string[] = [];
  for (const path of paths)
    if (!written.has(normalPath(path)) || (await evidence.readText(path)) === null) left.push(path);
  if (left.length === 0) return pass(writesOf(evidence, paths));
  return missing(
    `Not written yet: ${list(left)}. Write every file of \`files_to_change\` under its full path, then hand over again.`,
  );
};

export const requireShellPass: Validator = (evidence) => {
  const pattern = setting(evidence, 'RequiredCommandPattern');
  const all = evidence.commands('turn');
  if (pattern === '') {
    const passed = all.filter((run) => run.passed);
    const old = passed.at(-1);
    const fresh = passed.filter(({ stale }) => stale === null);
    return fresh.length === 0 && old !== undefined ? stale(old) : shellVerdict(all, fresh, '');
  }
  const parts = pattern
    .split('|')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const passed = coveredBy(pattern, all) ?? [];
  const tried = all.filter((run) => mentions(run, pattern));
  const last = tried.at(-1);
  if (passed.length === 0 && last?.passed === true && last.stale !== null) return stale(last);
  if (passed.length === 0 && last?.passed === false && tried.some((run) => run.passed))
    return invalid(
      `The last command that contains ${list(parts, 'or')} failed: \`${last.command}\`. Fix the failure and run it again.`,
      ids(tried),
    );
  const hidden = tried.some((run) => testedNothing(run, pattern)) ? NO_TEST : DISCARDED;
  const hint = tried.every((run) => run.passed) ? hidden : '';
  return shellVerdict(tried, passed, ` that contains ${list(parts, 'or')}`, hint);
};

function stale(run: CommandRun): Verdict {
  return conflicting(`${outOfDate(run)}, then hand over.`, [run.id]);
}

const NO_TEST = ' A command that ran no test does not count.';
const DISCARDED = ' An exit code that is discarded, as by `|| true` or `; true`, does not count.';

function shellVerdict(
  tried: readonly { readonly id: string }[],
  passed: readonly { readonly id: string }[],
  wanted: string,
  hint = '',
) {
  if (passed.length > 0) return pass(ids(passed));
  if (tried.length > 0)
    return invalid(
      `No command${wanted} ended with exit code 0 this turn.${hint} Fix the failure and run it again.`,
      ids(tried),
    );
  return missing(`No command${wanted} ran this turn. Run it with shell_run, then hand over again.`);
}

export const requireSessionContextWrite: Validator = (evidence) => {
  const done = evidence.thisTurn.filter(
    (observation) => observation.tool === 'session_context_write' && succeeded(observation),
  );
  return done.length > 0
    ? pass(ids(done))
    : missing('No summary was left this turn. Call session_context_write, then hand over again.');
};

/** Blocks after three turns in a row whose matching commands all failed. */
export const blockOnConsecutiveFail: Validator = (evidence) => {
  const pattern = setting(evidence, 'RequiredCommandPattern');
  const turns = new Map<number, { passed: boolean; ids: string[] }>();
  for (const run of evidence.commands('session')) {
    if (pattern !== '' && !mentions(run, pattern)) continue;
    const known = turns.get(run.turn);
    turns.set(run.turn, { passed: run.passed || known?.passed === true, ids: [...(known?.ids ?? []), run.id] });
  }
  const last = [...turns.values()].slice(-TURNS);
  if (last.length < TURNS || last.some(({ passed }) => passed)) return pass();
  return invalid(
    `The commands of the last ${TURNS} turns all failed. Stop fixing and emit REPLAN REQUIRED.`,
    last.flatMap((turn) => turn.ids),
  );
};

function writesOf(evidence: Evidence, paths: readonly string[]): string[] {
  const wanted = new Set(paths.map(normalPath));
  return ids(evidence.observations.filter((each) => isWrite(each) && succeeded(each) && wanted.has(pathOf(each))));
}

function ids(of: readonly { readonly id: string }[]): string[] {
  return of.map(({ id }) => id);
}

function list(names: readonly string[], word: 'and' | 'or' = 'and'): string {
  const quoted = names.map((name) => `\`${name}\``);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} ${word} ${quoted.at(-1)}`;
}
