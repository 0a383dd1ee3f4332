/** Validators of what agents hand in: the test report, the review, the acceptance criteria. None takes their word for it. */
import { RE2JS } from 're2js';
import { ARTIFACTS } from '../../catalog/validators.ts';
import type { Json } from '../../expr/json.ts';
import {
  isFilled,
  listIn,
  pathsIn,
  readBrief,
  readObject,
  resultsIn,
  setting,
  settingList,
  textIn,
} from './artifacts.ts';
import type { Fields, Result } from './artifacts.ts';
import type { CommandRun, Evidence, Validator, Verdict } from './evidence.ts';
import { block, pass } from './verdicts.ts';

const ASSERTIONS = ['tester::assert', 'if .+ throw', '\\bassert\\b', '\\bexpect\\b'];
const TOOL_CALL =
  /^\s*(functions\.)?(shell_run|write_file|read_file|patch_file|delete_file|list_directory|handoff|session_context_\w+|code_run|http\.\w+)\s*(\(|\{)/i;
/** A shorter command is found in nearly anything, so it has to be the whole of a recorded one. */
const TELLING_LENGTH = 8;

export const testReportValid: Validator = async (evidence) => {
  const path = setting(evidence, 'TestReportPath', ARTIFACTS.testReport);
  const report = await readObject(evidence, path);
  if (!report.ok) return block('MissingEvidence', `The test report is not valid: ${report.why}.`);
  const results = resultsIn(report.value);
  if (results.length === 0) return block('MissingEvidence', `The test report \`${path}\` has no results.`);
  const brief = await readBrief(evidence);
  const criteria = brief.ok ? listIn(brief.value, 'acceptance_criteria').length : 0;
  return (
    structural(results) ??
    fakes(report.value) ??
    (results.length < criteria
      ? block('MissingEvidence', `The test report has ${results.length} results for ${criteria} acceptance criteria.`)
      : null) ??
    (await withoutAssertions(evidence, brief.ok ? brief.value : {})) ??
    unrecorded(results, evidence.commands('session')) ??
    pass(
      evidence
        .commands('session')
        .filter(({ command, passed }) => passed && results.some((result) => isRun(result.command, command)))
        .map(({ id }) => id),
    )
  );
};

/** Whether the test files that the brief names assert anything; null when they all do. */
export async function withoutAssertions(evidence: Evidence, brief: Fields): Promise<Verdict | null> {
  const patterns = (settingList(evidence, 'TestAssertionPatterns') ?? ASSERTIONS).map((pattern) =>
    RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE),
  );
  for (const path of pathsIn(brief['files_to_change']).filter(isTestFile)) {
    const text = await evidence.readText(path);
    if (text === null) return block('MissingEvidence', `The test file \`${path}\` does not exist.`);
    if (!patterns.some((pattern) => pattern.matcher(text).find()))
      return block('ConflictingEvidence', `The test file \`${path}\` asserts nothing, so its passing shows nothing.`);
  }
  return null;
}

export function fakes(report: Fields): Verdict | null {
  const named = listIn(report, 'fake_test_files').map(String);
  return named.length === 0
    ? null
    : block(
        'ConflictingEvidence',
        `The test report lists fake test files: ${named.join(', ')}. Replace them with real tests.`,
      );
}

export const requireReviewJudgement: Validator = async (evidence) => {
  const review = reviewIn(evidence.response);
  if (review === null || review.length === 0)
    return block(
      'MissingEvidence',
      'The review is missing. Answer with JSON: {"review": [{"criterion": …, "verdict": "PASS" or "FAIL", "evidence": …}]}.',
    );
  const verdicts = review.map((entry) => ({
    criterion: textIn(entry, 'criterion'),
    verdict: textIn(entry, 'verdict').toUpperCase(),
    evidence: textIn(entry, 'evidence'),
  }));
  const odd = verdicts.find(({ criterion, verdict }) => criterion === '' || (verdict !== 'PASS' && verdict !== 'FAIL'));
  if (odd !== undefined)
    return block('InvalidTransition', 'Every entry of the review needs a `criterion` and a `verdict` of PASS or FAIL.');
  const failed = verdicts.filter(({ verdict }) => verdict === 'FAIL');
  if (failed.length > 0)
    return block(
      'InvalidTransition',
      `The review fails ${failed.map(({ criterion }) => `\`${criterion}\``).join(', ')}.`,
    );
  const brief = await readBrief(evidence);
  if (!brief.ok && setting(evidence, 'BriefPath') !== '')
    return block('MissingEvidence', `What has to be reviewed is not known: ${brief.why}.`);
  const criteria = brief.ok ? listIn(brief.value, 'acceptance_criteria').length : 0;
  if (verdicts.length < criteria)
    return block('MissingEvidence', `The review judges ${verdicts.length} of ${criteria} acceptance criteria.`);
  const runs = evidence.commands('turn');
  return runs.length > 0
    ? pass(runs.map(({ id }) => id))
    : block(
        'ConflictingEvidence',
        'The review says PASS, but no command ran this turn. Check with shell_run before you judge.',
      );
};

export const requireAcceptanceCriteriaPassed: Validator = async (evidence) => {
  const brief = await readBrief(evidence);
  if (!brief.ok) return block('MissingEvidence', `The acceptance criteria are not known: ${brief.why}.`);
  const passed = evidence.commands('session').filter((run) => run.passed);
  const found: string[] = [];
  for (const criterion of listIn(brief.value, 'acceptance_criteria')) {
    const sentinel = textIn(criterion, 'expected_output_contains');
    if (sentinel === '') continue;
    const run = passed.findLast(({ output }) => output.toLowerCase().includes(sentinel.toLowerCase()));
    if (run === undefined)
      return block(
        'MissingEvidence',
        `No command that succeeded has shown \`${sentinel}\`, which the criterion \`${textIn(criterion, 'criterion')}\` expects${tryOf(criterion)}.`,
      );
    found.push(run.id);
  }
  return pass(found);
};

