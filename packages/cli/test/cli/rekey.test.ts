/** Encryption at rest from the command line: what works without the key, and a new key. */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const MARK = 'Zebrafinkennest';
const FLOW = `agents: [ { id: a } ]
flow: { id: f, entry: n, nodes: [ { id: n, type: agent, agent: a, routes: [ { to: gate } ] }, { id: gate, type: approval, message: go, choices: [yes, no] } ] }
`;
const key = (letter: string): string => Buffer.alloc(32, letter).toString('base64');
const env = (...letters: readonly string[]) => ({ SLUICE_JOURNAL_KEY: letters.map(key).join(',') });

async function started(letters: readonly string[]): Promise<string> {
  const cwd = folder({ 'f.yaml': FLOW, 's.yaml': `agents: { a: [ "${MARK}" ] }\n` });
  const run = ['run', 'f.yaml', '--script', 's.yaml', '--run', 'r1', '--input', MARK];
  expect((await sluice(run, { cwd, env: env(...letters) })).status).toBe(3);
  return cwd;
}
const isIn = (cwd: string, file: string): boolean => readFileSync(join(cwd, file), 'latin1').includes(MARK);

test('without the key: runs and heads; verify, show and answer name the key', async () => {
  const cwd = await started(['a']);
  expect((await sluice(['runs', '--json'], { cwd })).stdout).toContain('"r1"');
  const heads = ['audit', 'heads', '--out'];
  expect((await sluice([...heads, 'blind.json'], { cwd })).status).toBe(0);
  expect((await sluice([...heads, 'seeing.json'], { cwd, env: env('a') })).status).toBe(0);
  const runsIn = (file: string) => (JSON.parse(readFileSync(join(cwd, file), 'utf8')) as { runs: unknown }).runs;
  expect(runsIn('blind.json')).toEqual(runsIn('seeing.json'));
  expect((await sluice(['audit', 'verify', '--heads', 'blind.json'], { cwd, env: env('a') })).status).toBe(0);
  const { stdout } = await sluice(['rekey', '--json'], { cwd, env: env('a') });
  const { key: id } = JSON.parse(stdout) as { key: string };
  for (const command of [
    ['audit', 'verify'],
    ['show', 'r1'],
    ['answer', 'gate', 'yes'],
    ['run', 'f.yaml', '--script', 's.yaml'],
  ]) {
    const refused = await sluice(command, { cwd });
    expect([command, refused.status, refused.stderr]).toEqual([
      command,
      expect.any(Number),
      expect.stringContaining(id),
    ]);
    expect([refused.status === 0, refused.stderr.includes('error[journal-key]')]).toEqual([false, true]);
  }
});

test('a new key, a backup before it, and an export are read with their keys', async () => {
  const cwd = await started(['a']);
  const exported = ['audit', 'export', 'r1', '--out'];
  await sluice([...exported, 'before.json'], { cwd, env: env('a') });
  expect((await sluice(['backup', 'copy.db'], { cwd, env: env('a') })).status).toBe(0);
  expect([isIn(cwd, 'copy.db'), isIn(cwd, 'before.json')]).toEqual([false, true]);
  const rekeyed = await sluice(['rekey', '--json'], { cwd, env: env('b', 'a') });
  expect(JSON.parse(rekeyed.stdout)).toMatchObject({ rows: expect.any(Number), attachments: 0, memory: 0 });
  expect((await sluice(['rekey'], { cwd, env: env('b', 'a') })).stdout).toContain('already');
  expect((await sluice(['audit', 'acts'], { cwd })).stdout).toContain('journal.rekeyed');
  await sluice([...exported, 'after.json'], { cwd, env: env('b') });
  expect(readFileSync(join(cwd, 'after.json'), 'utf8')).toBe(readFileSync(join(cwd, 'before.json'), 'utf8'));
  expect((await sluice(['audit', 'verify', 'before.json'], { cwd })).status).toBe(0);
  expect((await sluice(['audit', 'verify', '--db', 'copy.db'], { cwd, env: env('a') })).status).toBe(0);
  expect((await sluice(['audit', 'verify', '--db', 'copy.db'], { cwd, env: env('b') })).status).not.toBe(0);
  const { stdout } = await sluice(['approvals', '--json'], { cwd, env: env('b') });
  const [question] = JSON.parse(stdout) as { id: string }[];
  const answered = await sluice(['answer', question?.id ?? '', 'yes', '--script', 's.yaml'], { cwd, env: env('b') });
  expect([answered.status, answered.stderr]).toEqual([0, expect.any(String)]);
});

test('a database in clear gets a key; `rekey` without one says what to do', async () => {
  const cwd = await started([]);
  expect(isIn(cwd, '.sluice/sluice.db')).toBe(true);
  expect((await sluice(['rekey'], { cwd })).stderr).toContain('SLUICE_JOURNAL_KEY');
  expect((await sluice(['rekey'], { cwd, env: { SLUICE_JOURNAL_KEY: 'short' } })).stderr).toContain(
    'error[journal-key]',
  );
  expect((await sluice(['rekey'], { cwd, env: env('a') })).status).toBe(0);
  expect(isIn(cwd, '.sluice/sluice.db')).toBe(false);
  expect((await sluice(['audit', 'verify'], { cwd, env: env('a') })).status).toBe(0);
});

test('a wrong copy: a sealed database beside the files of another one', async () => {
  const [one, two] = [await started(['a']), await started(['b'])];
  mkdirSync(join(two, 'moved'));
  copyFileSync(join(one, '.sluice/sluice.db'), join(two, 'moved', 'sluice.db'));
  const verified = await sluice(['audit', 'verify', '--db', 'moved/sluice.db'], { cwd: two, env: env('b') });
  expect([verified.status === 0, verified.stderr]).toEqual([false, expect.stringContaining('error[journal-key]')]);
});
