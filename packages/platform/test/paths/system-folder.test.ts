/** No agent works in a folder of the system, or in one that contains such a folder. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemFolderAt } from '@sluice-internal/platform';

test.each([
  '/',
  '/etc',
  '/etc/',
  '/etc/nothing/here',
  '/tmp/../etc',
  '/usr/bin',
  '/var/lib/x',
  '/proc/self/cwd/..',
  '/var',
  '/run',
  '/dev',
  dirname(homedir()),
])('%s is refused', (path) => {
  expect(systemFolderAt(path)).not.toBeNull();
});

test.each([
  tmpdir(),
  join(tmpdir(), 'new', 'deep'),
  '/srv/work',
  '/var/tmp/work',
  '/dev/shm/work',
  join(homedir(), 'work'),
  '/etcetera',
])('%s is taken', (path) => {
  expect(systemFolderAt(path)).toBeNull();
});

test('a link to such a folder is one', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-link-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  symlinkSync('/etc', join(dir, 'link'));
  expect(systemFolderAt(join(dir, 'link'))).toBe('/etc');
  expect(systemFolderAt(join(dir, 'link', 'new'))).toBe('/etc');
});
