/** Each row of the validators that look at what agents hand in. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { compile } from '@sluice-internal/library';
import { BRIEF, REPORT, check, ran, wrote } from './ask.ts';
import type { Case } from './ask.ts';

type Row = readonly [name: string, given: Case, expected: true | string];
const rows = (validator: string, list: readonly Row[]): void => {
  describe(validator, () => {
    test.each(list)('%s', async (_, given, expected) => {
      const { ok, failure, reason } = await check(`validator:${validator}`, given);
      const said = ok ? 'passes' : `${failure}: ${reason}`;
      expect(said).toContain(expected === true ? 'passes' : expected);
    });
  });
};
const TEST = 'node --test test/';
const passing = { criterion: 'adds', status: 'PASS', command: TEST };
const report = (...results: Json[]): { [path: string]: Json } => ({ [REPORT]: { results, fake_test_files: [] } });
const brief = (extra: object = {}): { [path: string]: Json } => ({
  [BRIEF]: { goal: 'g', files_to_change: ['a.ts'], acceptance_criteria: ['adds'], ...extra },
});
const tested = [ran(TEST)];

rows('TestReportValid', [
  ['a report that holds', { files: { ...report(passing), ...brief() }, observations: tested }, true],
  [
    '1: no report',
    { observations: tested },
    'MissingEvidence: The test report is not valid: `.fuseraft/artifacts/test-report.json` does not exist',
  ],
  ['2: no JSON', { files: { [REPORT]: 'PASS' }, observations: tested }, 'MissingEvidence'],
  [
    '2: no results',
    { files: report(), observations: tested },
    'MissingEvidence: The test report `.fuseraft/artifacts/test-report.json` has no results',
  ],
  [
    '3: a failure',
    { files: report(passing, { criterion: 'subtracts', status: 'fail', command: TEST }), observations: tested },
    'InvalidTransition: The test report has failures: `subtracts`',
  ],
  [
    '3: neither',
    { files: report({ ...passing, status: 'SKIP' }), observations: tested },
    'InvalidTransition: The result of `adds` is neither',
  ],
  [
    '4: no command',
    { files: report({ criterion: 'adds', status: 'PASS' }), observations: tested },
    'MissingEvidence: The result of `adds` names no command',
  ],
  [
    '4b: a tool call as text',
    { files: report({ ...passing, command: 'shell_run("node --test")' }), observations: tested },
    'ConflictingEvidence: The command of `adds` is a tool call',
  ],
  [
    'a PASS with another exit code',
    { files: report({ ...passing, exit_code: 1 }), observations: tested },
    'ConflictingEvidence: The result of `adds` says PASS with exit code 1',
  ],
  [
    '5: fake test files',
    { files: { [REPORT]: { results: [passing], fake_test_files: ['t.ts'] } }, observations: tested },
    'ConflictingEvidence: The test report lists fake test files: t.ts',
  ],
  [
    '6: fewer results than criteria',
    { files: { ...report(passing), ...brief({ acceptance_criteria: ['adds', 'subtracts'] }) }, observations: tested },
    'MissingEvidence: The test report has 1 results for 2',
  ],
  [
    '7: a test file beside the brief that this session emptied',
    {
      files: { ...report(passing), ...brief(), 'test/b.test.ts': "test('b', () => {});" },
      observations: [wrote('test/b.test.ts'), ran(TEST)],
    },
    'ConflictingEvidence: The test file `test/b.test.ts` asserts nothing',
  ],
  [
    '7: a test file that this session deleted',
    {
      files: { ...report(passing), ...brief() },
      observations: [wrote('test/b.test.ts'), ran('rm test/b.test.ts'), ran(TEST)],
      gone: ['test/b.test.ts'],
    },
    true,
  ],
  [
    '9: a command that ran no test',
    { files: { ...report(passing), ...brief() }, observations: [ran(TEST, 0, { stdout: 'ℹ tests 0\nℹ pass 0' })] },
    'ConflictingEvidence: The command of `adds` ran no test',
  ],
  [
    '7: a test file that asserts',
    {
      files: {
        ...report(passing),
        ...brief({ files_to_change: ['test/a.test.ts'] }),
        'test/a.test.ts': 'expect(1).toBe(1)',
      },
      observations: tested,
    },
    true,
  ],
  [
    '7: a test file that asserts nothing',
    {
      files: {
        ...report(passing),
        ...brief({ files_to_change: ['test/a.test.ts'] }),
        'test/a.test.ts': 'console.log("ok")',
      },
      observations: tested,
    },
    'ConflictingEvidence: The test file `test/a.test.ts` asserts nothing',
  ],
  [
    '7: a test file that is not there',
    { files: { ...report(passing), ...brief({ files_to_change: ['a_test.go'] }) }, observations: tested },
    'MissingEvidence: The test file `a_test.go` does not exist',
  ],
  [
    '7: a pattern of the project’s own',
    {
      files: { ...report(passing), ...brief({ files_to_change: ['a.spec.ts'] }), 'a.spec.ts': 'must(x)' },
      observations: tested,
      config: { TestAssertionPatterns: ['\\bmust\\('] },
    },
    true,
  ],
  [
    '8: no command ever ran',
    { files: report(passing) },
    'ConflictingEvidence: The test report names commands, but no command ever ran',
  ],
  [
    '8: another command ran',
    { files: report(passing), observations: [ran('ls')] },
    'ConflictingEvidence: The command of `adds` was never run',
  ],
  [
    '8: the command ran and failed',
    { files: report(passing), observations: [ran(TEST, 1)] },
    'ConflictingEvidence: The command of `adds` was run and failed',
  ],
  [
    '8: the command ran in an earlier turn, within another',
    { files: report(passing), observations: [ran(`cd x &&  NODE   --test test/`, 0, { turn: 0, agent: 'Tester' })] },
    true,
  ],
  [
    '8: a short command is no part of a long one',
    { files: report({ ...passing, command: 'make' }), observations: [ran('echo makeshift')] },
    'ConflictingEvidence',
  ],
  [
    '8: a short command that ran',
    { files: report({ ...passing, command: 'make' }), observations: [ran('cd x && make')] },
    true,
  ],
  [
    'a report elsewhere',
    { files: { 'r.json': { results: [passing] } }, observations: tested, config: { TestReportPath: 'r.json' } },
    true,
  ],
]);

const review = (...entries: Json[]): string => JSON.stringify({ review: entries });
const good = { criterion: 'adds', verdict: 'PASS', evidence: 'ran it' };
rows('RequireReviewJudgement', [
  ['a judgement with a command behind it', { response: review(good), observations: [ran('x')] }, true],
  ['in a fence', { response: `Here:\n\`\`\`json\n${review(good)}\n\`\`\`\nAPPROVED`, observations: [ran('x')] }, true],
  ['within text', { response: `My view: ${review(good)} APPROVED`, observations: [ran('x')] }, true],
  ['with a lower-case verdict', { response: review({ ...good, verdict: 'pass' }), observations: [ran('x')] }, true],
  ['a command that failed is one all the same', { response: review(good), observations: [ran('x', 1)] }, true],
  ['no judgement', { response: 'APPROVED', observations: [ran('x')] }, 'MissingEvidence: The review is missing'],
  ['no reply', { observations: [ran('x')] }, 'MissingEvidence'],
  ['an empty one', { response: review(), observations: [ran('x')] }, 'MissingEvidence'],
  [
    'a failure',
    { response: review(good, { ...good, criterion: 'fast', verdict: 'FAIL' }), observations: [ran('x')] },
    'InvalidTransition: The review fails `fast`',
  ],
  [
    'another verdict',
    { response: review({ ...good, verdict: 'MAYBE' }), observations: [ran('x')] },
    'InvalidTransition',
  ],
  ['no command this turn', { response: review(good), observations: [ran('x', 0, { turn: 0 })] }, 'ConflictingEvidence'],
  [
    'fewer entries than criteria',
    { response: review(good), files: brief({ acceptance_criteria: ['adds', 'b'] }), observations: [ran('x')] },
    'MissingEvidence: The review judges 1 of 2',
  ],
  [
    'entries for other criteria than those of the brief',
    { response: review(good, good), files: brief({ acceptance_criteria: ['adds', 'b'] }), observations: [ran('x')] },
    'There is no entry for `b`',
  ],
  [
    'an entry without evidence',
    { response: review({ ...good, evidence: ' ' }), observations: [ran('x')] },
    'The entry for `adds` has no `evidence`',
  ],
  [
    'a criterion with other punctuation',
    {
      response: review({ ...good, criterion: '1. Adds two numbers!' }),
      files: brief({ acceptance_criteria: [{ criterion: 'adds two numbers' }] }),
      observations: [ran('x')],
    },
    true,
  ],
  [
    'a brief without criteria',
    { response: review(good), files: brief({ acceptance_criteria: [] }), observations: [ran('x')] },
    'MissingEvidence: `.fuseraft/artifacts/brief.json` has no acceptance criteria, so there is nothing to judge',
  ],
  [
    'criteria that are not a list',
    { response: review(good), files: brief({ acceptance_criteria: 'adds' }), observations: [ran('x')] },
    'has no acceptance criteria',
  ],
  [
    'a criterion without text',
    { response: review(good), files: brief({ acceptance_criteria: ['adds', ' '] }), observations: [ran('x')] },
    'Criterion 2 of `.fuseraft/artifacts/brief.json` has no text',
  ],
  [
    'a criterion that has only a command',
    {
      response: review({ ...good, criterion: 'npm run add' }),
      files: brief({ acceptance_criteria: [{ test_command: 'npm run add' }] }),
      observations: [ran('x')],
    },
    true,
  ],
  [
    'a brief that is named and not there',
    { response: review(good), config: { BriefPath: 'b.json' }, observations: [ran('x')] },
    'MissingEvidence',
  ],
]);

const criteria = brief({
  acceptance_criteria: [
    'plain',
    { criterion: 'says hello', test_command: './hello', expected_output_contains: 'Hello' },
  ],
});
rows('RequireAcceptanceCriteriaPassed', [
  [
    'the words were shown',
    { files: criteria, observations: [ran('./hello', 0, { stdout: 'well, hello there' })] },
    true,
  ],
  ['in an earlier turn', { files: criteria, observations: [ran('./hello', 0, { stdout: 'HELLO', turn: 0 })] }, true],
  [
    'by a command that failed',
    { files: criteria, observations: [ran('./hello', 1, { stdout: 'Hello' })] },
    'MissingEvidence: No command that succeeded has shown `Hello`',
  ],
  ['only by the agent', { files: criteria, response: 'Hello' }, 'try `./hello`'],
  ['nothing to be shown', { files: brief() }, true],
  ['no brief', {}, 'MissingEvidence'],
]);

test('the longer name means the same validator', () => {
  const route = { Keyword: 'DONE', Agent: 'Dev', Validator: 'RequireAcceptanceCriteriaPassedValidator' };
  const { flow, diagnostics } = compile({
    Orchestration: {
      Agents: [{ Name: 'Dev', Instructions: 'Write.' }],
      Selection: { Type: 'keyword', Routes: [route] },
      Termination: { Type: 'maxiterations', MaxIterations: 2 },
    },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(JSON.stringify(flow)).toContain('"validator:RequireAcceptanceCriteriaPassed"');
});

describe('RequireRelatedTestsPass', () => {
  const runner = (exitCode: number, asked: string[] = []): Case['options'] => ({
    run: (command, { timeoutMs }) => {
      asked.push(`${command} ${timeoutMs}`);
      return Promise.resolve({ exitCode, stdout: 'x'.repeat(5_000), stderr: 'the end' });
    },
  });
  const selector = { TestSelector: { FindRelatedCommand: 'jest --related {file}', FullSuiteCommand: 'npm test' } };

  test('runs what belongs to each written file, and nothing else can pass for it', async () => {
    const asked: string[] = [];
    const given: Case = {
      observations: [
        wrote('a.ts'),
        wrote("it's b.ts"),
        wrote('-rf'),
        wrote('a$&b.ts'),
        wrote('.fuseraft/artifacts/brief.json'),
      ],
      config: selector,
      options: runner(0, asked),
    };
    expect(await check('validator:RequireRelatedTestsPass', given)).toMatchObject({ ok: true });
    expect(asked).toEqual([
      'jest --related a.ts 120000',
      `jest --related 'it'\\''s b.ts' 120000`,
      'jest --related ./-rf 120000',
      `jest --related 'a$&b.ts' 120000`,
    ]);
  });

  test('runs the whole suite where nothing was written, and says what failed', async () => {
    const asked: string[] = [];
    const answer = await check('validator:RequireRelatedTestsPass', { config: selector, options: runner(1, asked) });
    expect(asked).toEqual(['npm test 120000']);
    expect(answer).toMatchObject({ ok: false, failure: 'InvalidTransition' });
    expect(answer.reason).toMatch(/exit code 1/);
    expect(answer.reason).toMatch(/the end$/);
    expect(answer.reason.length).toBeLessThan(2_200);
  });

  test('without a command there is nothing to go by', async () => {
    expect(await check('validator:RequireRelatedTestsPass', { options: runner(0) })).toMatchObject({ ok: false });
    await expect(check('validator:RequireRelatedTestsPass', { config: selector })).rejects.toThrow(
      'no sandbox is configured',
    );
  });
});
