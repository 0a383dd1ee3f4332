/** The command keeps compiled code between starts. The code never changes what a command does. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const dir = mkdtempSync(join(tmpdir(), 'sluice-start-'));
const cache = join(dir, 'cache');
const folder = join(cache, `sluice-code-${process.getuid?.() ?? 0}`);
afterAll(() => rmSync(dir, { recursive: true, force: true }));
beforeEach(() => rmSync(cache, { recursive: true, force: true }));

/** Starts the bundle itself: a checkout with newer sources would run those. */
function start(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const program = `require(${JSON.stringify(join(root, 'bin/load.cjs'))}).load('cli.cjs', process.argv[1]).main(process.argv.slice(1))`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program, '--', ...args], {
    cwd: dir,
    env: { ...process.env, NODE_V8_COVERAGE: '', NODE_COMPILE_CACHE: cache, ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const CHECK = ['check', join(root, 'examples/refund.flow.yaml'), '--json'];

function cacheFile(): string {
  const [name = '', ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  expect(name).toMatch(/^check-/);
  return join(folder, name);
}

test('a later start uses the code of the first ones and does the same', () => {
  const first = start(CHECK);
  expect(first.status, first.stderr).toBe(0);
  for (let round = 0; round < 3; round += 1) expect(start(CHECK)).toEqual(first);
  const settled = readFileSync(cacheFile());
  expect(start(CHECK)).toEqual(first);
  expect(readFileSync(cacheFile()).equals(settled)).toBe(true);
});

test('damaged code is not used, and is replaced', () => {
  const first = start(CHECK);
  const good = readFileSync(cacheFile());
  const middle = Math.floor(good.length / 2);
  const changed = Buffer.from(good).fill(0x5a, middle, middle + 8);
  const damaged = [Buffer.from('none'), good.subarray(0, middle), changed];
  for (const bytes of damaged) {
    writeFileSync(cacheFile(), bytes);
    expect(start(CHECK)).toEqual(first);
    expect(readFileSync(cacheFile()).equals(bytes)).toBe(false);
  }
});

test('code in a folder that others can write to is not used', () => {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  expect(start(CHECK).status).toBe(0);
  // Windows has neither owners nor modes.
  expect(readdirSync(folder)).toHaveLength(process.getuid === undefined ? 1 : 0);
});

const SCRIPT = join(root, 'bin/sluice.js');
const LOAD = JSON.stringify(join(root, 'bin/load.cjs'));

/** The folder of Node's own cache after the command turned it on, relative to `dir`. */
function nodeCache(env: NodeJS.ProcessEnv): string {
  const program = `require(${LOAD}).enableNodeCache(); process.stdout.write(String(require('node:module').getCompileCacheDir()))`;
  const clean = { ...process.env, NODE_COMPILE_CACHE: '', XDG_CACHE_HOME: '', NODE_V8_COVERAGE: '', ...env };
  return spawnSync(process.execPath, ['-e', program], { cwd: dir, env: clean, encoding: 'utf8' }).stdout;
}

test('code that another user could have written is not used by Node either', () => {
  const own = join(cache, `sluice-node-${process.getuid?.()}`);
  expect(nodeCache({ XDG_CACHE_HOME: cache })).toContain(own);
  chmodSync(own, 0o777);
  expect(nodeCache({ XDG_CACHE_HOME: cache })).toBe('undefined');
  chmodSync(own, 0o700);
  // Another user could put a folder in its place, unless the sticky bit is set as in the temporary folder.
  chmodSync(cache, 0o777);
  expect(nodeCache({ XDG_CACHE_HOME: cache })).toBe('undefined');
  chmodSync(cache, 0o1777);
  expect(nodeCache({ XDG_CACHE_HOME: cache })).toContain(own);
});

test('the current folder holds no code of the command', () => {
  for (const env of [{ HOME: '' }, { HOME: 'home' }, { XDG_CACHE_HOME: 'xdg', HOME: '' }]) nodeCache(env);
  expect(readdirSync(dir).filter((name) => /^(?:\.cache|home|xdg)$/.test(name))).toEqual([]);
});

test('an old Node is not replaced by a program of the current folder', () => {
  const other = join(dir, 'other');
  const planted = join(other, 'node_modules/node/bin/node');
  mkdirSync(join(planted, '..'), { recursive: true });
  writeFileSync(planted, '#!/bin/sh\necho planted\n', { mode: 0o755 });
  mkdirSync(join(dir, 'app/bin'), { recursive: true });
  writeFileSync(join(dir, 'app/bin/sluice.js'), readFileSync(SCRIPT));
  const old = join(dir, 'old.cjs');
  writeFileSync(
    old,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });\n",
  );
  const env = { ...process.env, SLUICE_LAUNCHER: '' };
  const run = (cwd: string) => {
    const args = ['--require', old, join(dir, 'app/bin/sluice.js'), '--version'];
    return spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
  };
  expect(run(other)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('error[old-node]') });
  // The Node that is installed beside the command is used.
  mkdirSync(join(dir, 'app/node_modules/node/bin'), { recursive: true });
  writeFileSync(join(dir, 'app/node_modules/node/bin/node'), readFileSync(planted), { mode: 0o755 });
  expect(run(other).stdout).toBe('planted\n');
});

test('the variable of Node turns it off, and wrong usage is not recorded', () => {
  expect(start(CHECK, { NODE_DISABLE_COMPILE_CACHE: '1' }).status).toBe(0);
  expect(start(['chekc']).status).toBe(2);
  expect(readdirSync(cache, { recursive: true }).filter((name) => String(name).endsWith('.bin'))).toEqual([]);
});

test('a module that imports the package meets the classes of the command', () => {
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(root, join(dir, 'node_modules/sluice'));
  const tool = "throw new PerformError({ class: 'refused', type: 'ShopClosed', message: 'closed' })";
  writeFileSync(
    join(dir, 'tools.mjs'),
    `import { PerformError } from 'sluice';\nexport const buy = () => { ${tool}; };\n`,
  );
  writeFileSync(
    join(dir, 'shop.yaml'),
    `tools: { buy: { effect: read, module: "./tools.mjs#buy" } }
flow: { id: shop, entry: a, nodes: [{ id: a, type: tool, tool: buy }] }
`,
  );
  const ran = start(['run', 'shop.yaml', '--json']);
  expect(JSON.parse(ran.stdout)).toMatchObject({ error: { class: 'refused', type: 'ShopClosed' } });
});
