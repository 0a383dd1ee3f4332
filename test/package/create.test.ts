/** A project that `npm create sluice` makes from the packed package compiles and passes its own test, on Node 22 and 24. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const dir = mkdtempSync(join(tmpdir(), 'sluice-create-'));
const modules = join(dir, 'node_modules');

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

test.each(nodes)('a TypeScript project on %s', { timeout: 120_000 }, (node) => {
  const project = join(dir, `typescript-${nodes.indexOf(node)}`);
  const made = run(node, [join(modules, 'create-sluice/create.js'), project]);
  expect(made.status, made.output).toBe(0);
  const compiled = run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded'], project);
  expect(compiled.output).toBe('');
  const tested = run(node, ['--test', 'dist/refunds.test.js'], project);
  expect(tested.status, tested.output).toBe(0);
  expect(tested.output).toMatch(/pass 2/);
  // The README of the project prints this command.
  const checked = run(node, [join(modules, 'sluice/bin/sluice.js'), 'check', 'dist/refunds.js'], project);
  expect(checked.status, checked.output).toBe(0);
  expect(checked.output).toContain('refunds  sha256:');
});

test.each(['support', 'research', 'team'])('the template %s passes its own test', { timeout: 120_000 }, (template) => {
  const project = join(dir, template);
  const made = run(process.execPath, [join(modules, 'sluice/bin/sluice.js'), 'init', project, '--template', template]);
  expect(made.status, made.output).toBe(0);
  for (const node of nodes) {
    const tested = run(node, ['--test'], project);
    expect(tested.status, tested.output).toBe(0);
  }
});

test('an unknown template is refused with the nearest name', () => {
  const refused = run(process.execPath, [
    join(modules, 'sluice/bin/sluice.js'),
    'init',
    join(dir, 'x'),
    '--template',
    'typscript',
  ]);
  expect([refused.status, refused.output]).toEqual([2, expect.stringContaining('Did you mean `typescript`?')]);
  expect(existsSync(join(dir, 'x'))).toBe(false);
});
