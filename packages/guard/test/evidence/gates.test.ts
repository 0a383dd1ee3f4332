/** Gates that run a command, and what gates still need. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { fail } from '@sluice-internal/engine/ports';
import type { Ran } from '../../src/evidence/evidence.ts';
import { check, ran, wrote, type Case } from './ask.ts';

describe('gates:run', () => {
  const judge = (run: string, outcome: Partial<Ran> | Error, more: Case = {}) => {
    const asked: string[] = [];
    const options: Case['options'] = {
      run: async (command, { timeoutMs }) => {
        asked.push(`${command} ${timeoutMs}`);
        if (outcome instanceof Error) throw outcome;
        return { exitCode: 0, stdout: '', stderr: '', ...outcome };
      },
    };
    return check('gates:run', { ...more, config: { run, ...more.config }, options }).then((verdict) => ({
      ...verdict,
      asked,
    }));
  };

  test('passes by the exit status', async () => {
    expect(await judge('make', {})).toMatchObject({ ok: true, asked: ['make 300000'] });
    expect(await judge('make', { exitCode: 2, stderr: 'no rule' }, { config: { timeoutMs: 500 } })).toMatchObject({
      ok: false,
      failure: 'InvalidTransition',
      reason: 'The engine ran `make`, which ended with exit code 2.\nno rule',
      asked: ['make 500'],
    });
  });

  test('a command that takes too long does not pass', async () => {
    expect(await judge('make', fail('timeout', 'TimeoutError', 'it took 500 ms'))).toMatchObject({ ok: false });
  });

  test.each([
    ['npm test', 'ℹ tests 0\nℹ pass 0', false],
    ['npm test', 'ℹ tests 3\nℹ pass 3', true],
    ['go test ./...', '?   \tm\t[no test files]', false],
    ['make all', 'no tests to run', true],
  ])('%s, whose output is %j', async (command, stdout, ok) => {
    expect(await judge(command, { stdout })).toMatchObject({ ok });
  });

  test('a test command does not pass with a test file of this session that asserts nothing', async () => {
    const observations = [wrote('a.test.js')];
    const files = { 'a.test.js': "import test from 'node:test';\ntest('adds', () => {});\n" };
    const output = { stdout: 'ℹ tests 1\nℹ pass 1' };
    expect(await judge('npm test', output, { observations, files })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('`a.test.js` asserts nothing'),
    });
    const honest = { 'a.test.js': "test('adds', () => { assert.equal(add(1, 1), 2); });\n" };
    expect(await judge('npm test', output, { observations, files: honest })).toMatchObject({ ok: true });
  });
});

describe('gates:open', () => {
  const open = async (gates: Json, more: Case = {}) =>
    ((await check('gates:open', { ...more, input: { gates } })) as unknown as { readonly gates: Json }).gates;
  const validator = (name: string, config: Json = {}): Json => ({ name: `validator:${name}`, config });

  test('gives the reason of every check that would refuse', async () => {
    const gates = [
      {
        what: '`GO`',
        checks: [validator('RequireWriteFile'), validator('RequireShellPass', { RequiredCommandPattern: 'go test' })],
      },
      { what: '`BACK`', checks: [validator('RequireShellPass')] },
    ];
    expect(await open(gates, { observations: [ran('ls')] })).toEqual([
      {
        what: '`GO`',
        whole: false,
        open: [expect.stringContaining('No file was written'), expect.stringContaining('contains `go test`')],
      },
      { what: '`BACK`', whole: true, open: [] },
    ]);
    expect(
      await open(gates, { observations: [wrote('a.go'), ran('go test ./...', 0, { stdout: 'ok m 0.1s' })] }),
    ).toMatchObject([
      { open: [], whole: true },
      { open: [], whole: true },
    ]);
  });

  test('leaves commands and code of the user to the gate itself', async () => {
    const never = { run: () => Promise.reject(new Error('a command ran')) };
    const contract: Json = {
      Requires: [{ FileExists: { Path: 'a.txt' } }, { RelatedTestsPass: {} }] as Json[],
      gate: { run: 'make' },
    };
    const gates: readonly Json[] = [
      { what: 'a', checks: [{ name: 'gates:run', config: { run: 'make' } }] },
      { what: 'b', checks: [validator('RequireRelatedTestsPass')] },
      { what: 'c', checks: [validator('Own', { Module: './own.ts#own' }), validator('OfTheProgram')] },
      { what: 'd', checks: [{ name: 'contract:C', config: contract }] },
    ];
    expect(await open([...gates], { files: { 'a.txt': 'a' }, options: never })).toEqual(
      ['a', 'b', 'c', 'd'].map((what) => ({ what, open: [], whole: false })),
    );
    expect(await open(gates.slice(3), { options: never })).toMatchObject([
      { open: [expect.stringContaining('a.txt')] },
    ]);
  });
});
