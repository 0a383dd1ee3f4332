/**
 * TypeScript that the pages print is TypeScript that works: every snippet type-checks against the library as it is, the
 * documents that stand beside their YAML have its hash, and the program of the guide to testing runs as it is printed.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { PROJECT_FILES } from '../../packages/cli/src/templates/init-files.ts';
import { steadyFolder } from '../support/steady-folder.ts';
import { packageFiles, pathsIn, read, root } from './tree.ts';

const LIBRARY = {
  sluice: 'packages/server/src/sluice.ts',
  'sluice/client': 'packages/client/src/index.ts',
  'sluice/client/fold': 'packages/client/src/fold.ts',
  'sluice/testing': 'packages/testing/src/testing.ts',
};
/** What the fragments on the pages of errors take for granted. */
const GIVEN = `import { compile, createEngine, type CompiledFlow, type Engine } from 'sluice';
declare const engine: Engine, flow: CompiledFlow, text: string;
export const given: unknown = [compile, createEngine, engine, flow, text];
`;
/** The functions that the refund of the README calls. */
const PAY = `import type { Json } from 'sluice';
declare global {
  function pay(order: string, amount: number, key: string): Promise<Json>;
  function findOrder(order: string): Promise<Json>;
}
`;
/** What the README leaves to its reader: a model, the orders, and a payment provider. */
const WORLD = `const paid: unknown[] = [];
const findOrder = async (order: string) => ({ order, item: 'kettle', total: 49.5 });
const pay = async (order: string, amount: number, key: string) => {
  paid.push(amount);
  return { receipt: 're_' + order, keyed: key !== '' };
};
const replies = [
  { text: '', toolCalls: [{ name: 'orders.get', args: { order: 'A-1042' } }] },
  { text: 'It leaks.', toolCalls: [{ name: 'payments.refund', args: { order: 'A-1042', amount: 49.5 } }] },
  { text: '{ "status": "complete", "answer": "I refunded $49.50." }' },
  { text: '{ "ok": true, "problem": null, "missing": [], "confidence": 0.9 }' },
];
const model = async () => replies.shift()!;
`;

const pages = ['README.md', ...pathsIn('docs').filter((path) => path.endsWith('.md'))];
const snippets = pages.flatMap((page) =>
  blocksOf(page, 'ts').map((text, index) => ({ name: `${page.replace(/\W/g, '_')}_${index}.ts`, page, text })),
);

test('every snippet type-checks', { timeout: 240_000 }, () => {
  const dir = folder();
  for (const { name, page, text } of snippets) writeFileSync(join(dir, name), moduleOf(page, text));
  writeFileSync(join(dir, 'pay.ts'), PAY);
  writeFileSync(join(dir, 'wrong.ts'), "export const wrong: number = '';\n");
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  // The types of the build, if it is up to date: the compiler then reads 700 files less.
  const place = (name: string, path: string): string =>
    isBuilt() ? `dist/types/${name.split('/').slice(1).join('-') || 'index'}.d.ts` : path;
  const paths = Object.entries(LIBRARY).map(([name, path]) => [name, [join(root, place(name, path))]]);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
    ...{ target: 'es2024', lib: ['es2024'], module: 'nodenext', types: ['node'] },
    paths: Object.fromEntries(paths) as object,
  };
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', '.', '--singleThreaded'], { cwd: dir, encoding: 'utf8' });
  const mistakes = stdout.split('\n').filter((line) => /^\w+\.ts\(/.test(line));
  expect(snippets.length).toBeGreaterThan(8);
  expect(mistakes).toEqual([expect.stringContaining('wrong.ts(1,14)')]);
});

