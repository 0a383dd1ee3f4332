/** `sluice migrate`: the example, the dry run, refusals, and an answer that comes at the same time from another process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ended, folder, json, report, root, start } from './cli.ts';
import type { Ran } from './cli.ts';
import { sluice } from './in-process.ts';

const example = (name: string): string => join(root, 'examples', name);
const SCRIPT = ['--script', example('migration/script.yaml')] as const;
const SECOND = example('migration/second.flow.yaml.new');

async function waiting(): Promise<string> {
  const cwd = folder();
  const ran = await sluice(['run', example('migration/first.flow.yaml'), ...SCRIPT, '--run', 'letter'], { cwd });
  expect(ran.status).toBe(3);
  return cwd;
}

const run = (cwd: string, ...args: string[]): Promise<Ran> => sluice(args, { cwd });

describe('sluice migrate', () => {
  test('moves the run of the example, which then goes on with the new version', async () => {
    const cwd = await waiting();
    const dry = json(await run(cwd, 'migrate', 'letter', SECOND, '--dry-run', '--json'));
    expect(dry).toMatchObject({ run: 'letter', fits: true, misfits: [] });
    const moved = await run(cwd, 'migrate', 'letter', SECOND, '--run', 'letter-2', '--as', 'olga', '--json', ...SCRIPT);
    expect(moved.status).toBe(3);
    const [question] = report(moved).waiting;
    const old = await run(cwd, 'answer', (question?.id ?? '').replace('letter-2', 'letter'), 'approve', '--as', 'ann');
    expect([old.status, old.stderr]).toEqual([1, expect.stringContaining(`asks \`${question?.id}\` instead`)]);
    expect(old.stderr).toContain(`= help: Answer \`${question?.id}\`.`);
    const answered = report(
      await run(cwd, 'answer', question?.id ?? '', 'approve', '--as', 'ann', '--json', ...SCRIPT),
    );
    expect(answered).toMatchObject({
      code: 'SUCCESS',
      path: ['draft', 'sign', 'translate'],
      output: 'Ihr Paket ist unterwegs.',
    });
    expect(report(await run(cwd, 'show', 'letter', '--json'))).toMatchObject({
      state: 'cancelled',
      movedTo: 'letter-2',
    });
    expect((await run(cwd, 'show', 'letter')).stdout).toMatch(/^moved to +letter-2$/m);
    expect((await run(cwd, 'audit', 'verify')).status).toBe(0);
    for (const id of ['letter', 'letter-2']) expect((await run(cwd, 'replay', id)).status).toBe(0);
    expect((await run(cwd, 'trace', 'letter-2', '--events')).stdout).toContain('olga');
  });

  test('a dry run lists what does not fit, and changes nothing', async () => {
    const cwd = await waiting();
    const other = join(cwd, 'other.yaml');
    const text = readFileSync(SECOND, 'utf8');
    writeFileSync(other, text.replace('[approve, reject]', '[approve, reject, later]'));
    const dry = await run(cwd, 'migrate', 'letter', other, '--dry-run');
    expect([dry.status, dry.stdout]).toEqual([
      1,
      expect.stringContaining('node `sign`: its question has other choices'),
    ]);
    const refused = await run(cwd, 'migrate', 'letter', other, '--json', ...SCRIPT);
    expect([refused.status, json(refused)]).toEqual([1, { error: expect.objectContaining({ code: 'bad-migration' }) }]);
    expect(report(await run(cwd, 'show', 'letter', '--json')).state).toBe('suspended');
  });

  test.each([
    [['migrate', 'lettre', SECOND], 'Did you mean `letter`?'],
    [['migrate', 'letter', 'missing.yaml'], 'missing.yaml'],
    [['migrate', 'letter', example('migration/first.flow.yaml')], 'has this version already'],
    [['migrate', 'letter', SECOND, '--tenant', 'acme'], 'there is no run'],
    [['migrate', 'letter', SECOND, '--run', 'letter'], 'exists'],
  ])('%j is refused', async (args, message) => {
    const cwd = await waiting();
    const { status, stderr } = await run(cwd, ...args, ...SCRIPT);
    expect([status, stderr]).toEqual([expect.any(Number), expect.stringContaining(message)]);
    expect(status).not.toBe(0);
    expect(report(await run(cwd, 'show', 'letter', '--json')).state).toBe('suspended');
  });

  test('an answer and a move at the same time: one wins, and the letter goes out once', async () => {
    const cwd = await waiting();
    const waits = report(await run(cwd, 'show', 'letter', '--json')).waiting;
    const [answer, move] = await Promise.all([
      ended(start(['answer', waits[0]?.id ?? '', 'approve', '--as', 'ann', '--json', ...SCRIPT], { cwd })),
      ended(start(['migrate', 'letter', SECOND, '--run', 'letter-2', '--json', ...SCRIPT], { cwd })),
    ]);
    const states = (json(await run(cwd, 'runs', '--json')) as { run: string; state: string }[]).map(
      ({ run: id, state }) => [id, state],
    );
    const answered = answer?.status === 0;
    expect([answered, move?.status === 3]).toEqual([answered, !answered]);
    expect(states).toEqual(
      answered
        ? [['letter', 'completed']]
        : [
            ['letter-2', 'suspended'],
            ['letter', 'cancelled'],
          ],
    );
    expect((await run(cwd, 'audit', 'verify')).status).toBe(0);
  });
});
