/** Validators of the test report, the review and the acceptance criteria. Each is compared with the commands that ran. */
import { ARTIFACTS } from '@sluice-internal/kernel/catalog';
import { isRecord, objectsIn, parsedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  briefPath,
  criterionOf,
  isFilled,
  listIn,
  pathsIn,
  readBrief,
  readObject,
  resultsIn,
  setting,
  settingList,
  textIn,
  type Fields,
  type Result,
} from '../artifacts.ts';
import { isIdle, readCommandLine, squeezed, type SimpleCommand } from '../commands.ts';
import { conflicting, invalid, missing, pass } from '../evidence.ts';
import type { CommandRun, Evidence, Validator, Verdict } from '../evidence.ts';
import { assertionsIn, isTestFile } from '../assertions.ts';
import { isAboutTests, ranTests } from '../no-tests.ts';
import { mayWrite, writesOf } from '../command-writes.ts';
import { artifactsOf, changedFile, isArtifact, lineOf, normalPath, pathsChangedBy, testedNothing } from '../records.ts';

const TOOL_CALL =
  /^\s*(functions\.)?(shell_run|write_file|read_file|patch_file|delete_file|list_directory|handoff|session_context_\w+|code_run|http\.\w+)\s*(\(|\{)/i;
export const testReportValid: Validator = async (evidence) => {
  const path = setting(evidence, 'TestReportPath', ARTIFACTS.testReport);
  const report = await readObject(evidence, path);
  if (!report.ok) return missing(`The test report is not valid: ${report.why}.`);
  const results = resultsIn(report.value);
  if (results.length === 0) return missing(`The test report \`${path}\` has no results.`);
  const brief = await readBrief(evidence);
  const criteria = brief.ok ? listIn(brief.value, 'acceptance_criteria').length : 0;
  return (
    structural(results) ??
    fakeTestFiles(report.value) ??
    (results.length < criteria
      ? missing(`The test report has ${results.length} results for ${criteria} acceptance criteria.`)
      : null) ??
    (await withoutAssertions(evidence, brief.ok ? brief.value : {})) ??
    staleReport(evidence, path, results) ??
    recorded(results, evidence, path)
  );
};

/** The refusal of a report that is older than the last change of a file. Null if it is newer. */
export function staleReport(evidence: Evidence, path: string, results: readonly Result[]): Verdict | null {
  const { observations } = evidence;
  const written = observations.findLastIndex((each) => pathsChangedBy(each).includes(normalPath(path)));
  // A command may have written the report without naming it: one that may write, or one that the report is about.
  const makes = ({ passed, command }: CommandRun): boolean =>
    passed && (mayWrite(command) || results.some((result) => isRun(result.command, command)));
  const made = written === -1 ? (evidence.commands('session').findLast(makes)?.index ?? -1) : written;
  const changed = lastChange(evidence, path);
  if (changed === null || changed.index <= made) return null;
  return conflicting(`The test report is stale: ${changed.what} after it. Run the tests again and write a new report.`);
}

/**
 * The last change of a file that is not an artifact, by a file tool or by a command that names its output file. `what`
 * describes it, as in "`a.ts` was changed".
 */
function lastChange(evidence: Evidence, report: string): { readonly index: number; readonly what: string } | null {
  const known = new Set(evidence.filesWritten('session'));
  const artifacts = new Set([...artifactsOf(evidence.config), normalPath(report)]);
  for (const [index, observation] of [...evidence.observations.entries()].toReversed()) {
    const isCommand = !changedFile(observation);
    const path = pathsChangedBy(observation).find(
      (each) => !isArtifact(each, artifacts) && isSource(each, known, isCommand),
    );
    if (path !== undefined) return { index, what: `\`${path}\` was changed` };
    const [change] = isCommand ? writesOf(lineOf(observation)).changes : [];
    if (change !== undefined) return { index, what: `\`${change}\` changed files` };
  }
  return null;
}

/** False for artifacts and, if a command wrote the file, for folders, logs and other output that no file tool wrote. */
function isSource(path: string, known: ReadonlySet<string>, byCommand: boolean): boolean {
  if (!byCommand || known.has(path)) return true;
  if (path.startsWith('.fuseraft/')) return false;
  return /\.\w+$/.test(path) && !/^(?:dev|tmp|var)\/|\.(?:log|out|txt|xml|html|tap|tmp|json|csv|lcov)$/i.test(path);
}

/** Blocks if a test file of the brief, or one that this session changed, has no assertion. */
export async function withoutAssertions(evidence: Evidence, brief: Fields): Promise<Verdict | null> {
  const own = settingList(evidence, 'TestAssertionPatterns');
  const named = pathsIn(brief['files_to_change']);
  const changed = evidence.observations.flatMap(pathsChangedBy);
  for (const path of new Set([...named, ...changed])) {
    if (!isTestFile(path)) continue;
    const text = await evidence.readText(path);
    if (text === null && !named.includes(path)) continue;
    if (text === null) return missing(`The test file \`${path}\` does not exist.`);
    const { found, unknown, wanted } = assertionsIn(path, text, own);
    // In a language without patterns, the output of a command that ran its tests decides.
    if (found || (unknown && text.trim() !== '' && reportsTestsOf(path, evidence))) continue;
    return conflicting(
      `The test file \`${path}\` asserts nothing, so it proves nothing. Looked for assertions ${wanted}. Other ones are named by the key \`Validation.TestAssertionPatterns\`.`,
    );
  }
  return null;
}

/** True if a command that succeeded reports tests that ran, and names the file. */
function reportsTestsOf(path: string, evidence: Evidence): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return evidence
    .commands('session')
    .some(
      ({ passed, output, command }) =>
        passed && ranTests(output) && `${command}\n${output}`.toLowerCase().includes(name),
    );
}

export function fakeTestFiles(report: Fields): Verdict | null {
  const named = listIn(report, 'fake_test_files').map(String);
  return named.length === 0
    ? null
    : conflicting(`The test report lists fake test files: ${named.join(', ')}. Replace them with real tests.`);
}

/** The review needs an entry with evidence for every criterion of the brief, and a command that ran in this turn. */
export const requireReviewJudgement: Validator = async (evidence) => {
  const review = reviewIn(evidence.response);
  if (review === null || review.length === 0)
    return missing(
      'The review is missing. Answer with JSON: {"review": [{"criterion": …, "verdict": "PASS" or "FAIL", "evidence": …}]}.',
    );
  const entries = review.map((entry) => ({
    criterion: textIn(entry, 'criterion'),
    verdict: textIn(entry, 'verdict').toUpperCase(),
    evidence: textIn(entry, 'evidence'),
  }));
  const odd = entries.find(({ criterion, verdict }) => criterion === '' || (verdict !== 'PASS' && verdict !== 'FAIL'));
  if (odd !== undefined)
    return invalid('Every entry of the review needs a `criterion` and a `verdict` of PASS or FAIL.');
  const failed = entries.filter(({ verdict }) => verdict === 'FAIL');
  if (failed.length > 0)
    return invalid(`The review fails ${failed.map(({ criterion }) => `\`${criterion}\``).join(', ')}.`);
  const brief = await readBrief(evidence);
  if (!brief.ok && (setting(evidence, 'BriefPath') !== '' || (await evidence.readText(briefPath(evidence))) !== null))
    return missing(`The criteria of the review are not known: ${brief.why}.`);
  if (!brief.ok) return unjudged(entries, []) ?? ranThisTurn(evidence);
  const criteria = listIn(brief.value, 'acceptance_criteria').map(criterionOf);
  return withoutCriteria(evidence, criteria) ?? unjudged(entries, criteria) ?? ranThisTurn(evidence);
};

/** A brief without criteria, or with an empty one, gives the review nothing to judge. */
function withoutCriteria(evidence: Evidence, criteria: readonly string[]): Verdict | null {
  if (criteria.length > 0 && criteria.every((criterion) => plain(criterion) !== '')) return null;
  const path = `\`${briefPath(evidence)}\``;
  const problem =
    criteria.length === 0
      ? `${path} has no acceptance criteria, so there is nothing to judge`
      : `Criterion ${criteria.findIndex((criterion) => plain(criterion) === '') + 1} of ${path} has no text`;
  return missing(`${problem}. Its author must list them as texts under \`acceptance_criteria\`.`);
}

