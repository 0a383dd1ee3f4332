/** Printed commands can be pasted: the name of the program fits how it was started. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandName } from '../../src/surfaces/cli/command-name.ts';
import { folder } from './cli.ts';

function withCommand(dir: string): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'sluice'), '');
  chmodSync(join(dir, 'sluice'), 0o755);
  return dir;
}

test('an installed command is called by its name', () => {
  expect(commandName({ PATH: withCommand(join(folder(), 'bin')) }, folder(), 'x.js')).toBe('sluice');
});

test('npx and npm scripts put the command on the PATH only for themselves', () => {
  const PATH = withCommand(join(folder(), 'bin'));
  expect(commandName({ PATH, npm_command: 'exec' }, folder(), 'x.js')).toBe('npx sluice');
  expect(commandName({ PATH, npm_lifecycle_event: 'start' }, folder(), 'x.js')).toBe('npx sluice');
});

test('a project, and any folder inside it, has the command through npx', () => {
  const project = folder({ 'flows/deep/a.txt': '' });
  withCommand(join(project, 'node_modules', '.bin'));
  expect(commandName({ PATH: '' }, join(project, 'flows', 'deep'), 'x.js')).toBe('npx sluice');
});

test('without any of them the file is named', () => {
  const dir = folder();
  expect(commandName({ PATH: '' }, dir, join(dir, 'my tools', 'sluice.js'))).toBe("node 'my tools/sluice.js'");
});
