/**
 * Joins the sources and the libraries that every start needs into a few files under `dist/bundle`. Node then opens 20 files
 * instead of 600 when a command starts. Optional packages, and those that few runs need, stay outside. The files are CommonJS,
 * so that the command can load them with the compiled code of an earlier start (`bin/load.cjs`). `index.js` and `testing.js`
 * export them to ES modules.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown, type OutputChunk } from 'rolldown';
import { sourcePaths } from './sources.ts';
import { root } from './tool.ts';

const OUT = join(root, 'dist/bundle');
const STAMP = join(OUT, 'LICENSES.txt');

const KEPT_MS = 600_000;

/** `tidy` removes all files of earlier builds. Otherwise young ones stay, for commands that still run. */
export async function bundle({ tidy }: { readonly tidy: boolean }): Promise<void> {
  const build = await rolldown({
    input: {
      index: join(root, 'packages/server/src/sluice.ts'),
      testing: join(root, 'packages/testing/src/testing.ts'),
      cli: join(root, 'packages/cli/src/main.ts'),
      quickjs: join(root, 'packages/tools/src/calls/quickjs.ts'),
    },
    platform: 'node',
    external: [...outside()],
    transform: { target: 'es2024' },
    plugins: [{ name: 'commander', transform: withoutProcesses }],
  });
  const { output } = await build.generate({
    format: 'cjs',
    comments: false,
    strict: true,
    entryFileNames: '[name]-[hash].cjs',
    chunkFileNames: '[name]-[hash].cjs',
  });
  await build.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  const pages = await forBrowsers();
  mkdirSync(OUT, { recursive: true });
  // The entries come last, so that each file finds the files that it imports.
  const files = [
    ...chunks.map(({ fileName, code }) => [fileName, ascii(code)] as const),
    ...chunks.flatMap(entryOf),
    ...pages,
  ];
  for (const [name, code] of files) write(join(OUT, name), code);
  write(STAMP, licences(chunks));
  const current = new Set(['LICENSES.txt', ...files.map(([name]) => name)]);
  for (const file of readdirSync(OUT)) {
    const isOld = tidy || Date.now() - statSync(join(OUT, file)).mtimeMs > KEPT_MS;
    if (isOld && !current.has(file)) rmSync(join(OUT, file), { force: true });
  }
}

/** The client and its fold are modules of one file each, without anything of Node: browsers and other runtimes load them. */
async function forBrowsers(): Promise<readonly (readonly [string, string])[]> {
  const files: (readonly [string, string])[] = [];
  for (const [name, source] of Object.entries({ client: 'index.ts', 'client-fold': 'fold.ts' })) {
    const build = await rolldown({
      input: { [name]: join(root, 'packages/client/src', source) },
      platform: 'neutral',
      transform: { target: 'es2022' },
    });
    const { output } = await build.generate({
      format: 'esm',
      comments: false,
      minify: true,
      entryFileNames: '[name].js',
    });
    await build.close();
    for (const file of output) if (file.type === 'chunk') files.push([file.fileName, file.code]);
  }
  return files;
}

/** Commander loads `node:child_process` for commands that are programs of their own. Sluice has none, and every start would wait. */
function withoutProcesses(code: string, id: string): string | undefined {
  if (!id.endsWith('/commander/lib/command.js')) return undefined;
  const eager = "import childProcess from 'node:child_process';";
  if (!code.includes(eager)) throw new Error('commander no longer imports node:child_process as the bundle expects');
  return code.replace(eager, 'const childProcess = {};');
}

/** The file with the name that the package and the command know: a module for importers, a stub for the command. */
function entryOf({ isEntry, name, fileName, exports }: OutputChunk): readonly (readonly [string, string])[] {
  if (!isEntry || name === 'quickjs') return [];
  if (name === 'cli') return [['cli.cjs', `module.exports = require(${JSON.stringify(`./${fileName}`)});\n`]];
  const names = exports.map((each) => `export const ${each} = bundle.${each};`);
  return [[`${name}.js`, [`import bundle from ${JSON.stringify(`./${fileName}`)};`, ...names, ''].join('\n')]];
}

/**
 * Node reads a file of ASCII characters several times faster. An escape means the same in texts and patterns, but not in raw
 * templates: files with such templates stay as they are.
 */
function ascii(code: string): string {
  if (/String\.raw`[^`]*[^\u0000-\u007f]/.test(code)) return code;
  return code.replaceAll(/[^\u0000-\u007f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** True if no source is newer than the bundle. */
export function isBundled(): boolean {
  if (!existsSync(STAMP)) return false;
  const built = statSync(STAMP).mtimeMs;
  return ['package.json', 'package-lock.json', 'scripts/bundle.ts', ...sourcePaths().filter(isBundledSource)].every(
    (file) => statSync(join(root, file)).mtimeMs <= built,
  );
}

/** The pages are built on their own. */
function isBundledSource(path: string): boolean {
  return !path.startsWith('packages/studio/');
}

/** A process that starts at this moment sees the old file or the new one. */
function write(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, file);
}

/** Everything that stays a package: dependencies and optional peers, except zod, which is also needed at once. */
function outside(): readonly (string | RegExp)[] {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly [kind: string]: object;
  };
  const names = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => name !== 'zod');
  return [/^node:/, ...names.map((name) => new RegExp(`^${name}(/|$)`))];
}

/** The licences of the libraries inside, which ask to travel with their code. */
function licences(chunks: readonly OutputChunk[]): string {
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []);
  return [...new Set(folders)]
    .toSorted()
    .map((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        readonly [key: string]: string;
      };
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
      return `${name} ${version}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