function unjudged(
  entries: readonly { readonly criterion: string; readonly evidence: string }[],
  criteria: readonly string[],
): Verdict | null {
  const bare = entries.find((entry) => entry.evidence === '');
  if (bare !== undefined)
    return missing(
      `The entry for \`${bare.criterion}\` has no \`evidence\`. Name the command or the file that shows it.`,
    );
  const left = [...entries];
  const open = criteria.filter((criterion) => {
    const index = left.findIndex((entry) => isSameCriterion(entry.criterion, criterion));
    if (index !== -1) left.splice(index, 1);
    return index === -1;
  });
  if (open.length === 0) return null;
  const named = open.map((criterion) => `\`${criterion}\``).join(', ');
  const judged = `${criteria.length - open.length} of ${criteria.length} acceptance criteria`;
  return missing(`The review judges ${judged}. There is no entry for ${named}: use these words as \`criterion\`.`);
}

/** The same words, apart from letter case, punctuation and space; or one contains the other. */
function isSameCriterion(judged: string, wanted: string): boolean {
  const [a, b] = [plain(judged), plain(wanted)];
  if (a === b) return true;
  return (b.length >= CRITERION_MIN && a.includes(b)) || (a.length >= CRITERION_MIN && b.includes(a));
}

/** A shorter part of a criterion does not name it. */
const CRITERION_MIN = 12;

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