test.each([
  ['sluice', 'index'],
  ['sluice/testing', 'testing'],
  ['sluice/client', 'client'],
] as const)('every export of %s has an example in the reference', (library, file) => {
  const page = read(`docs/reference/${file}.md`);
  const sections = page.split(/^### /m).slice(1);
  const names = exportsOf(library);
  expect(names.length).toBeGreaterThan(10);
  const without = names.filter((name) => {
    const own = sections.filter(
      (section) =>
        section
          .split('\n')[0]
          ?.replaceAll('\\_', '_')
          .replace(/[(<\\].*$/, '')
          .trim() === name,
    );
    return !own.some((section) => section.includes('```ts')) && !page.includes(`Re-exports [${name}]`);
  });
  expect(without).toEqual([]);
});

test.each(['flow', 'workflow'])('%s: the TypeScript of the page has the hash of its YAML', async (notation) => {
  const page = `docs/dialects/${notation}.md`;
  const [yaml = ''] = blocksOf(page, 'yaml');
  const [text = ''] = blocksOf(page, 'ts');
  const file = join(folder(), `${notation}.ts`);
  writeFileSync(file, runnable(text));
  const { default: document } = (await import(pathToFileURL(file).href)) as { readonly default: object };
  const { flow } = compile(document);
  expect(flow?.hash).toBeDefined();
  expect(flow?.hash).toBe(compile(yaml).flow?.hash);
});

test('the refund of the README has at most 20 lines, and runs', { timeout: 240_000 }, () => {
  const dir = folder();
  const [program = ''] = blocksOf('README.md', 'ts');
  expect(program.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(20);
  const told =
    'console.log(JSON.stringify({ paid, output, receipts: receipts.map(({ tool, approvedBy }) => [tool, approvedBy]) }));';
  writeFileSync(
    join(dir, 'refund.ts'),
    `${WORLD}${program.replace('createEngine()', 'createEngine({ model })')}${told}\n`,
  );
  install(dir);
  const ran = spawnSync(process.execPath, ['refund.ts'], { cwd: dir, encoding: 'utf8' });
  expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
  expect(JSON.parse(ran.stdout)).toEqual({
    paid: [49.5],
    output: 'I refunded $49.50.',
    receipts: [
      ['orders.get', null],
      ['payments.refund', 'anna'],
    ],
  });
});

test('the program of the guide to testing runs', { timeout: 240_000 }, () => {
  const dir = folder();
  for (const [path, text] of Object.entries(PROJECT_FILES)) writeFileSync(join(dir, path), text);
  const [program = ''] = blocksOf('docs/guide/testing-your-flows.md', 'ts');
  writeFileSync(join(dir, 'desk.ts'), program);
  install(dir);
  // Inside of another test runner Node's own would report to it instead of failing by itself.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const ran = spawnSync(process.execPath, ['desk.ts'], { cwd: dir, env, encoding: 'utf8' });
  expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
  expect(ran.stdout).toContain('nothing is paid if a person rejects the refund');
});

test('the matchers of the guide to evaluating run under vitest', { timeout: 240_000 }, () => {
  const dir = folder();
  for (const [path, text] of Object.entries(PROJECT_FILES)) writeFileSync(join(dir, path), text);
  const [program = ''] = blocksOf('docs/guide/evaluating.md', 'ts');
  writeFileSync(join(dir, 'support.test.ts'), program);
  install(dir);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const ran = spawnSync(process.execPath, [vitest, 'run', '--root', dir], { cwd: dir, encoding: 'utf8' });
  expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
  expect(ran.stdout).toContain('1 passed');
});

function isBuilt(): boolean {
  const stamp = statSync(join(root, 'dist/types/index.d.ts'), { throwIfNoEntry: false });
  return stamp !== undefined && packageFiles().every(({ path }) => statSync(join(root, path)).mtimeMs <= stamp.mtimeMs);
}

function blocksOf(page: string, language: string): string[] {
  return [...read(page).matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, text = '']) => text,
  );
}

/** A snippet with imports of its own is a module, and takes only the engine for granted. */
function asFragment(text: string): string {
  if (text.startsWith('import ')) return `${text}declare const engine: import('sluice').Engine;\n`;
  return `${GIVEN}export async function example() {\n${text}}\n`;
}

/** The package, as an installation puts it: the bundle, its dependency, and the test runner of the project. */
function install(dir: string): void {
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, 'sluice'), { recursive: true });
  for (const path of ['package.json', 'dist/bundle'])
    cpSync(join(root, path), join(modules, 'sluice', path), { recursive: true });
  for (const name of ['@pydantic', 'vitest', 'zod']) symlinkSync(join(root, 'node_modules', name), join(modules, name));
}

/** The sources stand in for the package, so that the document is made by the same modules as the test's own. */
function runnable(text: string): string {
  return Object.entries(LIBRARY).reduce(
    (all, [name, path]) => all.replaceAll(`from '${name}'`, `from '${pathToFileURL(join(root, path)).href}'`),
    text,
  );
}

function moduleOf(page: string, text: string): string {
  if (page === 'docs/reference/client.md') return asClientExample(text);
  if (page.startsWith('docs/reference/')) return asExample(text);
  return page.startsWith('docs/errors/') ? asFragment(text) : text;
}

/** The example of an export of the client has a client and a run of it. */
function asClientExample(text: string): string {
  const own = exportsOf('sluice/client').filter((name) => name !== 'connect');
  return `import { connect, ${own.join(', ')} } from 'sluice/client';
import type { Client } from 'sluice/client';
declare const sluice: Client;
declare const run: Run<{ paid: number }>;
declare function show(...shown: unknown[]): void;
export async function example() {
${text}}
export const used = [connect, sluice, run, show, ${own.filter((name) => name.endsWith('Error')).join(', ')}];
`;
}

/** The example of an export may use every other export, and the definitions of `reference-given.txt`. */
function asExample(text: string): string {
  const own = exportsOf('sluice');
  const more = exportsOf('sluice/testing').filter((name) => !own.includes(name));
  return `import * as z from 'zod';
import { ${own.join(', ')} } from 'sluice';
import { ${more.join(', ')} } from 'sluice/testing';
${read('test/tidy/reference-given.txt')}
export async function example() {
${text}}
`;
}

function exportsOf(library: keyof typeof LIBRARY): readonly string[] {
  const text = read(LIBRARY[library]);
  // The package is the library and more.
  const whole = text.includes("export * from '@sluice-internal/library'") ? read('packages/library/src/index.ts') : '';
  const names = [...`${text}\n${whole}`.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()])),
  );
  return [...new Set(names)];
}

function folder(): string {
  const dir = steadyFolder('sluice-docs');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
