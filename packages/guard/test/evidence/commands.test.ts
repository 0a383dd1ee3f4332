/** Which command lines count as a run of a command, and which only look like one. */
import { describe, expect, test } from 'vitest';
import { contains, readCommandLine } from '../../src/evidence/commands.ts';
import { BRIEF, REPORT, check, observed, ran, wrote } from './ask.ts';

const PATTERN = 'python3 -m unittest';

const COUNT = [
  'python3 -m unittest',
  'python3   -m\tunittest',
  '"python3" -m "unittest"',
  'cd x && python3 -m unittest -v',
  'cd x; PYTHONPATH=. python3 -m unittest',
  'python3 -m unittest | tail -5',
  'python3 -m unittest 2>&1 | tee log',
  'timeout 60 python3 -m unittest',
  'env X=1 python3 -m unittest > out.txt',
  'bash -c "python3 -m unittest"',
  '(cd x && python3 -m unittest)',
  '{ python3 -m unittest; }',
  'set -e; python3 -m unittest; echo ok',
  'set -euo pipefail\npython3 -m unittest\necho fine',
  'python3 -m unittest || exit 1; echo done',
  'python3 -m unittest && echo ok',
  'python3 -m unittest && exit 0',
  'python3 -m unittest # run them',
  'if true; then echo; fi; python3 -m unittest',
  'cat <<E > f\nfoo\nE\npython3 -m unittest',
  'nice -n 10 python3 -m unittest',
  'timeout -k 5 60 python3 -m unittest',
  'env -u HOME CI=1 python3 -m unittest',
  'python3 -m unittest || exit $?',
  'set -e; cd x && python3 -m unittest',
  'source venv/bin/activate && python3 -m unittest',
  'export CI=1; python3 -m unittest',
  '$VENV/bin/python3 -m unittest',
  'uv run python3 -m unittest',
  'uv run --frozen python3 -m unittest',
  '[ -d x ] || exit; python3 -m unittest',
  'cd x || exit 1; python3 -m unittest',
  'docker exec box true; python3 -m unittest',
];

const DO_NOT_COUNT = [
  'test -f nothing || exit 0; python3 -m unittest',
  '[ 1 ] && exit 0; python3 -m unittest',
  '[ 1 ] && exit; python3 -m unittest',
  'true; [ 1 ] && exit $?; python3 -m unittest',
  'if true; then exit 0; fi; python3 -m unittest',
  'case a in a) exit 0;; esac; python3 -m unittest',
  'for x in a; do exit 0; done; python3 -m unittest',
  '[ 1 ] && exec true; python3 -m unittest',
  'alias python3=true; exec python3 -m unittest',
  'python3 -m unittest -h',
  'su -c true python3 -m unittest',
  'strace -o /dev/null true python3 -m unittest',
  'install -d python3 -m unittest',
  'time ! python3 -m unittest',
  'uv run echo python3 -m unittest',
  'poetry run true python3 -m unittest',
  'npx --yes echo python3 -m unittest',
  'npm exec -- echo python3 -m unittest',
  'uv run python3 -c "print(\'python3 -m unittest\')"',
  'python3 -m unittest --co',
  'python3 -m unittest <<E || true\nE',
  'python3 -m unittest &\nwait',
  'echo "python3 -m unittest"',
  '/bin/echo python3 -m unittest',
  '\\echo python3 -m unittest',
  'env echo python3 -m unittest',
  'command echo python3 -m unittest',
  'time echo python3 -m unittest',
  'printf "python3 -m unittest"',
  'true python3 -m unittest',
  ': python3 -m unittest',
  'sh -c "echo python3 -m unittest"',
  'eval "echo python3 -m unittest"',
  'python3 -m unittest || true',
  'python3 -m unittest || echo failed',
  'python3 -m unittest || (exit 0)',
  'python3 -m unittest || python3 --version',
  'bash -c "python3 -m unittest || true"',
  'bash -c "python3 -m unittest | tail"',
  'python3 -m unittest; true',
  'python3 -m unittest; :',
  'python3 -m unittest; echo $?',
  'python3 -m unittest\ntrue',
  'python3 -m unittest ; exit 0',
  '(python3 -m unittest; true)',
  'python3 -m unittest &',
  'python3 -m unittest & wait',
  '! python3 -m unittest',
  'if python3 -m unittest; then true; fi',
  'while ! python3 -m unittest; do break; done',
  'ls # python3 -m unittest',
  'cat <<E\npython3 -m unittest\nE',
  'grep "python3 -m unittest" README',
  'cat "python3 -m unittest"',
  'touch "python3 -m unittest"',
  'git commit -m "python3 -m unittest"',
  'X="python3 -m unittest"',
  'X="python3 -m unittest" make',
  'python3 -m unittest --help',
  'trap "exit 0" EXIT; python3 -m unittest',
  'alias python3=true; python3 -m unittest',
  'python3() { true; }; python3 -m unittest',
  'function python3 { true; }; python3 -m unittest',
  "echo 'python3 -m unittest",
  'nice -n 10 echo python3 -m unittest',
  'timeout -s KILL 60 echo python3 -m unittest',
  'timeout -k 5 60 echo python3 -m unittest',
  'sudo -u bob echo python3 -m unittest',
  'env -u HOME echo python3 -m unittest',
  'env -S "echo python3 -m unittest"',
  'stdbuf -o L echo python3 -m unittest',
  'busybox echo python3 -m unittest',
  'exec -a x echo python3 -m unittest',
  'command -v python3 -m unittest',
  'ls | xargs echo python3 -m unittest',
  'xargs -r python3 -m unittest < /dev/null',
  'coproc python3 -m unittest',
  'E=echo; $E python3 -m unittest',
  "$'echo' python3 -m unittest",
  '$(echo echo) python3 -m unittest',
  '/bin/ech? python3 -m unittest',
  'python3 -c "print(\'python3 -m unittest\')"',
  'node -e "console.log(\'python3 -m unittest\')"',
  'exit 0; python3 -m unittest',
  'exec true; python3 -m unittest',
  'set -e; python3 -m unittest && echo ok; true',
  'set -e; set +e; python3 -m unittest; echo ok',
  'set +o pipefail; python3 -m unittest | tail',
  'set -n; python3 -m unittest',
  'set -o noexec; python3 -m unittest',
  'bash -n -c "python3 -m unittest"',
  'bash -nc "python3 -m unittest"',
  'hash -p /bin/true python3; python3 -m unittest',
  'enable -n python3; python3 -m unittest',
  'python3 -m unittest --dry-run',
];

