/** A run or a database that was changed from outside, as the command line shows it; and who else can open the files. */
import { chmodSync, cpSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openErasable } from '../../../store-sqlite/src/database.ts';
import { ended, folder, json, report, RUN, sluice as spawned, start } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

/** A project whose run `r_1` waits for an answer, after these statements. */
async function damaged(...statements: readonly string[]): Promise<string> {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd });
  change(cwd, ...statements);
  return cwd;
}

/** The triggers are there again afterwards. */
function change(cwd: string, ...statements: readonly string[]): void {
  const db = new DatabaseSync(join(cwd, '.sluice', 'sluice.db'), {
    enableForeignKeyConstraints: false,
    // A command may write to it at the same time.
    timeout: 50_000,
  });
  db.exec('BEGIN IMMEDIATE');
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`);
  for (const sql of statements) if (db.prepare(sql).run().changes === 0) throw new Error(`no row was changed: ${sql}`);
  for (const { sql } of triggers) db.exec(String(sql));
  db.exec('COMMIT');
  db.close();
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

test('`runs` marks a run that was changed, in the table and in JSON', async () => {
  const cwd = await newProject();
  for (const run of ['r_1', 'r_2']) await sluice([...RUN, '--run', run], { cwd });
  expect((await sluice(['runs'], { cwd })).stderr).toBe('');
  change(cwd, "UPDATE runs SET started_at = 9000000000000000, code = NULL, status = 'completed' WHERE run = 'r_1'");
  const ran = await sluice(['runs', '--quiet'], { cwd });
  expect([ran.status, ran.stdout]).toEqual([0, expect.stringMatching(/^r_1 .*completed \(changed\)/m)]);
  expect(ran.stdout).toMatch(/^r_2 .*suspended +CONFIRM_REQUIRED/m);
  expect(ran.stderr).toContain('warning: 1 run of 2 cannot be trusted; run `sluice audit verify`');
  expect(json(await sluice(['runs', '--json'], { cwd }))).toMatchObject([
    { run: 'r_2', broken: null },
    { run: 'r_1', broken: expect.stringContaining('entry') },
  ]);
});

test.each([
  ['is deleted', 'DELETE FROM flows'],
  ['is no graph', "UPDATE flows SET text = '{'"],
])('a run whose graph %s is listed, and every command refuses it', async (_, sql) => {
  const cwd = await damaged(sql);
  expect((await sluice(['runs'], { cwd })).stdout).toContain('r_1');
  for (const command of ['show', 'trace', 'resume', 'cancel', 'explain', 'watch']) {
    const ran = await sluice([command, 'r_1'], { cwd });
    const error = expect.stringMatching(/error\[(?:chain-broken|journal-damaged)\]: .*run `r_1`/);
    expect([command, ran.status, ran.stderr]).toEqual([command, 1, error]);
  }
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(1);
});

test('a number that is too large is a finding of its run, and the other runs stay usable', async () => {
  const cwd = await newProject();
  for (const run of ['r_1', 'r_2']) await sluice([...RUN, '--run', run], { cwd });
  const columns = {
    runs: ['id', 'graph', 'started_at', 'updated_at', 'due'],
    ends: ['events', 'signed', 'at'],
    log: ['after', 'count', 'at'],
  };
  for (const [table, names] of Object.entries(columns))
    for (const name of names) {
      const copy = folder();
      cpSync(join(cwd, '.sluice'), join(copy, '.sluice'), { recursive: true });
      const one = {
        runs: "run = 'r_1'",
        ends: "name = 'r_1'",
        log: "run = (SELECT id FROM runs WHERE run = 'r_1') AND after = 0",
      }[table];
      change(copy, `UPDATE ${table} SET ${name} = 9007199254740993 WHERE ${one}`);
      const listed = await sluice(['runs', '--json'], { cwd: copy });
      const audited = await sluice(['audit', 'verify', '--json'], { cwd: copy });
      const waiting = await sluice(['approvals', '--json'], { cwd: copy });
      const column = `${table}.${name}`;
      expect([column, listed.status, (json(listed) as { run: string }[]).map(({ run }) => run).toSorted()]).toEqual([
        column,
        0,
        ['r_1', 'r_2'],
      ]);
      const { runs } = json(audited) as { runs: { run: string; ok: boolean }[] };
      expect([column, audited.status, runs.toSorted((x, y) => (x.run < y.run ? -1 : 1)).map(({ ok }) => ok)]).toEqual([
        column,
        1,
        [false, true],
      ]);
      expect([column, (json(waiting) as { run: string }[]).map(({ run }) => run)]).toContainEqual(['r_2']);
    }
});

test('`audit verify` names the run of each problem', async () => {
  const cwd = await damaged('UPDATE log SET after = 9007199254740993 WHERE after = 0');
  const { stderr } = await sluice(['audit', 'verify'], { cwd });
  expect(stderr).toContain('run `r_1`: event 1 is missing');
});

test('memory of a damaged run is a finding, and does not end the audit', async () => {
  const cwd = folder({
    'a.yaml': `agents: [{ id: a, tools: [find], memory: true }]
tools: { find: { effect: read, trust: trusted } }
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: a }] }
`,
    's.yaml':
      'agents: { a: [{ tools: [{ name: find, args: {} }], text: "" }, "order A-17"] }\ntools: { find: [{ result: order A-17 }] }\n',
  });
  await sluice(['run', 'a.yaml', '--script', 's.yaml', '--run', 'r_1', '--input', 'x'], { cwd });
  change(cwd, 'DELETE FROM flows');
  const ran = await sluice(['audit', 'verify', '--json'], { cwd });
  expect([ran.status, json(ran)]).toMatchObject([
    1,
    { runs: [{ run: 'r_1', ok: false }], memory: { broken: expect.stringContaining('which cannot be read') } },
  ]);
});

test.each([
  ['the id of a run', 'UPDATE runs SET run = run || FAKE'],
  ['the flow', 'UPDATE runs SET flow = FAKE'],
  ['the code', 'UPDATE runs SET code = FAKE'],
])('a forged text in %s of a database cannot imitate a line or move the cursor', async (_, sql) => {
  const cwd = await damaged(sql.replace('FAKE', "char(10) || '3 runs of 3 hold' || char(27) || '[2K' || char(8238)"));
  for (const command of [['runs'], ['approvals'], ['audit', 'verify'], ['show', 'r_1'], ['resume']]) {
    const { stdout, stderr } = await sluice([...command, '--quiet'], { cwd });
    expect(`${stdout}${stderr}`).not.toMatch(/[\u001B\u202E]|^3 runs of 3 hold/m);
  }
});

test('`resume` without a run leaves a changed one, reports it, and continues the others', async () => {
  const cwd = folder({
    'own.mjs': `import { existsSync } from 'node:fs';
