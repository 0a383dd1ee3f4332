/**
 * Everything that CI runs, in one command. Each step that is not vitest counts as one check; the last line is the sum, and
 * the exit status says the same.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { countTests } from './counts.ts';
import { installTestDeps } from './install-test-deps.ts';
import { rowsNotPassed } from './rows-passed.ts';
import { rowIds } from './spec-rows.ts';
import { root, run, start } from './tool.ts';
import type { Ran } from './tool.ts';

// The random cases are the same in every run. `npx vitest run` draws new ones and prints their seed.
process.env['SEED'] ??= '1';

const SIMULATED = { seed: '1', runs: '25' };

let passed = 0;
let failed = 0;
const complaints: string[] = [];

await check('test dependencies', installTestDeps);
await check('build', () => run('node', ['scripts/build.ts']));
await Promise.all([
  check('types of tests and scripts', () => start('tsc', ['-b'])),
  check('lint', () => start('oxlint', [])),
  check('format', () => start('oxfmt', ['--check'])),
  check('API reference', () => start('node', ['scripts/reference.ts', '--check'])),
  check('unused code', () => start('knip', ['--no-progress', '--no-config-hints'])),
  check(`simulation, ${SIMULATED.runs} seeds from ${SIMULATED.seed}`, () =>
    start('node', ['scripts/simulate.ts', SIMULATED.seed, SIMULATED.runs]),
  ),
]);
await tests();

for (const line of complaints) say(line);
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

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
  const dir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const file = join(dir, 'report.json');
  try {
    const { ok } = run('vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`], {
      show: true,
    });
    const report = reportIn(file);
    const counts = countTests(report, ok);
    passed += counts.passed;
    failed += counts.failed;
    complaints.push(...counts.complaints.map((line) => line.replace(`${root}/`, '')));
    say(`${counts.failed === 0 ? 'ok    ' : 'FAILED'} tests (${seconds(from)})`);
    const missing = rowsNotPassed(report, rowIds());
    await check('rows of the specification that a test has shown', () => ({
      ok: missing.length === 0,
      output: missing.join('\n'),
    }));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function reportIn(file: string): Parameters<typeof countTests>[0] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Parameters<typeof countTests>[0];
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