describe('a run of the command', () => {
  test.each(COUNT)('%s', (line) => {
    expect(contains(readCommandLine(line).proven, PATTERN)).toBe(true);
  });
});
describe('not a run of the command', () => {
  test.each(DO_NOT_COUNT)('%s', (line) => {
    expect(contains(readCommandLine(line).proven, PATTERN)).toBe(false);
  });
});

describe('a test command that runs no test does not count', () => {
  const tested = (command: string, stdout = '') =>
    check('validator:RequireShellPass', {
      observations: [observed('shell_run', { command }, { result: { exitCode: 0, stdout } })],
      config: { RequiredCommandPattern: 'test' },
    });

  test.each([
    'go test -run ^$ ./...',
    "go test -run='^$' ./...",
    'go test -list . ./...',
    'go test -list=. ./...',
    'go test -c',
    'go test -n ./...',
    'cargo test --no-run',
    'cargo test -- --list',
    'vitest list test',
    'npx vitest list test',
    'cargo nextest list test',
    'ctest -N test',
    './gradlew test -m',
    'npx playwright test --list',
    'pytest --collectonly test',
    "npx jest test -t '$^'",
    'make -t test',
    './gradlew test -x test',
    'mvn -q test -DskipTests',
    'go test -exec true ./...',
    'tox --notest',
    "GOFLAGS='-run=^$' go test ./...",
    'export PYTEST_ADDOPTS=--collect-only; pytest test',
    'env PYTEST_ADDOPTS="-q --co" pytest test',
  ])('%s', async (command) => {
    expect(await tested(command)).toMatchObject({ ok: false });
  });

  test.each([
    ['go test -run NoSuch ./...', 'testing: warning: no tests to run\nPASS\nok  \tex/a\t0.002s [no tests to run]'],
    ['go test ./...', '?   \tex/a\t[no test files]'],
    ['npx vitest run test --passWithNoTests', 'No test files found, exiting with code 0'],
    ['npx jest test --passWithNoTests', 'No tests found, exiting with code 0'],
    ['npx vitest run test -t nothing', '\u001b[2m Test Files \u001b[22m 1 skipped (1)\n      Tests  5 skipped (5)'],
    ['npx mocha test -g nothing', '\n  0 passing (1ms)\n'],
    ['cargo test nothing', 'running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 5 filtered out'],
    ['python3 -m unittest -k nothing', 'Ran 0 tests in 0.000s\n\nOK'],
    ['bundle exec rspec test', 'Finished in 0.001 seconds\n0 examples, 0 failures'],
    ['mvn test -DskipTests', '[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS'],
    ['node --test', 'ℹ tests 0\nℹ pass 0\nℹ fail 0'],
    ['phpunit test --filter nothing', 'No tests executed!'],
  ])('%s that says so', async (command, stdout) => {
    const reason = expect.stringContaining('A command that ran no test does not count.') as string;
    expect(await tested(command, stdout)).toMatchObject({ ok: false, reason });
  });

  test.each([
    ['go test -run ^$ -bench . ./...', 'BenchmarkA-8  100  12 ns/op\nok  \tex/a\t0.5s'],
    ['go test -run Login ./...', 'ok  \tex/a\t0.002s\nok  \tex/b\t0.002s [no tests to run]'],
    ['go test ./...', '?   \tex/a\t[no test files]\nok  \tex/b\t(cached)'],
    ['cargo test', 'running 3 tests\ntest result: ok. 3 passed; 0 failed\nrunning 0 tests\ntest result: ok. 0 passed'],
    ['npm test', ''],
    ['npm test', 'all good'],
    ['npm test', '12 checks, 0 tests failed, 0 errors'],
    ['npx vitest run test --passWithNoTests', ' Test Files  1 passed (1)\n      Tests  5 passed | 2 skipped (7)'],
    ['npx jest test', 'Tests:       1 skipped, 4 passed, 5 total'],
    ['pytest -k login test', 'collected 5 items / 4 deselected / 1 selected\n1 passed, 4 deselected in 0.1s'],
    ['node --test', 'ℹ tests 12\nℹ pass 12\nℹ fail 0'],
    ['mvn test', 'Tests run: 5, Failures: 0, Errors: 0, Skipped: 0'],
    ['npx tap test', 'TAP version 13\nok 1 - adds\n# 0 passed with warnings'],
    ['make test -j 4', '10 passed'],
    ['GOFLAGS=-mod=mod go test -race ./...', 'ok  \tex/a\t0.5s'],
    ['PYTEST_ADDOPTS="-q -k login" pytest test', '1 passed'],
    ['./gradlew test -x lint', ''],
  ])('%s counts: %s', async (command, stdout) => {
    expect(await tested(command, stdout)).toMatchObject({ ok: true });
  });

  test('other commands may speak of tests', async () => {
    const build = {
      observations: [
        observed(
          'shell_run',
          { command: 'mvn package -DskipTests' },
          { result: { exitCode: 0, stdout: 'Tests are skipped.' } },
        ),
      ],
    };
    expect(
      await check('validator:RequireShellPass', { ...build, config: { RequiredCommandPattern: 'mvn package' } }),
    ).toMatchObject({ ok: true });
  });
});

