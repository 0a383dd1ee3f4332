/**
 * Claims that tests pass. They need the exit code of the last command that ran tests, or a success of a test tool, after the
 * last change of a file. A number of tests must stand in the output of that run.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { isFileCommand, isIdle, readCommandLine } from '../../evidence/commands.ts';
import { ranNoTests, ranTests } from '../../evidence/no-tests.ts';
import { flat, structured } from '../../text/sources.ts';
import { isHypothetical, sentencesOf } from '../clauses.ts';
import { RUNNER, commandsIn } from '../commands.ts';
import { quoted, type Detector, type Evidence, type Observation } from '../detector.ts';

export const testClaims: Detector = ({ text, claims }, evidence) => {
  if (!claims || !evidence.tools.some(({ name }) => RUNNER.test(name))) return { findings: [] };
  const findings = sentencesOf(text).flatMap(({ text: sentence }) => {
    const claim = PASSING.exec(sentence) ?? (evidence.observations.some(isTestRun) ? COMPLETE.exec(sentence) : null);
    if (claim === null || isHypothetical(sentence, claim.index) || NEGATED.test(sentence)) return [];
    const problem = problemOf(claim[0], evidence);
    if (problem === null) return [];
    return [
      { kind: 'claim' as const, text: sentence, reason: `says that tests pass, but ${problem}: ${quoted(sentence)}` },
    ];
  });
  return { findings };
};

const TESTING =
  /\b(?:tests?|testing|pytest|unittest|jest|vitest|mocha|rspec|phpunit|tox|ctest|junit|nose2?|cargo|gradlew?|mvn|go)\b/i;
/** English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Norwegian, Russian, Japanese and Chinese. */
const PASSING =
  /(?:\ball\s+)?(?:\d+\s+(?:of\s+\d+\s+)?)?(?:(?:unit|integration|the)\s+)?\b(?:tests?(?:\s+suite)?|suite)\b[^.;\n]{0,40}?\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|laufen durch|erfolgreich|bestanden|grün|passent|réussi\w*|verts?|passano|superati|slagen|geslaagd)\b|\b\d*\s*(?:pruebas?|testes)\b[^.;\n]{0,40}?\b(?:pasan|pasaron|superadas?|passam|passaram)\b|\b(?:pass(?:es|ed)?)\s+(?:all|\d+)\s+(?:\d+\s+)?tests?\b|\bgreen across the board\b|\b(?:all|everything)(?:\s+(?:is|are|now))*\s+green\b|\b\d*\s*test\p{L}*[^.;\n]{0,30}?(?<!\p{L})(?:przeszły|przechodzą|zaliczone|godkänd\p{L}*|igenom|består|bestått)(?!\p{L})|(?<!\p{L})тест\p{L}*[^.;\n]{0,30}?(?:пройден\p{L}*|прошли|проходят|успешн\p{L}*)|テスト[^。\n]{0,20}(?:成功|合格|通り|パス)|测试[^。\n]{0,15}(?:通过|成功)/iu;
/** `33/33` says that tests pass where tests were run. */
const COMPLETE = /(?<![\d/])(?<count>\d+)\/\k<count>(?![\d/])/u;
const NEGATED =
  /\b(?:not|no|never|fail\w*|nicht|kein\w*|pas|aucun\w*|échou\w*|no|fallan?|non|fallit\w*|não|falh\w*|niet|geen|mislukt\w*|schlagen|fehlgeschlagen|nie|inte|ikke)\b|n['’]t\b|(?<!\p{L})не(?!\p{L})|ません|失敗|失败|未|没有/iu;

function problemOf(claim: string, { observations, tools }: Evidence): string | null {
  const runs = observations.filter(isTestRun);
  const last = runs.at(-1);
  if (last === undefined) return 'no observation shows a run of tests';
  if (!isPassed(last)) return 'the last run of tests failed';
  if (ranNoTests(flat(last.result ?? null))) return 'the last run ran no test';
  const changing = new Set(tools.flatMap(({ name, changes }) => (changes ? [name] : [])));
  const since = observations.slice(observations.indexOf(last) + 1);
  if (since.some((each) => each.ok && changing.has(each.tool) && hasPath(each.args)))
    return 'a file was changed after the last run of tests';
  const count = /\d+/.exec(claim)?.[0];
  if (count !== undefined && !new RegExp(`(?<!\\d)${count}(?!\\d)`).test(flat(last.result ?? null)))
    return `no run of tests shows ${count} of them`;
  return null;
}

function hasPath(args: Json): boolean {
  if (!isRecord(args)) return false;
  return Object.keys(args).some((key) => /^(?:file|path|file_?name|file_?path)$/i.test(key));
}

function isTestRun({ tool, args, result = null }: Observation): boolean {
  if (/(?:^|[._])tests?(?:$|[._])/i.test(tool)) return true;
  // `make check` runs tests if its output says so.
  const isRun = ranTests(flat(result));
  return RUNNER.test(tool) && commandsIn(args).some((line) => runsTests(line, isRun));
}

/** The line runs tests and cannot exit with 0 where they fail. `echo pytest` and `pytest || true` do not count. */
function runsTests(line: string, isRun: boolean): boolean {
  if (!isRun && !TESTING.test(line)) return false;
  return readCommandLine(line).proven.some(
    (command) => !isIdle(command) && !isFileCommand(command) && (isRun || TESTING.test(command.text)),
  );
}

/** An exit code decides where there is one. */
function isPassed({ ok, result = null }: Observation): boolean {
  const data = structured(result);
  const code = exitCodeOf(data);
  return code === null ? ok : code === 0;
}

function exitCodeOf(data: Json): number | null {
  if (!isRecord(data)) return null;
  const code = data['exitCode'] ?? data['exit_code'] ?? data['exit'] ?? data['returncode'];
  return typeof code === 'number' ? code : null;
}
