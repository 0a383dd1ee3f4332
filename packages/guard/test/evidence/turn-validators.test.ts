/** Each row of the validators that look at what the turn did. */
import { describe, expect, test } from 'vitest';
import { BRIEF, check, observed, ran, wrote } from './ask.ts';
import type { Case } from './ask.ts';

type Row = readonly [
  name: string,
  given: Case,
  expected: true | 'MissingEvidence' | 'InvalidTransition' | 'ConflictingEvidence',
];
const rows = (validator: string, list: readonly Row[]): void => {
  describe(validator, () => {
    test.each(list)('%s', async (_, given, expected) => {
      const answer = await check(`validator:${validator}`, given);
      expect({ ok: answer.ok, failure: answer.failure ?? true, says: answer.reason !== '' }).toEqual({
        ok: expected === true,
        failure: expected,
        says: expected !== true,
      });
    });
  });
};
const brief = { goal: 'g', files_to_change: ['src/a.ts'], acceptance_criteria: ['works'] };
const before = { turn: 0 };

rows('RequireBrief', [
  ['a complete brief', { files: { [BRIEF]: brief } }, true],
  ['no brief', {}, 'MissingEvidence'],
  ['no brief, although the agent says there is one', { response: 'I wrote brief.json' }, 'MissingEvidence'],
  ['a brief that is no JSON', { files: { [BRIEF]: '{' } }, 'MissingEvidence'],
  ['a brief that is a list', { files: { [BRIEF]: [] } }, 'MissingEvidence'],
  ['an empty goal', { files: { [BRIEF]: { ...brief, goal: ' ' } } }, 'MissingEvidence'],
  ['no files', { files: { [BRIEF]: { ...brief, files_to_change: [] } } }, 'MissingEvidence'],
  ['no criteria', { files: { [BRIEF]: { goal: 'g', files_to_change: ['a'] } } }, 'MissingEvidence'],
  ['a brief elsewhere', { files: { 'docs/b.json': brief }, config: { BriefPath: 'docs/b.json' } }, true],
  [
    'a brief where `Validation` says',
    { files: { 'docs/b.json': brief }, config: { Validation: { BriefPath: 'docs/b.json' } } },
    true,
  ],
  ['a path that leads out', { config: { BriefPath: '../../../etc/passwd' } }, 'MissingEvidence'],
]);

rows('RequireWriteFile', [
  ['a file written', { observations: [wrote('a')] }, true],
  ['a file patched', { observations: [observed('patch_file', { path: 'a' })] }, true],
  ['a commit made', { observations: [observed('git_commit', {}, { result: { exitCode: 0 } })] }, true],
  ['nothing', {}, 'MissingEvidence'],
  ['nothing but words', { response: 'I wrote `a.ts`:\n```ts\n```' }, 'MissingEvidence'],
  ['only reading', { observations: [observed('read_file', { path: 'a' })] }, 'MissingEvidence'],
  ['a write that failed', { observations: [wrote('a', { ok: false, error: { message: 'no' } })] }, 'InvalidTransition'],
  ['a write that was denied', { observations: [wrote('a', { result: '[DENIED] no' })] }, 'InvalidTransition'],
  ['a write before the correction', { observations: [wrote('a', before)] }, 'MissingEvidence'],
  ['a write of somebody else', { observations: [wrote('a', { agent: 'Other' })] }, 'MissingEvidence'],
  [
    'a command in its stead',
    { observations: [ran('sed -i s/a/b/ x')], config: { ShellFallbackPattern: 'tee | SED -I' } },
    true,
  ],
  [
    'a command that failed in its stead',
    { observations: [ran('sed -i s/a/b/ x', 1)], config: { ShellFallbackPattern: 'sed -i' } },
    'MissingEvidence',
  ],
  ['a command without being asked for', { observations: [ran('sed -i s/a/b/ x')] }, 'MissingEvidence'],
  ['a pattern that is empty', { observations: [ran('ls')], config: { ShellFallbackPattern: '|' } }, 'MissingEvidence'],
]);

rows('RequireAllFilesWritten', [
  ['all written this turn', { files: { [BRIEF]: brief }, observations: [wrote('src/a.ts')] }, true],
  ['all written in an earlier turn', { files: { [BRIEF]: brief }, observations: [wrote('src/a.ts', before)] }, true],
  [
    'written with another spelling of the path',
    { files: { [BRIEF]: brief }, observations: [wrote('./src//a.ts')] },
    true,
  ],
  [
    'written in another folder',
    { files: { [BRIEF]: brief }, observations: [wrote('packages/x/src/a.ts')] },
    'MissingEvidence',
  ],
  [
    'written, and no longer on disk',
    { files: { [BRIEF]: brief }, observations: [wrote('src/a.ts')], gone: ['src/a.ts'] },
    'MissingEvidence',
  ],
  [
    'another file with a similar name',
    { files: { [BRIEF]: brief }, observations: [wrote('src/ba.ts')] },
    'MissingEvidence',
  ],
  [
    'objects with a path',
    { files: { [BRIEF]: { ...brief, files_to_change: [{ path: 'b' }] } }, observations: [wrote('b')] },
    true,
  ],
  [
    'one of two',
    { files: { [BRIEF]: { ...brief, files_to_change: ['a', 'b'] } }, observations: [wrote('a')] },
    'MissingEvidence',
  ],
  [
    'written and deleted again',
    { files: { [BRIEF]: brief }, observations: [wrote('src/a.ts'), observed('delete_file', { path: 'src/a.ts' })] },
    'MissingEvidence',
  ],
  [
    'deleted and written again',
    { files: { [BRIEF]: brief }, observations: [observed('delete_file', { path: 'src/a.ts' }), wrote('src/a.ts')] },
    true,
  ],
  ['on disk, but not written by anybody', { files: { [BRIEF]: brief, 'src/a.ts': '' } }, 'MissingEvidence'],
  ['an empty list', { files: { [BRIEF]: { ...brief, files_to_change: [] } } }, 'MissingEvidence'],
  ['no brief', { observations: [wrote('src/a.ts')] }, 'MissingEvidence'],
]);

