/**
 * Everything that CI runs, in one command. Each step that is not vitest counts as one check; the last line is the sum, and
 * the exit status says the same.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { countTests, failedFiles, withSecondRun } from './counts.ts';
import type { VitestReport } from './counts.ts';
import { installTestDeps } from './install-test-deps.ts';
import { rowsNotPassed } from './rows-passed.ts';
import { rowIds } from './spec-rows.ts';
import { root, run, start } from './tool.ts';
import type { Ran } from './tool.ts';

// The random cases are the same in every run. `npx vitest run` draws new ones and prints their seed.
process.env['SEED'] ??= '1';

const MOST_FILES_AGAIN = 5;
const SIMULATED = { seed: '1', runs: '25' };

let passed = 0;
let failed = 0;
const complaints: string[] = [];

// The installation waits for the network, and only the tests need it.
await Promise.all([
  check('test dependencies', installTestDeps),
  buildAndReference(),
  // The build checks the types of the sources.
  check('lint of the sources', () => start('oxlint', ['packages'])),
  check('lint and types of tests and scripts', () =>
    start('oxlint', ['--type-check', '--ignore-pattern=packages/*/src/**']),
  ),
  check('format', () => start('oxfmt', ['--check'])),
  check('unused code', () => start('knip', ['--no-progress', '--no-config-hints'])),
  check(`simulation, ${SIMULATED.runs} seeds from ${SIMULATED.seed}`, () =>
    start('node', ['scripts/simulate.ts', SIMULATED.seed, SIMULATED.runs]),
  ),
]);
await tests();

for (const line of complaints) say(line);
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** The reference is made from the types that the build writes. */
async function buildAndReference(): Promise<void> {
  await check('build', () => start('node', ['scripts/build.ts', '--changed']));
  await check('API reference', () => start('node', ['scripts/reference.ts', '--check']));
}

async function check(name: string, work: () => Ran | Promise<Ran>): Promise<void> {
  const from = performance.now();
  const { ok, output } = await work();
  say(`${ok ? 'ok    ' : 'FAILED'} ${name} (${seconds(from)})`);
  if (ok) passed += 1;
  else {
    failed += 1;
    say(output);
    complaints.push(`failed: ${name}`);
  }
}

async function tests(): Promise<void> {
  const from = performance.now();
  const first = vitest([]);
  const { report, ok, unstable } = secondRun(first) ?? { ...first, unstable: [] };
  const counts = countTests(report, ok);
  passed += counts.passed;
  failed += counts.failed;
  complaints.push(...[...unstable, ...counts.complaints].map((line) => line.replace(`${root}/`, '')));
  say(`${counts.failed === 0 ? 'ok    ' : 'FAILED'} tests (${seconds(from)})`);
  const missing = rowsNotPassed(report, rowIds());
  await check('rows of the specification that a test has shown', () => ({
    ok: missing.length === 0,
    output: missing.join('\n'),
  }));
}

interface Tested {
  readonly ok: boolean;
  readonly report: VitestReport | null;
}

/**
 * Runs the failed files once more, one at a time: a fault of the machine must not stop a release. A test that passes only
 * then is named in the last lines. Many failures, or an error outside of any test, get no second run.
 */
function secondRun(first: Tested): (Tested & { readonly unstable: readonly string[] }) | null {
  const files = failedFiles(first.report);
  if (first.report === null || files.length === 0 || files.length > MOST_FILES_AGAIN) return null;
  say(`again: ${files.join(' ').replaceAll(`${root}/`, '')}`);
  const second = vitest(['--maxWorkers=1', ...files]);
  return second.report === null ? null : { ok: second.ok, ...withSecondRun(first.report, second.report) };
}

function vitest(args: readonly string[]): Tested {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const file = join(dir, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const { ok } = run('vitest', ['run', ...reporters, ...args], { show: true });
    return { ok, report: reportIn(file) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function reportIn(file: string): VitestReport | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    say(`no report at ${relative(root, file)}`);
    return null;
  }
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
