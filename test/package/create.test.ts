/** A project that `npm create sluice` makes from the packed package compiles and passes its own test, on Node 22 and 24. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const dir = mkdtempSync(join(tmpdir(), 'sluice-create-'));
const modules = join(dir, 'node_modules');
const sluice = join(modules, 'sluice/bin/sluice.js');

const { NODE_TEST_CONTEXT: _, ...env } = process.env;
function run(command: string, args: readonly string[], cwd = dir) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}`, stdout };
}

/** Both packages as packed; their dependencies are those of the checkout, so that nothing is downloaded. */
beforeAll(() => {
  for (const [name, from] of [
    ['sluice', root],
    ['create-sluice', join(root, 'packages/create-sluice')],
  ] as const) {
    const packed = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], from);
    const [{ filename }] = JSON.parse(packed.stdout) as [{ readonly filename: string }];
    mkdirSync(join(modules, name), { recursive: true });
    run('tar', ['-xzf', join(dir, filename), '-C', join(modules, name), '--strip-components=1']);
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  mkdirSync(join(modules, '.bin'));
  symlinkSync(join(root, 'node_modules/.bin/tsc'), join(modules, '.bin/tsc'));
  for (const name of [...Object.keys(dependencies), 'typescript', '@typescript', '@types', 'node', 'undici-types']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    if (existsSync(join(root, 'node_modules', name)))
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
}, 60_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** The Nodes at hand: the pinned one, and the one in `node22`. */
const nodes = [process.execPath, join(import.meta.dirname, 'node22/node_modules/node/bin/node')].filter((file) =>
  existsSync(file),
);

test('both releases of Node are here', () => {
  expect(nodes.map((file) => run(file, ['-p', 'process.versions.node.split(".")[0]']).stdout.trim())).toEqual([
    '24',
    '22',
  ]);
});

test('`npm create sluice` makes a TypeScript project on both', { timeout: 120_000 }, () => {
  const project = join(dir, 'created');
  for (const node of nodes) {
    rmSync(project, { recursive: true, force: true });
    const made = run(node, [join(modules, 'create-sluice/create.js'), project]);
    expect(made.status, made.output).toBe(0);
  }
  const compiled = run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded'], project);
  expect(compiled.output).toBe('');
  for (const node of nodes) {
    const tested = run(node, ['--test', 'dist/refunds.test.js'], project);
    expect(tested.status, tested.output).toBe(0);
    expect(tested.output).toMatch(/pass 2/);
    // The README of the project prints this command.
    const checked = run(node, [sluice, 'check', 'dist/refunds.js'], project);
    expect(checked.status, checked.output).toBe(0);
    expect(checked.output).toContain('refunds  sha256:');
  }
});

/** The ids that stand for APPROVAL and RUN in a README. */
function idsIn(project: string): { readonly [word: string]: string } {
  const listed = (command: string): string => run(process.execPath, [sluice, command, '--json'], project).stdout;
  return { APPROVAL: /"a_[^"]+"/.exec(listed('approvals'))?.[0] ?? '', RUN: /"r_\w+"/.exec(listed('runs'))?.[0] ?? '' };
}

/** As the shell runs it in the project, with the packed command for `npx sluice`. Nothing is installed. */
function typed(command: string, project: string) {
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { scripts: { test: string } };
  const ids = /APPROVAL|RUN/.test(command) ? idsIn(project) : {};
  const line = command
    .replace(/^npm test.*/, scripts.test)
    .replace(/^npx sluice/, `node ${sluice}`)
    .replaceAll(/APPROVAL|RUN/g, (word) => ids[word] ?? '');
  const path = [dirname(process.execPath), join(modules, '.bin'), env['PATH']].join(':');
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
    cwd: project,
    env: { ...env, PATH: path },
    encoding: 'utf8',
  });
  return { command, status, output: `${stdout}${stderr}` };
}

test.each(['support', 'research', 'team', 'typescript'])(
  'every command in the README of %s works as printed, and its test on both releases',
  { timeout: 240_000 },
  (template) => {
    const project = join(dir, `readme-${template}`);
    run(process.execPath, [sluice, 'init', project, '--template', template]);
    const readme = readFileSync(join(project, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^ {4}(\S.*)$/gm)].map(([, command = '']) => command);
    const inline = [...readme.matchAll(/`(npx sluice [^`]+)`/g)].map(([, command = '']) => command);
    // `npm install` loads the packages that are here already, and `npm start` asks a model.
    const commands = [...blocks, ...inline].filter((command) => !/npm install|npm start/.test(command));
    expect(commands.length).toBeGreaterThanOrEqual(3);
    for (const command of commands) {
      const { status, output } = typed(command, project);
      // A run that waits for an answer ends with 3.
      expect([command, status, output]).toEqual([
        command,
        template === 'support' && / run /.test(command) ? 3 : 0,
        output,
      ]);
    }
    // `npm test` was one of them, on the newer Node.
    const [, older = ''] = nodes;
    const tested = run(older, template === 'typescript' ? ['--test', 'dist/refunds.test.js'] : ['--test'], project);
    expect(tested.status, tested.output).toBe(0);
  },
);

test('an unknown template is refused with the nearest name', () => {
  const refused = run(process.execPath, [sluice, 'init', join(dir, 'x'), '--template', 'typscript']);
  expect([refused.status, refused.output]).toEqual([2, expect.stringContaining('Did you mean `typescript`?')]);
  expect(existsSync(join(dir, 'x'))).toBe(false);
});