test('a pattern may name an assignment, a file command, or several parts', () => {
  const counts = (line: string, pattern: string): boolean => contains(readCommandLine(line).proven, pattern);
  expect(counts('CI=1 npm test', 'CI=1 npm test')).toBe(true);
  expect(counts('grep -q OK log', 'grep -q')).toBe(true);
  expect(counts('npm run build && npm test', 'npm run build && npm test')).toBe(true);
  expect(counts('npm run build', 'npm run build && npm test')).toBe(false);
  expect(counts('go test ./...', 'go build|go test')).toBe(true);
});

describe('gates', () => {
  const shell = (command: string) =>
    check('validator:RequireShellPass', { observations: [ran(command)], config: { RequiredCommandPattern: PATTERN } });

  test('an exit code that is discarded is refused with the reason', async () => {
    expect(await shell('python3 -m unittest || true')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('An exit code that is discarded') as string,
    });
    expect(await shell('echo "python3 -m unittest"')).toMatchObject({ ok: false, failure: 'MissingEvidence' });
    expect(await shell('python3 -m unittest')).toMatchObject({ ok: true });
  });

  test('without a pattern any command that exits with 0 counts', async () => {
    expect(await check('validator:RequireShellPass', { observations: [ran('echo hi')] })).toMatchObject({ ok: true });
  });

  const succeeded = (command: string) =>
    check('contract:CommandSucceeded', { observations: [ran(command)], config: { Pattern: PATTERN } });
  test('a contract does not count them either', async () => {
    expect(await succeeded('python3 -m unittest; true')).toMatchObject({ ok: false });
    expect(await succeeded('python3 -m unittest')).toMatchObject({ ok: true });
  });

  const passing = (command: string) => ({ criterion: 'adds', status: 'PASS', command });
  const report = (command: string, given: Parameters<typeof check>[1]) =>
    check('validator:TestReportValid', { files: { [REPORT]: { results: [passing(command)] } }, ...given });

  test('a report names a command that ran like that', async () => {
    const line = 'cd app && python3 -m unittest -v';
    expect(await report('python3 -m unittest -v', { observations: [ran(line)] })).toMatchObject({ ok: true });
    expect(await report('python3 -m unittest', { observations: [ran(line)] })).toMatchObject({ ok: false });
    expect(await report('echo ok', { observations: [ran('echo ok')] })).toMatchObject({
      reason: expect.stringContaining('proves nothing') as string,
    });
    expect(await report('make check', { observations: [ran('make check || true')] })).toMatchObject({ ok: false });
    expect(await report('make check', { observations: [ran('make check'), ran('make check', 2)] })).toMatchObject({
      reason: expect.stringContaining('was run and failed') as string,
    });
  });

  test('a report that is older than the last change is stale', async () => {
    const written = wrote(REPORT);
    const files = { [REPORT]: { results: [passing('make check')] } };
    const stale = { files, observations: [ran('make check'), written, wrote('a.py')] };
    expect(await check('validator:TestReportValid', stale)).toMatchObject({
      ok: false,
      failure: 'ConflictingEvidence',
      reason: expect.stringContaining('`a.py` was changed after it') as string,
    });
    expect(await check('contract:TestReport', stale)).toMatchObject({ ok: false });
    const rewritten = { files, observations: [ran('make check'), wrote('a.py'), written] };
    expect(await check('validator:TestReportValid', rewritten)).toMatchObject({
      reason: expect.stringContaining('out of date: `a.py` was changed after it ran') as string,
    });
    const fresh = { files, observations: [wrote('a.py'), ran('make check'), written] };
    expect(await check('validator:TestReportValid', fresh)).toMatchObject({ ok: true });
  });

  test('a text that the line itself prints is not the output of a test', async () => {
    const criteria = [{ criterion: 'c', expected_output_contains: '18 passed' }];
    const files = { [BRIEF]: { goal: 'g', files_to_change: ['a'], acceptance_criteria: criteria } };
    const judge = (command: string) =>
      check('validator:RequireAcceptanceCriteriaPassed', {
        files,
        observations: [ran(command, 0, { stdout: '18 passed\n' })],
      });
    expect(await judge('echo "18 passed"')).toMatchObject({ ok: false });
    expect(await judge('make && echo 18 passed')).toMatchObject({ ok: false });
    expect(await judge('make test')).toMatchObject({ ok: true });
  });

  test('a file that was removed after it was written is not there', async () => {
    expect(
      await check('validator:RequireWriteFile', { observations: [wrote('a.py'), ran('rm a.py')], gone: ['a.py'] }),
    ).toMatchObject({ ok: false, reason: expect.stringContaining('`a.py` is no longer on disk') as string });
  });
});

