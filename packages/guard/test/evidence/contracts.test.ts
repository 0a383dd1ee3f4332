/** Each predicate of contracts: the whole session counts, and files as they are. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { BRIEF, REPORT, check, observed, ran, workDirWith, wrote } from './ask.ts';
import type { Case } from './ask.ts';

type Row = readonly [name: string, given: Case, expected: true | string];
const rows = (predicate: string, list: readonly Row[]): void => {
  describe(predicate, () => {
    test.each(list)('%s', async (_, given, expected) => {
      const { ok, failure, reason } = await check(`contract:${predicate}`, given);
      const said = ok ? 'passes' : `${failure}: ${reason}`;
      expect(said).toContain(expected === true ? 'passes' : expected);
    });
  });
};
const earlier = { turn: 0, agent: 'Other' };
const brief = (fields: { [field: string]: Json }): { [path: string]: Json } => ({ [BRIEF]: fields });
const listed = { Source: BRIEF, Field: 'files_to_change' };

rows('FilesWritten', [
  [
    'written in another turn by another agent',
    { files: brief({ files_to_change: ['a'] }), observations: [wrote('a', earlier)], config: listed },
    true,
  ],
  [
    'not written',
    { files: brief({ files_to_change: ['a', 'b'] }), observations: [wrote('a')], config: listed },
    "MissingEvidence: Contract 'FilesWritten' failed — files from `.fuseraft/artifacts/brief.json` not written: b",
  ],
  [
    'made by a command, and on disk',
    { files: { ...brief({ files_to_change: ['gen/a'] }), 'gen/a': 'x' }, observations: [ran('make')], config: listed },
    true,
  ],
  [
    'on disk before anybody did anything',
    { files: { ...brief({ files_to_change: ['a'] }), a: 'x' }, config: listed },
    'MissingEvidence',
  ],
  [
    'made by a command, and not on disk',
    { files: brief({ files_to_change: ['a'] }), observations: [ran('make')], config: listed },
    'MissingEvidence',
  ],
  [
    'written and deleted',
    {
      files: brief({ files_to_change: ['a'] }),
      observations: [wrote('a', earlier), observed('delete_file', { path: 'a' })],
      config: listed,
    },
    'MissingEvidence',
  ],
  [
    'a nested field of another file',
    {
      files: { 'plan.json': { plan: { files: [{ path: 'a' }] } } },
      observations: [wrote('a')],
      config: { Source: 'plan.json', Field: 'plan.files' },
    },
    true,
  ],
  ['the brief unless said', { files: brief({ files_to_change: ['a'] }), observations: [wrote('a')] }, true],
  ['an empty list', { files: brief({ files_to_change: [] }), config: listed }, '`files_to_change` of'],
  ['a text as the list', { files: brief({ files_to_change: 'a' }), config: listed }, 'must be a list of files'],
  ['no source', { config: listed }, 'MissingEvidence'],
  ['no field', { files: brief({}), config: listed }, 'has no `files_to_change`'],
]);

const verify = { PatternField: 'verify_command' };
rows('CommandSucceeded', [
  [
    'in an earlier turn',
    { observations: [ran('npm run BUILD', 0, earlier)], config: { Pattern: 'npm run build' } },
    true,
  ],
  [
    'one of the alternatives',
    { observations: [ran('go test ./...')], config: { Pattern: 'go build | go test' } },
    true,
  ],
  [
    'none of them',
    { observations: [ran('ls')], config: { Pattern: 'go build|go test' } },
    "MissingEvidence: Contract 'CommandSucceeded' failed — `go build|go test` has not run",
  ],
  [
    'it ran and failed',
    { observations: [ran('go test', 1)], config: { Pattern: 'go test' } },
    "InvalidTransition: Contract 'CommandSucceeded' failed — `go test` has not succeeded",
  ],
  [
    'it failed, then succeeded',
    { observations: [ran('go test', 1), ran('go test')], config: { Pattern: 'go test' } },
    true,
  ],
  [
    'both parts, in commands of their own',
    {
      observations: [ran('npm run lint'), ran('npm test', 0, earlier)],
      config: { Pattern: 'npm test && npm run lint' },
    },
    true,
  ],
  [
    'both parts, in one',
    { observations: [ran('npm test && npm run lint')], config: { Pattern: 'npm test && npm run lint' } },
    true,
  ],
  [
    'one part only',
    { observations: [ran('npm test')], config: { Pattern: 'npm test && npm run lint' } },
    'InvalidTransition',
  ],
  ['said, not run', { response: 'npm test: exit code 0', config: { Pattern: 'npm test' } }, 'MissingEvidence'],
  [
    'the command that the brief names',
    { files: brief({ verify_command: 'make check' }), observations: [ran('make check')], config: verify },
    true,
  ],
  [
    'another than the brief names',
    { files: brief({ verify_command: 'make check' }), observations: [ran('make')], config: verify },
    'MissingEvidence',
  ],
  [
    'several that the brief names',
    { files: brief({ verify_command: ['make', 'make check'] }), observations: [ran('make')], config: verify },
    'MissingEvidence',
  ],
  [
    'a source of its own',
    {
      files: { 'p.json': { cmd: 'make' } },
      observations: [ran('make')],
      config: { PatternField: 'cmd', PatternSource: 'p.json' },
    },
    true,
  ],
  [
    'a brief without the field',
    { files: brief({}), observations: [ran('make')], config: verify },
    'has no `verify_command`',
  ],
  [
    'an empty command',
    { files: brief({ verify_command: ' ' }), observations: [ran('make')], config: verify },
    'names no command',
  ],
  ['a pattern of nothing', { observations: [ran('make')], config: { Pattern: ' | && ' } }, 'MissingEvidence'],
  ['nothing set', { observations: [ran('make')] }, 'MissingEvidence'],
]);

rows('FileExists', [
  ['there', { files: { 'a/b': '' }, config: { Path: './a/b' } }, true],
  ['not there', { config: { Path: 'a/b' } }, "MissingEvidence: Contract 'FileExists' failed — `a/b` does not exist"],
  ['a folder', { files: { 'a/b': '' }, config: { Path: 'a' } }, 'MissingEvidence'],
  ['outside', { config: { Path: '/etc/passwd' } }, 'MissingEvidence'],
  ['no path', {}, 'MissingEvidence'],
]);

const report = (...results: Json[]): { [path: string]: Json } => ({ [REPORT]: { results } });
rows('TestReport', [
  [
    'no failures',
    {
      files: report({ criterion: 'a', status: 'PASS' }),
      observations: [ran('npm test')],
      config: { NoFailures: true },
    },
    true,
  ],
  ['no command that ran', { files: report({ criterion: 'a', status: 'PASS' }) }, 'no command ever ran'],
  [
    'only a command that failed',
    { files: report({ criterion: 'a', status: 'PASS' }), observations: [ran('npm test', 1)] },
    'no command has succeeded',
  ],
  [
    'a command that the report names and nobody ran',
    { files: report({ criterion: 'a', status: 'PASS', command: 'go test' }), observations: [ran('npm test')] },
    'was never run: `go test`',
  ],
  [
    'a failure',
    {
      files: report({ criterion: 'a', status: 'PASS' }, { criterion: 'b', status: 'FAIL' }),
      config: { NoFailures: true },
    },
    "InvalidTransition: Contract 'TestReport' failed — `.fuseraft/artifacts/test-report.json` has failures: b",
  ],
  [
    'a failure that is allowed',
    {
      files: report({ criterion: 'b', status: 'FAIL' }),
      observations: [ran('npm test', 1)],
      config: { NoFailures: false },
    },
    true,
  ],
  ['no report', {}, 'MissingEvidence'],
  ['no results', { files: report() }, 'MissingEvidence'],
  [
    'tests that assert',
    {
      files: { ...report({ status: 'PASS' }), ...brief({ files_to_change: ['a.test.js'] }), 'a.test.js': 'assert(1)' },
      observations: [ran('npm test')],
      config: { NoFailures: true, HasAssertions: true },
    },
    true,
  ],
  [
    'tests that do not',
    {
      files: { ...report({ status: 'PASS' }), ...brief({ files_to_change: ['a.test.js'] }), 'a.test.js': '1' },
      config: { HasAssertions: true },
    },
    'ConflictingEvidence',
  ],
  [
    'tests that need not',
    {
      files: { ...report({ status: 'PASS' }), ...brief({ files_to_change: ['a.test.js'] }), 'a.test.js': '1' },
      observations: [ran('npm test')],
      config: { NoFailures: true },
    },
    true,
  ],
]);

const items = { Source: 'c.json', Field: 'items' };
rows('ChecklistComplete', [
  [
    'flags and states',
    {
      files: {
        'c.json': {
          items: [
            { item: 'a', done: true },
            { item: 'b', completed: true },
            { item: 'c', status: 'Done' },
            '[x] d',
            true,
          ],
        },
      },
      config: items,
    },
    true,
  ],
  [
    'one open',
    {
      files: {
        'c.json': {
          items: [
            { item: 'a', done: true },
            { item: 'b', done: false },
          ],
        },
      },
      config: items,
    },
    "InvalidTransition: Contract 'ChecklistComplete' failed — the checklist in `c.json` is not complete: b",
  ],
  ['a box that is open', { files: { 'c.json': { items: ['[ ] a'] } }, config: items }, 'InvalidTransition'],
  ['no items', { files: { 'c.json': { items: [] } }, config: items }, 'MissingEvidence'],
  ['no field', { files: { 'c.json': {} }, config: items }, 'MissingEvidence'],
  ['no file', { config: items }, 'MissingEvidence'],
  ['the boxes of a page', { files: { 'c.md': '# List\n- [x] a\n  * [X] b\n' }, config: { Source: 'c.md' } }, true],
  [
    'an open box of a page',
    { files: { 'c.md': '- [x] a\n- [ ] b\n' }, config: { Source: 'c.md' } },
    "InvalidTransition: Contract 'ChecklistComplete' failed — the checklist in `c.md` is not complete: b",
  ],
]);

describe('RelatedTestsPass', () => {
  test.each([
    [0, true],
    [1, false],
  ])('exit code %i', async (exitCode, ok) => {
    const options: Case['options'] = { run: () => Promise.resolve({ exitCode, stdout: '', stderr: '' }) };
    expect(
      await check('contract:RelatedTestsPass', { config: { FullSuiteCommand: 'npm test' }, options }),
    ).toMatchObject({ ok });
  });
});

describe('a contract as it is declared', () => {
  const Requires: Json = [
    { FilesWritten: { Source: BRIEF, Field: 'files_to_change' } },
    { Type: 'CommandSucceeded', PatternField: 'verify_command' },
  ];
  const files = brief({ files_to_change: ['a'], verify_command: 'make check' });
  const judge = (given: Case) => check('contract:ImplementationComplete', { files, config: { Requires }, ...given });

  test('holds when all that it requires holds, and cites what shows it', async () => {
    const made = ran('make check');
    expect(await judge({ observations: [wrote('a'), made] })).toEqual({ ok: true, reason: '', evidence: [made.id] });
    expect(await judge({ config: { Requires: [] } })).toMatchObject({ ok: true });
  });

  test('names itself and the first thing that is missing', async () => {
    expect(await judge({ observations: [ran('make check')] })).toMatchObject({
      ok: false,
      failure: 'MissingEvidence',
      reason: expect.stringContaining("Contract 'ImplementationComplete' failed — files from") as string,
    });
    expect(await judge({ observations: [wrote('a')] })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('`make check` has not run') as string,
    });
  });

  test('gets its paths from the section that has them, and tests as they are run', async () => {
    const options: Case['options'] = {
      run: (command) => Promise.resolve({ exitCode: command === 'npm test' ? 0 : 1, stdout: '', stderr: '' }),
    };
    const config: Case['config'] = {
      Requires: [{ TestReport: { NoFailures: true } }, { RelatedTestsPass: true }],
      TestReportPath: 'r.json',
      TestSelector: { FullSuiteCommand: 'npm test' },
    };
    expect(
      await check('contract:Tested', {
        files: { 'r.json': { results: [{ status: 'PASS' }] } },
        observations: [ran('npm test')],
        config,
        options,
      }),
    ).toMatchObject({ ok: true });
  });

  test('with an unknown requirement fails', async () => {
    expect(await judge({ config: { Requires: [{ Magic: {} }] } })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("unknown contract 'Magic'") as string,
    });
    expect(await judge({ config: { Requires: [null] } })).toMatchObject({ ok: false });
  });
});

describe('all of them', () => {
  test('follow no link out of the work directory', async () => {
    const outside = workDirWith({});
    writeFileSync(join(outside, 'x'), '{}');
    const inside = workDirWith({});
    symlinkSync(join(outside, 'x'), join(inside, 'x'));
    expect(await check('contract:FileExists', { config: { Path: 'x' }, options: { workDir: inside } })).toMatchObject({
      ok: false,
      failure: 'MissingEvidence',
    });
  });

  test('an unknown name fails', async () => {
    expect(await check('contract:Nope', {})).toMatchObject({
      ok: false,
      reason: "unknown contract 'Nope'. Verify it is declared under 'Orchestration.Contracts'.",
    });
    expect(await check('contract:toString', {})).toMatchObject({ ok: false });
    expect(await check('validator:Nope', {})).toMatchObject({ ok: false });
    expect(await check('validator:constructor', {})).toMatchObject({ ok: false });
    await expect(check('policy:Nope', {})).rejects.toThrow('no performer for');
  });
});
