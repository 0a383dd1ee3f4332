/** Folders and databases that somebody names: a place that cannot be used is told before anything is done there. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder, json } from './cli.ts';
import { sluice } from './in-process.ts';

const FILES = {
  'w.yaml': 'steps: [{ name: one, agent_name: a }]\n',
  's.yaml': 'agents: { a: [hello] }\n',
};
const RUN = ['run', 'w.yaml', '--script', 's.yaml', '--input', 'x'] as const;
const NOWHERE = existsSync('/proc/self') ? ['/proc/no-such-place'] : [];

describe('the work directory', () => {
  test.each([
    ['s.yaml', '`--work-dir` takes a folder, and `s.yaml` is a file'],
    ['s.yaml/deep/er', 's.yaml` is a file'],
    ['', '`--work-dir` takes a folder, not an empty name'],
    ...NOWHERE.map((place) => [`${place}/deep`, 'cannot be created']),
  ])('%j is refused before anything runs', async (place, words) => {
    const cwd = folder(FILES);
    const ran = await sluice([...RUN, '--work-dir', place], { cwd });
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('error[usage]')]);
    expect(ran.stderr).toContain(words);
    expect(ran.stderr).toContain('help:');
    expect(existsSync(join(cwd, '.sluice'))).toBe(false);
  });

  test.each(process.platform === 'win32' ? [] : ['/', '/etc', '/etc/new', '/usr/lib', '/tmp/../etc', '/var'])(
    '%s is a folder of the system, or contains one',
    async (place) => {
      const cwd = folder(FILES);
      const ran = await sluice([...RUN, '--work-dir', place], { cwd });
      expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('a folder of the system')]);
      expect([existsSync('/etc/new'), existsSync(join(cwd, '.sluice'))]).toEqual([false, false]);
    },
  );

  test.each([['resume'], ['answer', 'a_r_1.0.1', 'approve'], ['cancel', 'r_1']])(
    '%s refuses a file as well',
    async (...args) => {
      const { status, stderr } = await sluice([...args, '--work-dir', 's.yaml'], { cwd: folder(FILES) });
      expect([status, stderr]).toEqual([2, expect.stringContaining('`s.yaml` is a file')]);
    },
  );

  test('is made where it is missing, with the folders above it', async () => {
    const cwd = folder(FILES);
    expect((await sluice([...RUN, '--work-dir', 'deep/er'], { cwd })).status).toBe(0);
    expect(readdirSync(join(cwd, 'deep'))).toEqual(['er']);
  });
});

describe('init', () => {
  test.each([
    ['s.yaml', '`init` takes a folder, and `s.yaml` is a file'],
    ['s.yaml/x', 's.yaml` is a file'],
    ['', '`init` takes a folder, not an empty name'],
    ...NOWHERE.map((place) => [place, `\`${place}\` cannot be created`]),
  ])('into %j is wrong usage', async (place, words) => {
    const ran = await sluice(['init', place], { cwd: folder(FILES) });
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining(`error[usage]: `)]);
    expect(ran.stderr).toContain(words);
    expect(ran.stderr).toContain('help:');
  });

  test('over a folder where a file should be is no fault of the program', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, 'README.md'));
    const ran = await sluice(['init', '--force'], { cwd });
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('error[file-unreadable]')]);
  });
});

test.each(NOWHERE)('a folder for exports or keys in %s is refused, and the command ends', async (place) => {
  const cwd = folder(FILES);
  await sluice(RUN, { cwd });
  const pruned = await sluice(['prune', '--keep', '0', '--export', `${place}/runs`], { cwd });
  expect([pruned.status, pruned.stderr]).toEqual([2, expect.stringContaining(`\`${place}\` cannot be created`)]);
  expect(json(await sluice(['runs', '--json'], { cwd }))).toHaveLength(1);
  const added = await sluice(['keys', 'add', 'ann'], { cwd, env: { SLUICE_KEYS_DIR: place } });
  expect([added.status, added.stderr]).toEqual([2, expect.stringContaining(`\`${place}\` cannot be created`)]);
});

describe('the database', () => {
  test.each(['', ':memory:', 'file:runs.db', 'mysql://host/runs', 'sqlit:runs.db', 'sqlite::memory:'])(
    '%j is not the path of a file',
    async (db) => {
      const cwd = folder(FILES);
      for (const args of [RUN, ['runs']]) {
        const ran = await sluice([...args, '--db', db], { cwd });
        expect([args[0], ran.status, ran.stderr]).toEqual([
          args[0],
          2,
          expect.stringContaining('`--db` takes the path of a file'),
        ]);
        expect(ran.stderr).toContain('help:');
      }
      expect(readdirSync(cwd).sort()).toEqual(Object.keys(FILES).sort());
    },
  );

  test('it is named by a path, an address or SLUICE_DB, and a wrong one in SLUICE_DB is one error', async () => {
    const cwd = folder(FILES);
    expect((await sluice([...RUN, '--db', 'sqlite:own.db'], { cwd })).status).toBe(0);
    for (const given of [
      ['--db', 'own.db'],
      ['--db', 'sqlite:./own.db'],
    ])
      expect(json(await sluice(['runs', '--json', ...given], { cwd }))).toHaveLength(1);
    for (const SLUICE_DB of ['own.db', 'sqlite:own.db'])
      expect(json(await sluice(['runs', '--json'], { cwd, env: { SLUICE_DB } }))).toHaveLength(1);
    const wrong = await sluice(['runs'], { cwd, env: { SLUICE_DB: 'mysql://ann:secret@host/runs' } });
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('mysql://…@host/runs')]);
    expect(wrong.stderr).not.toContain('secret');
    const absent = await sluice(['runs'], { cwd, env: { SLUICE_DB: 'none.db' } });
    expect([absent.status, absent.stderr]).toEqual([1, expect.stringContaining('there is no database at `none.db`')]);
  });

  test.each([
    ['runs'],
    ['approvals'],
    ['audit', 'verify'],
    ['resume'],
    ['show', 'r_1'],
    ['trace', 'r_1'],
    ['replay', 'r_1'],
    ['cancel', 'r_1'],
    ['answer', 'a_r_1.0.1', 'approve'],
  ])('%j of one that was named and is not there is an error, and makes none', async (...args) => {
    const cwd = folder();
    const ran = await sluice([...args, '--db', 'no.db', '--json'], { cwd });
    expect(ran.status).toBe(1);
    expect(json(ran)).toMatchObject({ error: { code: 'journal-unavailable' } });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('where nothing has run and none was named, there are no runs to check yet', async () => {
    const cwd = folder();
    expect(await sluice(['audit', 'verify'], { cwd })).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^there are no runs to check yet/) as string,
    });
    expect(await sluice(['runs'], { cwd })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('no runs yet') as string,
    });
  });
});
