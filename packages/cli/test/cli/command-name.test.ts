/** Printed commands can be pasted: the name of the program fits how it was started. */
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMAND, commandName, flagsOf } from '../../src/table/command-name.ts';
import { createProgram } from '../../src/program.ts';
import { createScreen } from '@sluice-internal/library/documents';
import { RUN, folder, root } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

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

test('every command is replaced in printed texts', () => {
  const { commands } = createProgram(createScreen(), () => undefined);
  const names = commands.map((command) => command.name());
  expect(names).toContain('fork');
  expect(names.filter((name) => `sluice ${name}`.replaceAll(COMMAND, '') === `sluice ${name}`)).toEqual([]);
});

test('a quoted argument stays as it is', () => {
  const text = "sluice answer a_1.0.0 'the sluice gate' --script 'my sluice script.yaml', or `sluice show 1`";
  const expected = "X answer a_1.0.0 'the sluice gate' --script 'my sluice script.yaml', or `X show 1`";
  expect(text.replaceAll(COMMAND, 'X ')).toBe(expected);
});

test('no hint prints a command with a fixed name of the program', () => {
  const sources = join(root, 'packages/cli/src/commands');
  const fixed = readdirSync(sources).flatMap((file) =>
    readFileSync(join(sources, file), 'utf8')
      .split('\n')
      .filter((line) => /\.(?:hint|warn|print)\(.*\bsluice [a-z]/.test(line) && !line.includes('withCommandName')),
  );
  expect(fixed).toEqual([]);
});

test('a script of a program is not repeated: there is no file to name', () => {
  expect(flagsOf({ db: '.sluice/sluice.db', tenant: undefined }, { script: 'program' })).toBe('');
});

test('a printed command repeats the options of the one that prints it', () => {
  expect(
    flagsOf({ db: 'my runs.db', tenant: 'acme' }, { script: 's.yaml', allowHost: ['a.example', 'b.example'] }),
  ).toBe(" --script s.yaml --allow-host a.example --allow-host b.example --db 'my runs.db' --tenant acme");
  expect(flagsOf({ db: '.sluice/sluice.db', tenant: undefined })).toBe('');
});

test('`approvals` prints commands that work as printed', async () => {
  const cwd = await newProject();
  await sluice([...RUN, '--run', 'r1', '--tenant', 'acme', '--db', 'x.db'], { cwd });
  const listed = await sluice(['approvals', '--script', 'support.script.yaml', '--tenant', 'acme', '--db', 'x.db'], {
    cwd,
  });
  const [, printed = ''] = /sluice(?:\.js)? (answer .* approve .*)$/m.exec(listed.stdout) ?? [];
  expect(printed).toContain('--script support.script.yaml --db x.db --tenant acme');
  expect(await sluice(printed.split(' '), { cwd })).toMatchObject({ status: 0 });
});