describe('the brief belongs to the agent that wrote it', () => {
  const brief = { goal: 'g', files_to_change: ['a'], acceptance_criteria: ['c'] };
  const files = { [BRIEF]: brief };
  const by = (agent: string, sha256?: string) =>
    observed('write_file', { path: BRIEF }, { agent, result: sha256 === undefined ? {} : { sha256 } });
  const judge = (...observations: ReturnType<typeof by>[]) => check('validator:RequireBrief', { files, observations });

  test('its owner may change it, another agent may not', async () => {
    expect(await judge(by('Planner'), by('Planner'))).toMatchObject({ ok: true });
    expect(await judge(by('Planner'), by('Dev'))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('was changed by Dev, but only Planner') as string,
    });
    expect(await judge(by('Planner'), by('Dev'), by('Planner'))).toMatchObject({ ok: true });
  });

  test('a change by a command shows in its hash', async () => {
    const hash = '0'.repeat(64);
    expect(await judge(by('Planner', hash))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('is not as Planner wrote it') as string,
    });
  });

  test('every check that reads the brief refuses it', async () => {
    const observations = [by('Planner'), by('Dev'), wrote('a'), ran('make')];
    const config = { Source: BRIEF, Field: 'files_to_change' };
    expect(await check('validator:RequireAllFilesWritten', { files, observations })).toMatchObject({ ok: false });
    expect(await check('contract:FilesWritten', { files, observations, config })).toMatchObject({ ok: false });
    const response = JSON.stringify({ review: [{ criterion: 'c', verdict: 'PASS', evidence: 'make' }] });
    expect(await check('validator:RequireReviewJudgement', { files, observations, response })).toMatchObject({
      ok: false,
    });
  });
});