function ranThisTurn(evidence: Evidence): Verdict {
  const runs = evidence.commands('turn');
  return runs.length > 0
    ? pass(runs.map(({ id }) => id))
    : conflicting('The review says PASS, but no command ran this turn. Check with shell_run before you judge.');
}

export const requireAcceptanceCriteriaPassed: Validator = async (evidence) => {
  const brief = await readBrief(evidence);
  if (!brief.ok) return missing(`The acceptance criteria are not known: ${brief.why}.`);
  const passed = evidence.commands('session').filter((run) => run.passed);
  const found: string[] = [];
  for (const criterion of listIn(brief.value, 'acceptance_criteria')) {
    const sentinel = textIn(criterion, 'expected_output_contains');
    if (sentinel === '') continue;
    const run = passed.findLast((each) => printedBy(each, sentinel));
    if (run === undefined)
      return missing(
        `No command that succeeded has shown \`${sentinel}\`, which the criterion \`${textIn(criterion, 'criterion')}\` expects${tryOf(criterion)}.`,
      );
    found.push(run.id);
  }
  return pass(found);
};

/** True if the text is in the output, and not because the line itself prints it, as with `echo`. */
function printedBy({ output, command }: CommandRun, sentinel: string): boolean {
  const wanted = squeezed(sentinel);
  if (!squeezed(output).includes(wanted)) return false;
  return !readCommandLine(command).all.some((each) => isIdle(each) && squeezed(each.words.join(' ')).includes(wanted));
}

function structural(results: readonly Result[]): Verdict | null {
  const failed = results.filter(({ status }) => status === 'FAIL');
  if (failed.length > 0)
    return invalid(`The test report has failures: ${failed.map(({ criterion }) => `\`${criterion}\``).join(', ')}.`);
  const odd = results.find(({ status }) => status !== 'PASS');
  if (odd !== undefined)
    return invalid(
      `The result of \`${odd.criterion}\` is neither PASS nor FAIL. Write the test report again, with PASS or FAIL as \`status\`.`,
    );
  const bare = results.find(({ command }) => command === '');
  if (bare !== undefined)
    return missing(
      `The result of \`${bare.criterion}\` names no command that shows it. Write the test report again, with the \`command\` that you ran.`,
    );
  const call = results.find(({ command }) => TOOL_CALL.test(command));
  if (call !== undefined)
    return conflicting(
      `The command of \`${call.criterion}\` is a tool call written as text, not a command: \`${call.command}\`.`,
    );
  const code = results.find(({ exitCode }) => exitCode !== null && exitCode !== 0);
  return code === undefined
    ? null
    : conflicting(`The result of \`${code.criterion}\` says PASS with exit code ${code.exitCode}.`);
}

