/** A run is pinned to all code that Node loads for its modules, in every form in which code names other code. */
import { execFile } from 'node:child_process';
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { folder, json, report, root, sluice as spawned } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { codeOf } from '../../../platform/src/code/closure.ts';
import { changesSince } from '../../../platform/src/code/load.ts';
import { FLOW } from '../../../engine/test/runtime/pinned-flow.ts';

const PACKAGES = {
  'node_modules/esm/package.json': '{"name":"esm","version":"1.0.0","type":"module","exports":{"import":"./index.js"}}',
  'node_modules/esm/index.js': "export * from './inner/deep.js';",
  'node_modules/esm/inner/deep.js': 'export const x = 1;',
  'node_modules/cjs/package.json': '{"name":"cjs","version":"1.0.0","main":"main","dependencies":{"needed":"*"}}',
  'node_modules/cjs/main.js': "module.exports = require('need' + 'ed');",
  'node_modules/needed/package.json': '{"name":"needed"}',
  'node_modules/needed/index.js': 'module.exports = 1;',
  'node_modules/@scope/one/package.json': '{"name":"@scope/one"}',
  'node_modules/@scope/one/index.js': 'module.exports = 1;',
};
const PROJECT = {
  'package.json':
    '{"name":"own","imports":{"#lib":{"node":"./lib.js"},"#deep/*":"./deep/*.js","#dep":"cjs"},"exports":{"./self":"./lib.js"}}',
  'lib.js': 'module.exports = 1;',
  'lib.mjs': 'export const x = 1;',
  'data.json': '{"x":1}',
  'deep/index.js': 'module.exports = 1;',
  'deep/more.js': 'module.exports = 1;',
  'typed.ts': 'export const x: number = 1;',
  ...PACKAGES,
};

test.each([
  ["require('./lib')", 'lib.js'],
  ["require('./deep')", 'deep/index.js'],
  ["require('./data')", 'data.json'],
  ["const r = require; r('./lib')", 'lib.js'],
  ["const r = require; r('./data.json')", 'data.json'],
  ["await import('./data.json', { with: { type: 'json' } })", 'data.json'],
  ["import x from './lib.mjs';", 'lib.mjs'],
  ["import x from './typed.ts';", 'typed.ts'],
  ["import'./lib.mjs'", 'lib.mjs'],
  ["export * from\n  './lib.mjs';", 'lib.mjs'],
  ['await import(`./lib.mjs`)', 'lib.mjs'],
  ["await import(/* later */ './lib.mjs')", 'lib.mjs'],
  ["await import(\n'./lib.mjs?fresh=1')", 'lib.mjs'],
  ["/* don't */ import './lib.mjs'", 'lib.mjs'],
  ["new Worker(new URL('./lib.mjs', import.meta.url))", 'lib.mjs'],
  ["import '#lib';", 'lib.js'],
  ["require('#deep/more')", 'deep/more.js'],
  ["import 'own/self';", 'lib.js'],
  ["import 'esm';", 'node_modules/esm'],
  ["const load = createRequire(import.meta.url); load('@scope/one')", 'node_modules/@scope/one'],
  ["import '#dep';", 'node_modules/cjs'],
  ["require('cjs/main.js')", 'node_modules/needed'],
])('%s reaches %s', (source, reached) => {
  const home = folder({ ...PROJECT, 'own.js': source });
  const pinned = codeOf([join(home, 'own.js')]).hashes;
  expect(Object.keys(pinned)).toContain(join(home, reached));
  const file = reached.startsWith('node_modules') ? join(reached, 'planted.js') : reached;
  appendFileSync(join(home, file), '\n// changed\n');
  expect(changesSince(pinned)).toEqual([join(home, reached)]);
});

test.each([
  "readFileSync(new URL('./data.json', import.meta.url))",
  "JSON.parse(readFileSync('./data.json', 'utf8'))",
  "existsSync('./data.json') && await writeFile('./data.json', text)",
])('%s names data, which may change', (source) => {
  const home = folder({ ...PROJECT, 'own.js': source });
  expect(Object.keys(codeOf([join(home, 'own.js')]).hashes)).toEqual([join(home, 'own.js')]);
});

