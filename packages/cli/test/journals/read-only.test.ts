/** Auditors need no write access, and a file that is deleted, replaced, damaged or open to others is noticed. */
import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Append, Store } from '@sluice-internal/engine/ports';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { Chain, ENDED, started, suspended } from '../../../testing/src/suite/sample.ts';
import { folder, json, report, RUN, sluice as spawned } from '../cli/cli.ts';
import type { Ran } from '../cli/cli.ts';
import { newProject, sluice } from '../cli/in-process.ts';
import { freshPaths } from '../../../store-sqlite/test/journals/place.ts';

const freshPath = freshPaths();
// Permissions do not bind root, so the commands run as another user then.
const auditor = process.getuid?.() === 0 ? { uid: 65534 } : {};

/** A project with one run, where neither the file nor the folder can be written. `withLog` leaves a write-ahead log behind. */
async function readOnlyProject(withLog: boolean): Promise<string> {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd });
  const dir = join(cwd, '.sluice');
  if (withLog) {
    // Copied while it is open: the way a crash leaves it.
    const db = new DatabaseSync(join(dir, 'sluice.db'));
    db.exec("PRAGMA wal_autocheckpoint = 0; INSERT INTO workers (worker, until, term) VALUES ('gone', 0, 1)");
    for (const file of ['sluice.db', 'sluice.db-wal']) copyFileSync(join(dir, file), join(dir, `copy-${file}`));
    db.close();
    for (const file of ['sluice.db', 'sluice.db-wal']) renameSync(join(dir, `copy-${file}`), join(dir, file));
    rmSync(join(dir, 'sluice.db-shm'), { force: true });
    if (statSync(join(dir, 'sluice.db-wal')).size === 0) throw new Error('the write-ahead log is empty');
  }
  for (const file of readdirSync(dir)) if (file.startsWith('sluice.db')) chmodSync(join(dir, file), 0o444);
  for (const path of [dir, cwd]) chmodSync(path, 0o555);
  onTestFinished(() => [cwd, dir].forEach((path) => chmodSync(path, 0o755)));
  return cwd;
}

test.each([
  ['without a log', false],
  ['with a log', true],
])('a read-only file in a read-only folder can be audited, shown, traced, replayed and listed: %s', async (_, log) => {
  const cwd = await readOnlyProject(log);
  const temporary = folder();
  chmodSync(temporary, 0o777);
  const options = { cwd, env: { TMPDIR: temporary }, ...auditor };
  const outputs = new Map<string | undefined, Ran>();
  for (const command of [
    ['audit', 'verify'],
    ['show', 'r_1'],
    ['trace', 'r_1'],
    ['replay', 'r_1'],
    ['runs'],
    ['approvals'],
  ]) {
    const ran = await spawned([...command, '--json'], options);
    expect([command[0], ran.status, ran.stderr]).toEqual([command[0], 0, '']);
    outputs.set(command[0], ran);
  }
  expect(report(outputs.get('show') as Ran).state).toBe('suspended');
});