function structural(results: readonly Result[]): Verdict | null {
  const failed = results.filter(({ status }) => status === 'FAIL');
  if (failed.length > 0)
    return block(
      'InvalidTransition',
      `The test report has failures: ${failed.map(({ criterion }) => `\`${criterion}\``).join(', ')}.`,
    );
  const odd = results.find(({ status }) => status !== 'PASS');
  if (odd !== undefined)
    return block('InvalidTransition', `The result of \`${odd.criterion}\` is neither PASS nor FAIL.`);
  const bare = results.find(({ command }) => command === '');
  if (bare !== undefined)
    return block('MissingEvidence', `The result of \`${bare.criterion}\` names no command that shows it.`);
  const call = results.find(({ command }) => TOOL_CALL.test(command));
  if (call !== undefined)
    return block(
      'ConflictingEvidence',
      `The command of \`${call.criterion}\` is a tool call written as text, not a command: \`${call.command}\`.`,
    );
  const code = results.find(({ exitCode }) => exitCode !== null && exitCode !== 0);
  return code === undefined
    ? null
    : block('ConflictingEvidence', `The result of \`${code.criterion}\` says PASS with exit code ${code.exitCode}.`);
}

function unrecorded(results: readonly Result[], runs: readonly CommandRun[]): Verdict | null {
  if (runs.length === 0)
    return block('ConflictingEvidence', 'The test report names commands, but no command ever ran.');
  for (const { criterion, command } of results) {
    const own = runs.filter((run) => isRun(command, run.command));
    if (own.length === 0)
      return block('ConflictingEvidence', `The command of \`${criterion}\` was never run: \`${command}\`.`);
    if (!own.some(({ passed }) => passed))
      return block(
        'ConflictingEvidence',
        `The command of \`${criterion}\` was run and failed: \`${command}\`.`,
        own.map(({ id }) => id),
      );
  }
  return null;
}

function isRun(reported: string, recorded: string): boolean {
  const [said, ran] = [squeezed(reported), squeezed(recorded)];
  if (said === ran) return true;
  if (said.length >= TELLING_LENGTH) return ran.includes(said);
  return ran.split(/\s*(?:&&|\|\||[;|\n])\s*/).includes(said);
}

function squeezed(command: string): string {
  return command.toLowerCase().replace(/\s+/g, ' ').trim();
}

function isTestFile(path: string): boolean {
  return /(^|[/._-])(tests?|specs?|__tests__)([/._-]|$)/i.test(path) || /Tests?\.\w+$/.test(path);
}

/** The review in a reply: the whole of it, a fenced block, or the first object in it. */
function reviewIn(response: string): readonly Json[] | null {
  const fence = /```(?:json)?\s*\n([\s\S]*?)```/.exec(response)?.[1];
  const [from, to] = [response.indexOf('{'), response.lastIndexOf('}')];
  for (const candidate of [response, fence, from === -1 ? undefined : response.slice(from, to + 1)]) {
    if (candidate === undefined) continue;
    try {
      const value = JSON.parse(candidate) as Json;
      if (value !== null && typeof value === 'object' && !Array.isArray(value) && Array.isArray(value['review']))
        return value['review'];
    } catch {
      continue;
    }
  }
  return null;
}

function tryOf(criterion: Json): string {
  const command = textIn(criterion, 'test_command');
  return isFilled(command) ? `; try \`${command}\`` : '';
}