test('an absolute path and a file URL reach their file', () => {
  const home = folder(PROJECT);
  const lib = join(home, 'lib.mjs');
  for (const source of [`import '${lib}';`, `import 'file://${lib}';`]) {
    writeFileSync(join(home, 'own.mjs'), source);
    expect(Object.keys(codeOf([join(home, 'own.mjs')]).hashes)).toContain(lib);
  }
});

test('text that is no path, and links in a circle, are passed over', () => {
  const home = folder({
    ...PROJECT,
    'own.js': `f('/${'9j/4'.repeat(5000)}.js'); f('./a\0.js'); f('./loop.js'); f('file://%zz.js'); f('/');`,
  });
  symlinkSync('loop.js', join(home, 'loop.js'));
  expect(Object.keys(codeOf([join(home, 'own.js')]).hashes)).toEqual([join(home, 'own.js')]);
});

test('a file that comes before the pinned one in the resolution is a change', () => {
  const home = folder({
    ...PROJECT,
    'own.js': "require('./lib'); require('cjs'); try { require('./extra'); } catch {}",
  });
  const pinned = codeOf([join(home, 'own.js')]).hashes;
  expect(changesSince(pinned)).toEqual([]);
  writeFileSync(join(home, 'extra.js'), 'evil();');
  expect(changesSince(pinned)).toEqual([join(home, 'extra.js')]);
  mkdirSync(join(home, 'node_modules/cjs/node_modules/needed'), { recursive: true });
  expect(changesSince(pinned)).toContain(join(home, 'node_modules/cjs/node_modules/needed'));
});

async function answered(files: { readonly [path: string]: string }, change: (home: string) => void) {
  const home = folder({ 'a.yaml': FLOW, 's.yaml': 'clock: real\n', ...files });
  const ran = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--json'], { cwd: home });
  change(home);
  const args = ['answer', report(ran).waiting[0]?.id ?? '', 'yes_please', '--script', 's.yaml', '--json'];
  return spawned(args, { cwd: home });
}

describe('after an approval', () => {
  test('changed code of a package is refused by the name of the package', async () => {
    const ran = await answered(
      { ...PACKAGES, 'code/own.mjs': "import { x } from 'esm';\nexport const pay = () => x;\n" },
      (home) => writeFileSync(join(home, 'node_modules/esm/inner/deep.js'), 'export const x = 666;'),
    );
    expect([ran.status, json(ran)]).toMatchObject([
      1,
      { error: { code: 'code-changed', message: expect.stringContaining('node_modules/esm') } },
    ]);
  });

  test('unchanged code runs, also what a package loads by a computed name', async () => {
    const ran = await answered(
      {
        ...PACKAGES,
        'code/own.mjs': "import x from 'cjs';\nimport './t.ts';\nexport const pay = () => x;\n",
        'code/t.ts': 'const a: number = 1;',
      },
      () => undefined,
    );
    expect(report(ran)).toMatchObject({ state: 'completed', output: 1 });
  });

  test.each([
    ["export const pay = async () => (await import(['.', 'late.mjs'].join('/'))).x;"],
    [
      "import { createRequire } from 'node:module';\nexport const pay = () => createRequire(import.meta.url)('./late.' + 'cjs').x;",
    ],
  ])('a file that is loaded by a computed name is refused: %s', async (source) => {
    const ran = await answered(
      { 'code/own.mjs': source, 'code/late.mjs': 'export const x = 1;', 'code/late.cjs': 'exports.x = 1;' },
      (home) => writeFileSync(join(home, 'code/late.mjs'), 'export const x = 666;'),
    );
    expect(report(ran)).toMatchObject({
      state: 'failed',
      error: { message: expect.stringMatching(/the run is not pinned to .*late\.[cm]js/) },
    });
  });
});

