/** The file tools: what they give, and that no path leads out of the work directory. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { segmentsOf } from '@sluice-internal/platform';
import { freshDir, tools } from './call.ts';

describe('what they give', () => {
  test('a file is written, read, patched, listed and deleted', async () => {
    const { dir, ask } = tools();
    const written = await ask('write_file', { path: 'src/a.txt', content: 'one\ntwo\n' });
    expect(written).toMatchObject({
      ok: true,
      value: { path: 'src/a.txt', bytes: 8, created: true, before: null, added: 2, removed: 0 },
    });
    expect(await ask('read_file', { path: './src//a.txt' })).toMatchObject({
      value: { content: 'one\ntwo\n', truncated: false, lossy: false },
    });
    const patched = await ask('patch_file', { path: 'src/a.txt', find: 'two', replace: 'three' });
    expect(patched).toMatchObject({
      value: { created: false, added: 1, removed: 1, diff: '@@ -2,1 +2,1 @@\n-two\n+three' },
    });
    expect(readFileSync(join(dir, 'src/a.txt'), 'utf8')).toBe('one\nthree\n');
    expect(await ask('list_directory', { path: 'src' })).toMatchObject({
      value: { entries: [{ name: 'a.txt', type: 'file' }] },
    });
    expect(await ask('delete_file', { path: 'src/a.txt' })).toEqual({
      ok: true,
      value: { path: 'src/a.txt', deleted: true },
    });
    expect(existsSync(join(dir, 'src/a.txt'))).toBe(false);
  });

  test('what is not there is a failure with a type', async () => {
    const { ask } = tools();
    for (const name of ['read_file', 'delete_file'])
      expect(await ask(name, { path: 'nope' })).toMatchObject({ ok: false, class: 'semantic', type: 'NotFoundError' });
    expect(await ask('patch_file', { path: 'nope', find: 'a', replace: 'b' })).toMatchObject({ type: 'NotFoundError' });
    expect(await ask('list_directory', { path: 'nope' })).toMatchObject({ type: 'NotFoundError' });
    expect(await ask('list_directory')).toMatchObject({ ok: true });
  });

  test('a patch must say which passage it means', async () => {
    const { ask } = tools();
    await ask('write_file', { path: 'a', content: 'x x' });
    expect(await ask('patch_file', { path: 'a', find: 'x', replace: 'y' })).toMatchObject({
      type: 'PatchError',
      message: expect.stringContaining('more than once'),
    });
    expect(await ask('patch_file', { path: 'a', find: 'z', replace: 'y' })).toMatchObject({
      type: 'PatchError',
      message: expect.stringContaining('does not occur'),
    });
    expect(await ask('patch_file', { path: 'a', find: '', replace: 'y' })).toMatchObject({ type: 'ArgumentError' });
  });

  test('arguments that the schema does not allow never reach the tool', async () => {
    const { dir, ask } = tools();
    const wrong: Json[] = [{}, { path: 'a' }, { path: 1, content: '' }, { path: 'a', content: '', extra: 1 }];
    for (const args of wrong)
      expect(await ask('write_file', args)).toMatchObject({ ok: false, class: 'semantic', type: 'ArgumentError' });
    expect(readdirSync(dir)).toEqual([]);
  });

  test('bytes that are no UTF-8 are said to have been replaced, and are not patched', async () => {
    const { dir, ask } = tools();
    writeFileSync(join(dir, 'b.bin'), Buffer.from([0x61, 0xff, 0xfe, 0x62]));
    expect(await ask('read_file', { path: 'b.bin' })).toMatchObject({
      value: { lossy: true, content: 'a\ufffd\ufffdb', bytes: 4 },
    });
    expect(await ask('patch_file', { path: 'b.bin', find: 'a', replace: 'c' })).toMatchObject({
      type: 'EncodingError',
    });
  });

  test('sizes are capped, at a whole character', async () => {
    const { dir, ask } = tools({ files: { readMax: 10, writeMax: 20 } });
    writeFileSync(join(dir, 'long'), 'é'.repeat(40));
    expect(await ask('read_file', { path: 'long' })).toMatchObject({
      value: { truncated: true, lossy: false, bytes: 80, content: 'ééééé' },
    });
    writeFileSync(join(dir, 'odd'), `a${'é'.repeat(40)}`);
    expect(await ask('read_file', { path: 'odd' })).toMatchObject({
      value: { truncated: true, lossy: false, content: 'aéééé' },
    });
    expect(await ask('write_file', { path: 'w', content: 'x'.repeat(21) })).toMatchObject({ type: 'TooLargeError' });
    expect(await ask('patch_file', { path: 'long', find: 'é', replace: '' })).toMatchObject({ type: 'TooLargeError' });
  });

  test('an executable stays one', async () => {
    const { dir, ask } = tools();
    await ask('write_file', { path: 'run.sh', content: 'a' });
    chmodSync(join(dir, 'run.sh'), 0o755);
    await ask('patch_file', { path: 'run.sh', find: 'a', replace: 'b' });
    expect(statSync(join(dir, 'run.sh')).mode & 0o777).toBe(0o755);
  });

  test('a change that is performed again after a crash is made once and gives the same §pathologies/idempotency-failure', async () => {
    const { dir, ask } = tools();
    await ask('write_file', { path: 'a', content: '1' });
    const first = await ask('patch_file', { path: 'a', find: '1', replace: '11' }, { key: 'k1' });
    expect(await ask('patch_file', { path: 'a', find: '1', replace: '11' }, { key: 'k1' })).toEqual(first);
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('11');
    const gone = await ask('delete_file', { path: 'a' }, { key: 'k2' });
    expect(await ask('delete_file', { path: 'a' }, { key: 'k2' })).toEqual(gone);
    const created = await ask('write_file', { path: 'c', content: 'c' }, { key: 'k3' });
    expect(await ask('write_file', { path: 'c', content: 'c' }, { key: 'k3' })).toEqual(created);
  });
});

describe('no path leads out', () => {
  const OUTSIDE = [
    '../x',
    'a/../../x',
    '/etc/passwd',
    'a/../../../etc/passwd',
    '..',
    '\\\\server\\x',
    'C:\\x',
    '/workspace/../etc/passwd',
    'a\0b',
  ];

  test.each(OUTSIDE)('%j is refused by every tool', async (path) => {
    const { ask } = tools();
    for (const name of ['read_file', 'delete_file', 'list_directory'])
      expect(await ask(name, { path })).toMatchObject({ ok: false, class: 'policy', type: 'PathError' });
    expect(await ask('write_file', { path, content: 'x' })).toMatchObject({ class: 'policy', type: 'PathError' });
    expect(await ask('patch_file', { path, find: 'a', replace: 'b' })).toMatchObject({
      class: 'policy',
      type: 'PathError',
    });
  });

  test('the folder as the sandbox sees it is the work directory', () => {
    expect(segmentsOf('/workspace/a/./b')).toEqual(['a', 'b']);
    expect(() => segmentsOf('/workspaces/a')).toThrow('absolute');
  });

  test('links are not followed, neither as a file nor on the way', async () => {
    const { dir, ask } = tools();
    const outside = freshDir();
    writeFileSync(join(outside, 'secret'), 'secret');
    symlinkSync(join(outside, 'secret'), join(dir, 'file'));
    symlinkSync(outside, join(dir, 'folder'));
    symlinkSync(join(outside, 'new'), join(dir, 'dangling'));
    for (const path of ['file', 'folder/secret']) {
      expect(await ask('read_file', { path })).toMatchObject({
        class: 'policy',
        type: 'PathError',
        message: expect.stringContaining('symbolic link'),
      });
      expect(await ask('write_file', { path, content: 'x' })).toMatchObject({ class: 'policy', type: 'PathError' });
      expect(await ask('patch_file', { path, find: 'secret', replace: 'x' })).toMatchObject({
        class: 'policy',
        type: 'PathError',
      });
    }
    expect(await ask('write_file', { path: 'dangling', content: 'x' })).toMatchObject({ class: 'policy' });
    expect(await ask('write_file', { path: 'folder/deep/x', content: 'x' })).toMatchObject({ class: 'policy' });
    expect(await ask('list_directory', { path: 'folder' })).toMatchObject({ class: 'policy' });
    expect(await ask('delete_file', { path: 'folder/secret' })).toMatchObject({ class: 'policy' });
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(await ask('delete_file', { path: 'file' })).toMatchObject({ ok: true });
    expect(existsSync(join(outside, 'secret'))).toBe(true);
  });

  test('a folder that turns into a link while files are written under it', async () => {
    const { dir, ask } = tools();
    const outside = freshDir();
    mkdirSync(join(dir, 'd'));
    let flips = 0;
    // The tools may make the folder anew at any point; whichever of the two is there makes room for the other.
    const flip = (): void => {
      try {
        if (lstatSync(join(dir, 'd')).isSymbolicLink()) unlinkSync(join(dir, 'd'));
        else renameSync(join(dir, 'd'), join(dir, `aside${flips}`));
        if (flips % 2 === 0) symlinkSync(outside, join(dir, 'd'));
        else mkdirSync(join(dir, 'd'));
        flips += 1;
      } catch (error) {
        if (!['EEXIST', 'ENOENT'].includes((error as { code: string }).code)) throw error;
      }
    };
    const timer = setInterval(flip, 0);
    try {
      for (let round = 0; round < 150; round += 1)
        await Promise.all([
          ask('write_file', { path: `d/f${round}`, content: 'x' }),
          ask('write_file', { path: `d/e/f${round}`, content: 'x' }),
        ]);
    } finally {
      clearInterval(timer);
    }
    expect(flips).toBeGreaterThan(10);
    expect(readdirSync(outside)).toEqual([]);
  });

  test('a pipe without a writer does not hang a reader', async () => {
    const { dir, ask } = tools();
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    expect(await ask('read_file', { path: 'pipe' })).toMatchObject({
      type: 'PathError',
      message: expect.stringContaining('not a regular file'),
    });
    expect(await ask('write_file', { path: 'pipe', content: 'x' })).toMatchObject({ type: 'PathError' });
  });

  test('what the tools keep for themselves is not to be edited', async () => {
    const { ask } = tools();
    for (const path of ['.fuseraft/state/changes.json', '.fuseraft/STATE/x', '.fuseraft/state'])
      expect(await ask('write_file', { path, content: '{}' })).toMatchObject({ class: 'policy', type: 'PathError' });
    expect(await ask('write_file', { path: '.fuseraft/artifacts/brief.json', content: '{}' })).toMatchObject({
      ok: true,
    });
  });
});

describe('a search', () => {
  test('finds lines and paths, and names a folder that does not exist', async () => {
    const { dir, ask } = tools();
    mkdirSync(join(dir, 'src'));
    writeFileSync(join(dir, 'src', 'a.ts'), 'one\nTwo words\n');
    expect(await ask('search_content', { pattern: 'two' })).toEqual({
      ok: true,
      value: { matches: [{ path: 'src/a.ts', line: 2, text: 'Two words' }], truncated: false },
    });
    expect(await ask('search_files', { pattern: 'A.TS', path: 'src' })).toEqual({
      ok: true,
      value: { files: ['src/a.ts'], truncated: false },
    });
    for (const tool of ['search_content', 'search_files'])
      expect(await ask(tool, { pattern: 'x', path: 'scr' })).toMatchObject({ ok: false, type: 'NotFoundError' });
  });

  test('says that it did not read a long file to its end', async () => {
    const { dir, ask } = tools();
    writeFileSync(join(dir, 'long.txt'), `${'x'.repeat(1024 * 1024)}\nneedle\n`);
    expect(await ask('search_content', { pattern: 'needle' })).toEqual({
      ok: true,
      value: { matches: [], truncated: true },
    });
  });

  test('says that it did not look at all files', async () => {
    const { dir, ask } = tools();
    for (const folder of ['a', 'b']) mkdirSync(join(dir, folder));
    execFileSync('sh', ['-c', 'touch $(seq 5000)'], { cwd: join(dir, 'b') });
    writeFileSync(join(dir, 'a', 'needle'), '');
    expect(await ask('search_files', { pattern: 'needle' })).toEqual({
      ok: true,
      value: { files: [], truncated: true },
    });
  });

  test('says that it did not enter every folder, and stops with the call', async () => {
    const { dir, ask } = tools();
    const deep = 'd/'.repeat(100);
    mkdirSync(join(dir, deep), { recursive: true });
    writeFileSync(join(dir, deep, 'needle'), '');
    expect(await ask('search_files', { pattern: 'needle' })).toEqual({
      ok: true,
      value: { files: [], truncated: true },
    });
    expect(await ask('search_files', { pattern: 'x' }, { signal: AbortSignal.abort() })).toMatchObject({ ok: false });
  });
});
