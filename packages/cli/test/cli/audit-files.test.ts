/** Files for an audit on another machine, heads that find a rolled back database, copies, and the difference of two runs. */
import { spawn } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { bin, ended, folder } from './cli.ts';
import { sluice } from './in-process.ts';

const FLOW =
  'flow: { id: f, entry: n, nodes: [ { id: n, type: agent, agent: a, input: { user_message: "{{event.payload.q}}" } } ] }\nagents: [ { id: a } ]\n';
const SCRIPT = 'agents: { a: [ { text: "one" } ] }\n';

async function ran(runs: { readonly [run: string]: string } = { r1: 'x' }): Promise<string> {
  const cwd = folder({ 'f.yaml': FLOW, 's.yaml': SCRIPT });
  for (const [run, q] of Object.entries(runs)) await start(cwd, run, q);
  return cwd;
}

function start(cwd: string, run: string, q: string) {
  return sluice(['run', 'f.yaml', '--script', 's.yaml', '--run', run, '--input', JSON.stringify({ q })], { cwd });
}

describe('audit export', () => {
  test('gives a file that is checked without the project', async () => {
    const cwd = await ran();
    const out = await sluice(['audit', 'export', 'r1', '--out', 'r1.json', '--json'], { cwd });
    expect(JSON.parse(out.stdout)).toMatchObject({ run: 'r1', file: 'r1.json' });
    const elsewhere = folder({ 'r1.json': readFileSync(join(cwd, 'r1.json'), 'utf8') });
    const checked = await sluice(['audit', 'verify', 'r1.json', '--json'], { cwd: elsewhere });
    expect([checked.status, JSON.parse(checked.stdout)]).toMatchObject([0, { ok: true, runs: [{ run: 'r1' }] }]);
  });

  test('in which every change is found', async () => {
    const cwd = await ran();
    await sluice(['audit', 'export', 'r1', '--out', 'r1.json'], { cwd });
    const text = readFileSync(join(cwd, 'r1.json'), 'utf8');
    const changes: [string, string | RegExp, string][] = [
      ['an event', /\\"one\\"/, '\\"two\\"'],
      ['the time', /"at": (\d)/, '"at": 9$1'],
      ['the graph', '\\"notation\\":\\"flow\\"', '\\"notation\\":\\"flox\\"'],
      ['the run', /"run": "r1"/, '"run": "r2"'],
      ['the code', '"code": "SUCCESS"', '"code": "TIMEOUT"'],
      ['the summary', /"output": "one"/, '"output": "two"'],
      ['the database', /"store": "\w/, '"store": "x'],
      ['the entry', '"entry": {', '"entri": {'],
    ];
    for (const [what, from, to] of changes) {
      expect(text.replace(from, to), what).not.toBe(text);
      writeFileSync(join(cwd, 'changed.json'), text.replace(from, to));
      const { status, stderr } = await sluice(['audit', 'verify', 'changed.json'], { cwd });
      expect([what, status, stderr]).toEqual([what, 1, expect.stringContaining('error[chain-broken]')]);
    }
    writeFileSync(join(cwd, 'changed.json'), '{}');
    expect((await sluice(['audit', 'verify', 'changed.json'], { cwd })).status).toBe(2);
  }, 60_000);
});

describe('audit heads', () => {
  test('find a database that was rolled back, rewritten, or has lost a run; later events are no difference', async () => {
    const cwd = await ran({ r1: 'x' });
    const db = join(cwd, '.sluice/sluice.db');
    copyFileSync(db, join(cwd, 'old.db'));
    await sluice(['audit', 'heads', '--out', 'one.json'], { cwd });
    const one = await sluice(['audit', 'verify', '--heads', 'one.json'], { cwd });
    expect(one.stdout).toMatch(/^1 head of \S+ holds\n/);
    await start(cwd, 'r2', 'y');
    await sluice(['audit', 'heads', '--out', 'h.json'], { cwd });
    const verify = () => sluice(['audit', 'verify', '--heads', 'h.json', '--json'], { cwd });
    expect(JSON.parse((await verify()).stdout)).toMatchObject({ ok: true, runs: 2 });
    await start(cwd, 'r3', 'z');
    expect((await verify()).status).toBe(0);

    for (const end of ['-wal', '-shm']) rmSync(`${db}${end}`, { force: true });
    copyFileSync(join(cwd, 'old.db'), db);
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
    const rolledBack = await verify();
    expect([rolledBack.status, rolledBack.stdout]).toEqual([1, expect.stringContaining('run `r2` is missing')]);
    const text = await sluice(['audit', 'verify', '--heads', 'h.json'], { cwd });
    expect([text.status, text.stderr]).toEqual([1, expect.stringContaining('run `r2` is missing')]);
    expect(text.stdout).toMatch(/^the database differs from h\.json of \S+ in 1 place\n$/);
    // The same id again, with a valid chain of its own.
    await start(cwd, 'r2', 'changed');
    const rewritten = await verify();
    expect([rewritten.status, rewritten.stdout]).toEqual([
      1,
      expect.stringMatching(/event \d+ differs from the heads/),
    ]);
  }, 60_000);

  test('need a file of their own', async () => {
    const cwd = await ran();
    writeFileSync(join(cwd, 'x.json'), '{}');
    expect((await sluice(['audit', 'verify', '--heads', 'x.json'], { cwd })).status).toBe(2);
    expect((await sluice(['audit', 'verify', '--heads', 'none.json'], { cwd })).status).toBe(2);
    expect((await sluice(['audit', 'heads'], { cwd })).status).toBe(2);
  });
});

test('heads of a database whose chain is broken do not hold', async () => {
  const cwd = await ran();
  await sluice(['audit', 'heads', '--out', 'h.json'], { cwd });
  const verify = () => sluice(['audit', 'verify', '--heads', 'h.json', '--json'], { cwd });
  expect(JSON.parse((await verify()).stdout)).toMatchObject({ ok: true, chain: true });
  const database = new DatabaseSync(join(cwd, '.sluice/sluice.db'));
  database.exec(`UPDATE runs SET code = 'IMPOSSIBLE'`);
  database.close();
  const { status, stdout } = await verify();
  expect([status, JSON.parse(stdout)]).toMatchObject([1, { ok: false, chain: false, differences: [] }]);
});

test('backup copies a database that verifies', async () => {
  const cwd = await ran();
  expect((await sluice(['backup', 'copy.db'], { cwd })).status).toBe(0);
  expect((await sluice(['audit', 'verify', '--db', 'copy.db'], { cwd })).stdout).toContain('1 run of 1 hold');
  // A file that is there is replaced.
  expect((await sluice(['backup', 'copy.db', '--json'], { cwd })).stdout).toContain('copy.db');
});

test('a backup is not changed by the log of an earlier copy of the same name', async () => {
  const cwd = await ran();
  await sluice(['backup', 'copy.db'], { cwd });
  const log = join(cwd, 'copy.db-wal');
  const earlier = new DatabaseSync(join(cwd, 'copy.db'));
  earlier.exec('PRAGMA journal_mode = WAL; CREATE TABLE other (a); DROP TABLE other; DELETE FROM runs');
  const left = readFileSync(log);
  earlier.close();
  writeFileSync(log, left);
  await start(cwd, 'r2', 'y');
  expect((await sluice(['backup', 'copy.db'], { cwd })).status).toBe(0);
  const checked = await sluice(['audit', 'verify', '--db', 'copy.db', '--json'], { cwd });
  expect(JSON.parse(checked.stdout)).toMatchObject({ ok: true, runs: [{}, {}] });
});

test.each([
  ['nodir/copy.db', 'there is no folder `nodir`'],
  ['.', '`.` is a folder'],
  ['./.sluice/../.sluice/sluice.db', '`backup` takes another file than the database itself'],
])('backup refuses the target %s', async (target, message) => {
  const cwd = await ran();
  const { status, stderr } = await sluice(['backup', target], { cwd });
  expect([status, stderr]).toEqual([2, expect.stringContaining(`error[usage]: ${message}`)]);
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
});

test('a copy that fails names its cause and leaves no part of a file behind', async () => {
  const cwd = await ran();
  // No file may become longer than 8 KB, so the copy fails as on a disk without room.
  const child = spawn('bash', ['-c', `ulimit -f 8; exec "$@"`, '-', process.execPath, bin, 'backup', 'copy.db'], {
    cwd,
  });
  const { status, stderr } = await ended(child);
  expect([status, stderr]).toEqual([1, expect.stringContaining('error[journal-unavailable]: `copy.db`')]);
  expect(readdirSync(cwd).filter((name) => name.startsWith('copy.db'))).toEqual([]);
});

test('a database can be read while there is no room for the index of its log', async () => {
  const cwd = await ran();
  const db = join(cwd, '.sluice/sluice.db');
  // A process that stopped without room leaves an empty log and the beginning of an index.
  writeFileSync(`${db}-wal`, '');
  writeFileSync(`${db}-shm`, 'x');
  const child = spawn('bash', ['-c', `ulimit -f 8; exec "$@"`, '-', process.execPath, bin, 'runs'], { cwd });
  const { status, stdout, stderr } = await ended(child);
  expect([status, stdout], stderr).toEqual([0, expect.stringContaining('r1')]);
});

test('an export is refused in words about writing', async () => {
  const cwd = await ran();
  const { status, stderr } = await sluice(['audit', 'export', 'r1', '--out', 'none/r1.json'], { cwd });
  expect([status, stderr]).toEqual([2, expect.stringContaining('`none/r1.json` cannot be written')]);
});

test('diff says where two runs part', async () => {
  const cwd = await ran({ r1: 'x', r2: 'x', r3: 'other' });
  expect((await sluice(['diff', 'r1', 'r2'], { cwd })).stdout).toBe('the runs are the same\n');
  const { differences } = JSON.parse((await sluice(['diff', 'r1', 'r3', '--json'], { cwd })).stdout) as {
    differences: { what: string }[];
  };
  expect(differences.map(({ what }) => what)).toEqual(['input', 'usage', expect.stringMatching(/^first difference/)]);
  expect((await sluice(['diff', 'r1', 'nope'], { cwd })).status).toBe(1);
});