rows('RequireShellPass', [
  ['a command that passed', { observations: [ran('npm test')] }, true],
  ['a command that failed', { observations: [ran('npm test', 1)] }, 'InvalidTransition'],
  ['one that failed, then passed', { observations: [ran('npm test', 1), ran('npm test')] }, true],
  ['no command', { response: 'npm test passed with exit code 0' }, 'MissingEvidence'],
  ['a command of the turn before', { observations: [ran('npm test', 0, before)] }, 'MissingEvidence'],
  [
    'the command that was asked for',
    { observations: [ran('cd x && GO BUILD ./...')], config: { RequiredCommandPattern: 'go build|go test' } },
    true,
  ],
  [
    'another command',
    { observations: [ran('ls')], config: { RequiredCommandPattern: 'go build|go test' } },
    'MissingEvidence',
  ],
  [
    'the right one failing, another passing',
    { observations: [ran('go test', 2), ran('ls')], config: { RequiredCommandPattern: 'go build|go test' } },
    'InvalidTransition',
  ],
  [
    'a call that failed altogether',
    { observations: [ran('x', 0, { ok: false, result: undefined, error: { type: 'TimeoutError' } })] },
    'InvalidTransition',
  ],
  ['text without a mark', { observations: [ran('x', 0, { result: 'all good' })] }, true],
  ['text that says it failed', { observations: [ran('x', 0, { result: '[EXIT 2] no' })] }, 'InvalidTransition'],
  ['text of a command that timed out', { observations: [ran('x', 0, { result: '[TIMEOUT]' })] }, 'InvalidTransition'],
  [
    'an object without an exit code',
    { observations: [ran('x', 0, { result: { stdout: 'ok' } })] },
    'InvalidTransition',
  ],
  ['a snake-case exit code', { observations: [ran('x', 0, { result: { exit_code: 0 } })] }, true],
]);

rows('RequireSessionContextWrite', [
  ['a summary left', { observations: [observed('session_context_write', { content: 's' })] }, true],
  ['none', { observations: [observed('session_context_read', {})] }, 'MissingEvidence'],
  [
    'one of the turn before',
    { observations: [observed('session_context_write', { content: 's' }, before)] },
    'MissingEvidence',
  ],
  [
    'one that failed',
    { observations: [observed('session_context_write', { content: 's' }, { ok: false })] },
    'MissingEvidence',
  ],
]);

const failing = (...turns: number[]) => turns.map((turn) => ran('npm test', 1, { turn }));
rows('BlockOnConsecutiveFail', [
  ['three turns that failed', { observations: failing(1, 2, 3), turn: 3 }, 'InvalidTransition'],
  ['two turns that failed', { observations: failing(1, 2), turn: 2 }, true],
  ['three commands in two turns', { observations: [...failing(1, 2), ...failing(2)], turn: 2 }, true],
  ['the last one passed', { observations: [...failing(1, 2, 3), ran('npm test', 0, { turn: 4 })], turn: 4 }, true],
  [
    'a turn that passed after it had failed',
    { observations: [...failing(1, 2, 3), ran('npm test', 0, { turn: 3 })], turn: 3 },
    true,
  ],
  [
    'three that failed after one that passed',
    { observations: [ran('npm test', 0, { turn: 0 }), ...failing(1, 2, 3)], turn: 3 },
    'InvalidTransition',
  ],
  [
    'three of another command',
    { observations: failing(1, 2, 3), turn: 3, config: { RequiredCommandPattern: 'go test' } },
    true,
  ],
  ['nothing at all', {}, true],
]);

describe('verdicts', () => {
  test('cite the observations they rest on', async () => {
    const [failed, passed] = [ran('npm test', 1), ran('npm test')];
    expect((await check('validator:RequireShellPass', { observations: [failed, passed] })).evidence).toEqual([
      passed.id,
    ]);
    expect((await check('validator:RequireShellPass', { observations: [failed] })).evidence).toEqual([failed.id]);
    const write = wrote('src/a.ts');
    expect(
      (
        await check('validator:RequireAllFilesWritten', {
          files: { [BRIEF]: brief },
          observations: [write, wrote('other')],
        })
      ).evidence,
    ).toEqual([write.id]);
  });

  test('a repeated failure without a call in between is no progress', async () => {
    const kind = async (given: Case) => (await check('validator:RequireShellPass', given)).failure;
    expect(await kind({ failures: 0 })).toBe('MissingEvidence');
    expect(await kind({ failures: 1 })).toBe('NoProgress');
    expect(await kind({ failures: 1, observations: [observed('handoff', { route_keyword: 'X' })] })).toBe('NoProgress');
    expect(await kind({ failures: 1, observations: [ran('npm test', 0, before)] })).toBe('NoProgress');
    expect(await kind({ failures: 1, observations: [observed('read_file', { path: 'a' })] })).toBe('MissingEvidence');
    expect(await kind({ failures: 2, observations: [ran('npm test', 1)] })).toBe('InvalidTransition');
    expect(await kind({ config: { failures: 1 } })).toBe('NoProgress');
  });
});