/** Every command of the report must have run like that, after the last change, and have succeeded. */
function recorded(results: readonly Result[], evidence: Evidence, path: string): Verdict {
  const runs = evidence.commands('session');
  if (runs.length === 0) return conflicting('The test report names commands, but no command ever ran.');
  const changed = lastChange(evidence, path);
  const shown: string[] = [];
  for (const { criterion, command } of results) {
    if (readCommandLine(command).proven.length === 0)
      return conflicting(
        `The command of \`${criterion}\` proves nothing: it only prints, or its exit code is discarded: \`${command}\`.`,
      );
    const last = runs.findLast((run) => isRun(command, run.command)) ?? runs.findLast((run) => reports(run, command));
    if (last === undefined)
      return conflicting(
        `The command of \`${criterion}\` was never run: \`${command}\`. Run it, or write the command that you ran into the test report.`,
      );
    if (!last.passed || !(isProven(command, last.command) || reports(last, command)))
      return conflicting(`The command of \`${criterion}\` was run and failed: \`${command}\`.`, [last.id]);
    if (testedNothing(last, last.command))
      return conflicting(`The command of \`${criterion}\` ran no test: \`${command}\`.`, [last.id]);
    if (changed !== null && last.index < changed.index)
      return conflicting(
        `The command of \`${criterion}\` is out of date: ${changed.what} after it ran. Run it again: \`${command}\`.`,
        [last.id],
      );
    shown.push(last.id);
  }
  return pass([...new Set(shown)]);
}

/**
 * The refusal of a report whose commands did not run with the status that it gives. A report that names no command needs one
 * that succeeded.
 */
export function ranAsReported(results: readonly Result[], evidence: Evidence, path: string): Verdict | null {
  const runs = evidence.commands('session');
  const named = results.filter(({ command }) => command !== '');
  const failing = named.filter(({ status }) => status !== 'PASS');
  const unrun = failing.find(({ command }) => !runs.some((run) => isRun(command, run.command)));
  if (unrun !== undefined)
    return conflicting(`the command of \`${unrun.criterion}\` was never run: \`${unrun.command}\`.`);
  const passing = named.filter((each) => !failing.includes(each));
  if (passing.length > 0) {
    const verdict = recorded(passing, evidence, path);
    return verdict.ok ? null : verdict;
  }
  if (runs.length === 0) return conflicting('the test report gives results, but no command ever ran.');
  const shown = runs.some((run) => run.passed && run.stale === null && readCommandLine(run.command).proven.length > 0);
  return shown || !results.some(({ status }) => status === 'PASS')
    ? null
    : conflicting('the test report says PASS, but no command has succeeded since the last change.');
}

/**
 * True if the run's output reports the tests that the command selects: `npm test -- a.test.ts`, where `npm test` ran all of
 * them and its output names `a.test.ts` on a line that passed.
 */
function reports(run: CommandRun, command: string): boolean {
  const [wanted, ...others] = readCommandLine(command).proven;
  if (wanted === undefined || others.length > 0 || !isAboutTests(command) || !ranTests(run.output)) return false;
  return readCommandLine(run.command).proven.some(({ words }) => {
    const plain = (list: readonly string[]): readonly string[] => list.filter((word) => !word.startsWith('-'));
    const base = plain(words);
    const [own, left] = [plain(wanted.words), plain(wanted.words).filter((word) => !base.includes(word))];
    if (base.length === 0 || left.length === 0 || !base.every((word) => own.includes(word))) return false;
    return left.every((word) => run.output.split('\n').some((line) => line.includes(word) && PASSED_LINE.test(line)));
  });
}

const PASSED_LINE = /\bpass(?:ed|es)?\b|\bok\b|[✓✔√]/i;

/** True if the reported line ran: as a whole, or with all its commands inside a longer line. */
function isRun(reported: string, ran: string): boolean {
  return squeezed(reported) === squeezed(ran) || includesAll(readCommandLine(ran).all, reported);
}

/** True if the run that succeeded proves every command of the reported line. */
function isProven(reported: string, ran: string): boolean {
  return includesAll(readCommandLine(ran).proven, reported);
}

function includesAll(commands: readonly SimpleCommand[], reported: string): boolean {
  const texts = new Set(commands.map(({ text }) => squeezed(text)));
  const wanted = readCommandLine(reported).proven;
  return wanted.length > 0 && wanted.every(({ text }) => texts.has(squeezed(text)));
}

/** The review in a reply: the whole reply, or an object in it, also inside a fence. */
function reviewIn(response: string): readonly Json[] | null {
  for (const text of objectsIn(response)) {
    const value = parsedJson(text);
    if (isRecord(value) && Array.isArray(value['review'])) return value['review'];
  }
  return null;
}

function tryOf(criterion: Json): string {
  const command = textIn(criterion, 'test_command');
  return isFilled(command) ? `; try \`${command}\`` : '';
}