export const once = () => { if (!existsSync('go')) process.exit(0); return 'paid'; };`,
    's.yaml': '{}\n',
    'a.yaml': `tools: { own.tool: { effect: read, module: "./own.mjs#once" } }
flow: { id: f, entry: a, nodes: [{ id: a, type: tool, tool: own.tool }] }
`,
  });
  for (const run of ['r_1', 'r_2', 'r_3'])
    await spawned(['run', 'a.yaml', '--script', 's.yaml', '--run', run], { cwd });
  change(cwd, "UPDATE log SET at = at + 1 WHERE run = (SELECT id FROM runs WHERE run = 'r_1')");
  writeFileSync(join(cwd, 'go'), '');
  const ran = await spawned(['resume', '--json', '--script', 's.yaml'], { cwd });
  expect([ran.status, json(ran)]).toMatchObject([
    1,
    [
      { run: 'r_2', code: 'SUCCESS', output: 'paid' },
      { run: 'r_3', code: 'SUCCESS', output: 'paid' },
      { run: 'r_1', error: { code: 'chain-broken', message: expect.stringContaining('run `r_1`') } },
    ],
  ]);
  expect(ran.stderr).toContain('error[chain-broken]');
  const named = await sluice(['resume', 'r_1', '--json', '--script', 's.yaml'], { cwd });
  expect([named.status, json(named)]).toMatchObject([1, { error: { code: 'chain-broken' } }]);
});

test.each(['--quiet', '--json'])('a forged message is announced with %s too', async (mode) => {
  const cwd = folder({
    'own.mjs': `import { existsSync, writeFileSync } from 'node:fs';
export const wait = async () => {
  writeFileSync('waiting', '');
  while (!existsSync('go')) await new Promise((done) => setTimeout(done, 50));
  return 'done';
};`,
    's.yaml': '{}\n',
    'a.yaml': `tools: { own.tool: { effect: read, module: "./own.mjs#wait" } }
flow: { id: f, entry: a, nodes: [{ id: a, type: tool, tool: own.tool }] }
`,
  });
  const child = start(['run', 'a.yaml', '--script', 's.yaml', '--run', 'r_1', mode], { cwd });
  const ran = ended(child);
  await expect.poll(() => existsSync(join(cwd, 'waiting'))).toBe(true);
  const cancel = '{"type":"cancel","by":"eve","why":"x"}';
  change(cwd, `INSERT INTO mail (run, fact, hash) SELECT id, '${cancel}', 'x' FROM runs`);
  const db = new DatabaseSync(join(cwd, '.sluice', 'sluice.db'));
  await expect.poll(() => db.prepare('SELECT count(*) AS n FROM mail').get()).toEqual({ n: 0 });
  db.close();
  writeFileSync(join(cwd, 'go'), '');
  const { status, stderr } = await ran;
  expect([status, stderr]).toEqual([0, expect.stringContaining('warning: a message to run `r_1` was refused')]);
});

test.each([
  ['DROP TRIGGER log_delete', 'the trigger `log_delete` was deleted'],
  ['DROP INDEX log_by_run', 'the index `log_by_run` was deleted'],
  [
    'CREATE TRIGGER more AFTER INSERT ON mail BEGIN DELETE FROM mail WHERE id = NEW.id; END',
    'the trigger `more` was added',
  ],
  [
    'DROP TRIGGER log_delete; CREATE TRIGGER log_delete BEFORE DELETE ON log WHEN 0 BEGIN SELECT 1; END',
    'the trigger `log_delete` was changed',
  ],
])('`audit verify` reports a changed schema: %s', async (sql, message) => {
  const cwd = await damaged();
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  const db = new DatabaseSync(join(cwd, '.sluice', 'sluice.db'));
  db.exec(sql);
  db.close();
  const ran = await sluice(['audit', 'verify'], { cwd });
  expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining(message)]);
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