describe('a module that an agent can replace is refused', () => {
  const refused = async (home: string, ...flags: string[]): Promise<void> => {
    const ran = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--json', ...flags], { cwd: home });
    expect([ran.status, json(ran)]).toMatchObject([1, { error: { code: 'unsafe-module' } }]);
  };
  const project = { 'a.yaml': FLOW, 's.yaml': 'clock: real\n' };
  const own = 'export const pay = () => 1;\n';

  test('below .sluice/work, without --work-dir', async () => {
    const home = folder({ ...project, '.sluice/work/r_0/own.mjs': own });
    writeFileSync(join(home, 'a.yaml'), FLOW.replace('./code/', './.sluice/work/r_0/'));
    await refused(home);
  });

  test('through a link that points there', async () => {
    const home = folder({ ...project, 'work/own.mjs': own });
    symlinkSync(join(home, 'work'), join(home, 'code'));
    await refused(home, '--work-dir', 'work');
  });

  test('through a link that lies there', async () => {
    const home = folder({ ...project, 'safe/own.mjs': own, 'work/x': '' });
    symlinkSync(join(home, 'safe'), join(home, 'work/code'));
    writeFileSync(join(home, 'a.yaml'), FLOW.replace('./code/', './work/code/'));
    await refused(home, '--work-dir', 'work');
  });

  test('as a package that the module imports', async () => {
    const home = folder({
      ...project,
      'work/node_modules/p/index.js': 'exports.x = 1;',
      'code/own.mjs': `import 'p';\n${own}`,
    });
    symlinkSync(join(home, 'work/node_modules'), join(home, 'node_modules'));
    await refused(home, '--work-dir', 'work');
  });
});

describe('code that a pinned module reaches in another way is refused', () => {
  const late = 'export const pay = () => 666;\n';

  test.each([
    ['through a data URL', "(await import('data:text/javascript,export * from \"fi' + LATE)).pay()"],
    ['as a native file', "createRequire(import.meta.url)('./ad' + 'don.node')"],
  ])('%s', async (_, call) => {
    const home = folder({ 'late.mjs': late, 'addon.node': 'not native' });
    const own = join(home, 'own.mjs');
    writeFileSync(
      own,
      `import { createRequire } from 'node:module';
const LATE = 'le://${home}/late.mjs"';
export const pay = async () => ${call};`,
    );
    const loaded = await loadInProcess(
      `const { pay } = await loadCode(own, { modules: codeOf([own]).hashes });
console.log(await pay());`,
      own,
    );
    expect(loaded).toMatch(/the run is not pinned to .*(?:late\.mjs|addon\.node)/);
  });

  test('after an earlier module that is not pinned has loaded it', async () => {
    const home = folder({
      'late.mjs': late,
      'free.mjs': "import './late.mjs';",
      'own.mjs': "export const pay = async () => (await import(new URL('late.mjs', import.meta.url).href)).pay();",
    });
    const loaded = await loadInProcess(
      `await loadCode(own.replace('own', 'free'));
const { pay } = await loadCode(own, { modules: codeOf([own]).hashes });
console.log(await pay());`,
      join(home, 'own.mjs'),
    );
    expect(loaded).toMatch(/the run is not pinned to .*late\.mjs/);
  });

  test('through a link that is changed after the comparison', async () => {
    const home = folder({ 'good/own.mjs': 'export const pay = () => 1;\n', 'evil/own.mjs': late });
    symlinkSync('good', join(home, 'code'));
    // The hook runs before the one of the loader, between the comparison and the load.
    const loaded = await loadInProcess(
      `await loadCode(own.replace('own', 'none')).catch(() => undefined);
registerHooks({ resolve(specifier, context, next) {
  if (specifier === pathToFileURL(own).href) {
    unlinkSync(dirname(own));
    symlinkSync('evil', dirname(own));
  }
  return next(specifier, context);
} });
const { pay } = await loadCode(own, { modules: codeOf([own]).hashes });
console.log(await pay());`,
      join(home, 'code/own.mjs'),
    );
    expect(loaded).toMatch(/the run is not pinned to .*evil\/own\.mjs/);
  });

  /** The first line of what the program prints, or of its error. Vitest loads modules in its own way, so a process of its own runs it. */
  async function loadInProcess(program: string, own: string): Promise<string> {
    const script = `import { registerHooks } from 'node:module';
import { symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadCode } from ${JSON.stringify(join(root, 'packages/platform/src/code/load.ts'))};
import { codeOf } from ${JSON.stringify(join(root, 'packages/platform/src/code/closure.ts'))};
const own = ${JSON.stringify(own)};
try { ${program} } catch (error) { console.log(error.message); }`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    return stdout;
  }
});