test.for([
  ['that others can read', 0o644],
  ['that others cannot read', 0o600],
] as const)(
  'a database that a process writes to is read by another user in a read-only folder, with an index %s',
  async ([, mode], { skip }) => {
    skip(process.getuid?.() !== 0, 'only root can start a command as another user');
    const cwd = await newProject();
    await sluice([...RUN, '--run', 'r_1'], { cwd });
    const dir = join(cwd, '.sluice');
    const path = join(dir, 'sluice.db');
    const live = openSqlite(path);
    const chains = Array.from({ length: 200 }, (__, index) => new Chain(`w${index}`));
    await started(live, 'w1', ...chains);
    chmodSync(path, 0o644);
    chmodSync(`${path}-wal`, 0o644);
    chmodSync(`${path}-shm`, mode);
    for (const place of [dir, cwd]) chmodSync(place, 0o555);
    let works = true;
    const writes = (async () => {
      for (let turn = 0; works; turn++) {
        await live.journal.commit('w1', [chains[turn % chains.length]?.next() as Append]);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    const temporary = folder();
    chmodSync(temporary, 0o777);
    const options = { cwd, env: { TMPDIR: temporary }, ...auditor };
    for (const command of [['audit', 'verify', 'r_1'], ['show', 'r_1'], ['trace', 'r_1'], ['runs']]) {
      const ran = await spawned([...command, '--json'], options);
      expect([command[0], ran.status, ran.stderr]).toEqual([command[0], 0, '']);
    }
    works = false;
    await writes;
    for (const place of [cwd, dir]) chmodSync(place, 0o755);
    await live.close();
  },
);

test.each(['-wal', '-shm'])(
  'the file %s that is deleted under a running process stops its writes, and no event is lost',
  async (suffix) => {
    const path = freshPath();
    const store = openSqlite(path);
    const chain = new Chain('r1');
    await started(store, 'w1', chain);
    const kept = await store.journal.load('r1');
    rmSync(`${path}${suffix}`);
    await expect(store.journal.commit('w1', [chain.next({ entry: ENDED })])).rejects.toMatchObject({
      code: 'journal-replaced',
      message: expect.stringContaining(`sluice.db${suffix}\` was deleted`),
    });
    await store.close();
    const again = openSqlite(path);
    onTestFinished(() => again.close());
    expect(await again.journal.load('r1')).toEqual(kept);
  },
);

describe.each(['deleted', 'replaced'])('a database that is %s under a running process', (how) => {
  const place = async (): Promise<{ readonly store: Store; readonly chain: Chain; remove(): Promise<void> }> => {
    const path = freshPath();
    const store = openSqlite(path);
    onTestFinished(() => store.close());
    const chain = new Chain('r1');
    await started(store, 'w1', chain);
    const remove = async (): Promise<void> => {
      if (how === 'deleted') return rmSync(path);
      const other = freshPath();
      await openSqlite(other).close();
      renameSync(other, path);
    };
    return { store, chain, remove };
  };
  const fault = { code: 'journal-replaced', message: expect.stringContaining(how) };

  test('stops its writes', async () => {
    const { store, chain, remove } = await place();
    await remove();
    // The file is looked at again after 10 ms.
    const writing = async (): Promise<never> => {
      for (;;) await store.journal.commit('w1', [chain.next()]);
    };
    await expect(writing()).rejects.toMatchObject(fault);
  });

  test.each([
    ['end', ENDED],
    ['wait', suspended(null)],
  ])('lets no run %s, however soon', async (_, entry) => {
    const { store, chain, remove } = await place();
    await remove();
    await expect(store.journal.commit('w1', [chain.next({ entry })])).rejects.toMatchObject(fault);
  });

  test('lets no run begin and end at once', async () => {
    const { store, remove } = await place();
    await remove();
    await expect(store.journal.commit('w1', [new Chain('r2').first(ENDED)])).rejects.toMatchObject(fault);
  });
});

test('a database that is deleted while a commit stores many runs lets none of them end', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  onTestFinished(() => store.close());
  const [one, two] = [new Chain('r1'), new Chain('r2')];
  await started(store, 'w1', one, two);
  const last = two.next({ entry: ENDED });
  const get = (): string => {
    rmSync(path, { force: true });
    return last.body;
  };
  const deleting = Object.defineProperty({ ...last }, 'body', { get });
  await expect(store.journal.commit('w1', [one.next({ entry: ENDED }), deleting])).rejects.toMatchObject({
    code: 'journal-replaced',
  });
});

test('permissions that let other users in are announced', async () => {
  const path = freshPath();
  const notices: string[] = [];
  const open = (): Promise<void> => openSqlite(path, { onNotice: (text) => notices.push(text) }).close();
  await open();
  expect(notices).toEqual([]);
  chmodSync(path, 0o644);
  await open();
  expect(notices).toEqual([expect.stringMatching(/other users can open .*mode 644/)]);
  expect(existsSync(dirname(path))).toBe(true);
});

test.each([
  ['an event', "UPDATE log SET body = '[{' WHERE after > 0", 'journal-damaged'],
  ['the graph', "UPDATE flows SET text = 'x'", 'journal-damaged'],
  ['a form', 'UPDATE log SET body = \'[["?"]]\' WHERE after > 0', 'journal-damaged'],
])('a damaged row is a typed error of `show` and `trace`: %s', async (_, sql, code) => {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd });
  const db = new DatabaseSync(join(cwd, '.sluice', 'sluice.db'));
  db.exec(`DROP TRIGGER log_update; ${sql}`);
  db.close();
  for (const command of ['show', 'trace']) {
    const ran = await sluice([command, 'r_1', '--json'], { cwd });
    expect([ran.status, json(ran)]).toMatchObject([1, { error: { code } }]);
  }
});

test('`trace --json` prints the same list as a whole', async () => {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r_1'], { cwd });
  const ran = await sluice(['trace', 'r_1', '--json'], { cwd });
  const events = json(ran) as object[];
  expect(events.length).toBeGreaterThan(5);
  expect(ran.stdout).toBe(`${JSON.stringify(events, null, 2)}\n`);
  expect(json(await sluice(['trace', 'r_1', '--json', '--after', '9999'], { cwd }))).toEqual([]);
});
