/** A run or a database that was changed from outside, as the command line shows it; and who else can open the files. */
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openErasable } from '../../src/stores/sqlite/database.ts';
import { folder, json, newProject, report, RUN, sluice } from './cli.ts';

/** A project whose run `r_1` waits for an answer, after these statements. */
async function damaged(...statements: readonly string[]): Promise<string> {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd });
  const db = new DatabaseSync(join(cwd, '.sluice', 'sluice.db'));
  for (const { name } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    db.exec(`DROP TRIGGER ${String(name)}`);
  for (const sql of statements) if (db.prepare(sql).run().changes === 0) throw new Error(`no row was changed: ${sql}`);
  db.close();
  return cwd;
}

const CHANGED = "UPDATE log SET body = replace(body, 'a', 'b') WHERE after = (SELECT max(after) FROM log)";
const CUT = 'DELETE FROM log WHERE after = (SELECT max(after) FROM log)';
const COMPLETED = "UPDATE runs SET status = 'completed', code = NULL";

test.each([
  ['a changed event that can still be read', 'UPDATE log SET at = at + 1 WHERE after = (SELECT max(after) FROM log)'],
  ['a last event that is gone', CUT],
  ['a listed status', COMPLETED],
])('every command refuses a run with %s at once, with status 1 and what to do', async (_, sql) => {
  const cwd = await damaged(sql);
  for (const command of [
    ['show', 'r_1'],
    ['trace', 'r_1'],
    ['resume', 'r_1'],
    ['answer', 'a_r_1.1', 'approve', '--as', 'bob'],
    ['cancel', 'r_1'],
    ['explain', 'r_1'],
  ]) {
    const ran = await sluice([...command, '--json'], { cwd });
    const error = {
      code: 'chain-broken',
      message: expect.stringMatching(/run `r_1`/),
      help: expect.stringContaining('audit verify'),
    };
    expect([command[0], ran.status, json(ran)]).toMatchObject([command[0], 1, { error }]);
  }
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(1);
});

test.each([
  ['show', 'state'],
  ['trace', 'run.started'],
])('`%s --unverified` prints a changed run with a warning, with --json too', async (command, part) => {
  const cwd = await damaged(CUT);
  const text = await sluice([command, 'r_1', '--unverified'], { cwd });
  expect([text.status, text.stderr]).toEqual([
    0,
    expect.stringContaining('warning[chain-broken]: run `r_1` does not verify'),
  ]);
  expect(text.stdout).not.toBe('');
  const ran = await sluice([command, 'r_1', '--unverified', '--json'], { cwd });
  expect([ran.status, ran.stderr, ran.stdout]).toEqual([
    0,
    expect.stringContaining('ends with event'),
    expect.stringContaining(part),
  ]);
});

test('an unreadable event ends what `--unverified` prints, and an untouched run has no warning', async () => {
  const cwd = await damaged("UPDATE log SET body = '[{' WHERE after = (SELECT max(after) FROM log)");
  const shown = await sluice(['show', 'r_1', '--unverified', '--json'], { cwd });
  expect([shown.status, shown.stderr]).toEqual([0, expect.stringContaining('unreadable')]);
  expect(report(shown).run).toBe('r_1');
  const whole = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd: whole });
  expect(await sluice(['show', 'r_1', '--unverified'], { cwd: whole })).toMatchObject({ status: 0, stderr: '' });
});

test('one changed run does not hide the questions of the others', async () => {
  const cwd = await damaged(CHANGED);
  await sluice([...RUN, '--run', 'r_2'], { cwd });
  const ran = await sluice(['approvals', '--json'], { cwd });
  expect((json(ran) as { run: string }[]).map(({ run }) => run)).toEqual(['r_2']);
  expect(ran.stderr).toContain('the questions of r_1 are left out');
});

test('loose permissions are announced by every command once, also with --quiet, and by doctor', async () => {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd });
  chmodSync(join(cwd, '.sluice', 'sluice.db'), 0o640);
  chmodSync(join(cwd, '.sluice'), 0o775);
  for (const command of [['runs'], ['resume'], ['audit', 'verify'], ['show', 'r_1']]) {
    const { stderr } = await sluice([...command, '--quiet'], { cwd });
    expect([command[0], stderr.match(/other users can open .*mode 640/g)?.length]).toEqual([command[0], 1]);
    expect([command[0], stderr.match(/other users can replace .*mode 775/g)?.length]).toEqual([command[0], 1]);
  }
  const { checks } = json(await sluice(['doctor', '--json'], { cwd })) as {
    checks: { name: string; status: string }[];
  };
  expect(checks.filter(({ name }) => name === 'permissions').map(({ status }) => status)).toEqual([
    'warning',
    'warning',
  ]);
  chmodSync(join(cwd, '.sluice'), 0o700);
  chmodSync(join(cwd, '.sluice', 'sluice.db'), 0o600);
  expect((await sluice(['runs', '--quiet'], { cwd })).stderr).toBe('');
});

test('files with confidential data are never open to others, whatever the umask', async () => {
  const previous = process.umask(0);
  try {
    const dir = folder();
    openErasable(join(dir, 'vault'), 'CREATE TABLE t (x)').close();
    const cwd = await newProject();
    await sluice([...RUN, '--run', 'r_1'], { cwd });
    await sluice(['backup', join(dir, 'copy.db')], { cwd });
    for (const place of [dir, join(cwd, '.sluice')])
      for (const file of readdirSync(place))
        expect([file, statSync(join(place, file)).mode & 0o077]).toEqual([file, 0]);
  } finally {
    process.umask(previous);
  }
});
