/**
 * Joins the sources and the libraries that every start needs into a few files under `dist/bundle`. Node then opens 10 files
 * instead of 600 when a command starts. Optional packages, and those that few runs need, stay outside.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown, type OutputChunk } from 'rolldown';
import { root } from './tool.ts';

const OUT = join(root, 'dist/bundle');
const STAMP = join(OUT, 'LICENSES.txt');

const KEPT_MS = 600_000;

/** `tidy` removes all files of earlier builds. Otherwise young ones stay, for commands that still run. */
export async function bundle({ tidy }: { readonly tidy: boolean }): Promise<void> {
  const build = await rolldown({
    input: {
      index: join(root, 'src/index.ts'),
      testing: join(root, 'src/testing.ts'),
      cli: join(root, 'src/surfaces/cli/main.ts'),
      quickjs: join(root, 'src/effects/tools/quickjs.ts'),
    },
    platform: 'node',
    external: [...outside()],
    transform: { target: 'es2024' },
  });
  const { output } = await build.generate({ format: 'esm', chunkFileNames: '[name]-[hash].js' });
  await build.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  mkdirSync(OUT, { recursive: true });
  // The entries come last, so that each file finds the files that it imports.
  for (const { fileName, code } of chunks.toSorted((a, b) => Number(a.isEntry) - Number(b.isEntry)))
    write(join(OUT, fileName), code);
  write(STAMP, licences(chunks));
  const current = new Set(['LICENSES.txt', ...chunks.map(({ fileName }) => fileName)]);
  for (const file of readdirSync(OUT)) {
    const isOld = tidy || Date.now() - statSync(join(OUT, file)).mtimeMs > KEPT_MS;
    if (isOld && !current.has(file)) rmSync(join(OUT, file), { force: true });
  }
}

/** True if no source is newer than the bundle. */
export function isBundled(): boolean {
  if (!existsSync(STAMP)) return false;
  const built = statSync(STAMP).mtimeMs;
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map((file) => `src/${file}`);
  return ['package.json', 'src', ...sources].every((file) => statSync(join(root, file)).mtimeMs <= built);
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
