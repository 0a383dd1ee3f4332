import { expect, test } from 'vitest';
import { countTests, failedFiles, withSecondRun } from '../../scripts/counts.ts';
import { rowsNotPassed } from '../../scripts/rows-passed.ts';

const file = (statuses: readonly string[], status = statuses.includes('failed') ? 'failed' : 'passed') => ({
  name: 'a.test.ts',
  status,
  assertionResults: statuses.map((each, index) => ({ fullName: `t${index}`, status: each })),
});

test('passed and failed tests are added up over files', () => {
  const counts = countTests(
    { success: false, testResults: [file(['passed', 'passed']), file(['passed', 'failed'])] },
    false,
  );
  expect(counts).toEqual({ passed: 3, failed: 1, complaints: ['failed: a.test.ts: t1'] });
});

test('a skipped test is not passed over in silence', () => {
  expect(countTests({ success: true, testResults: [file(['passed', 'skipped'])] }, true)).toEqual({
    passed: 1,
    failed: 0,
    complaints: ['skipped: a.test.ts: t1'],
  });
});

test('a file that cannot be loaded is a failure', () => {
  expect(countTests({ success: false, testResults: [file(['passed']), file([], 'failed')] }, false)).toMatchObject({
    passed: 1,
    failed: 1,
  });
});

test('an error outside of any test, no test and no report are failures', () => {
  expect(countTests({ success: false, testResults: [file(['passed'])] }, false).failed).toBe(1);
  expect(countTests({ success: true, testResults: [] }, true).failed).toBe(1);
  expect(countTests(null, false).failed).toBe(1);
});

test('a row is shown by a test that passed, and by no other', () => {
  const named = (fullName: string, status: string) => ({ fullName, status });
  const assertionResults = [
    named('a \u00a7t/one \u00a7t/two', 'passed'),
    named('b \u00a7t/three', 'failed'),
    named('c \u00a7t/four', 'skipped'),
  ];
  const rows = ['t/one', 't/two', 't/three', 't/four', 't/five'];
  expect(rowsNotPassed({ testResults: [{ assertionResults }] }, rows)).toEqual(['t/three', 't/four', 't/five']);
  expect(rowsNotPassed(null, rows)).toEqual(rows);
});

test('a test that passes only in a second run is named, and one that fails again is a failure', () => {
  const named = (name: string, statuses: readonly string[]) => ({ ...file(statuses), name });
  const first = {
    success: false,
    testResults: [named('a', ['passed', 'failed']), named('b', ['failed', 'failed']), named('c', ['passed'])],
  };
  expect(failedFiles(first)).toEqual(['a', 'b']);
  const { report, unstable } = withSecondRun(first, {
    success: false,
    testResults: [named('a', ['passed', 'passed']), named('b', ['failed', 'passed'])],
  });
  expect(unstable).toEqual(['unstable, passed in a second run: a: t1', 'unstable, passed in a second run: b: t1']);
  expect(countTests(report, false)).toEqual({ passed: 4, failed: 1, complaints: ['failed: b: t0'] });
  expect(report.testResults.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test('a file that is not in the second report keeps its first result', () => {
  const first = { success: false, testResults: [file(['passed', 'failed'])] };
  expect(countTests(withSecondRun(first, { success: true, testResults: [] }).report, true).failed).toBe(1);
});
