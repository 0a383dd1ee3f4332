/**
 * Builds the pages of `packages/studio` into `dist/studio`, which the server sends. Everything is a file of its own: the policy of the pages
 * allows no text inside the page, and no address of another server.
 */
import { existsSync, readFileSync, readdirSync, statSync, appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Rolldown } from 'vite';
import { root } from './tool.ts';

const SOURCE = join(root, 'packages/studio');
const OUT = join(root, 'dist/studio');
const STAMP = join(OUT, 'licences.txt');
const FONTS = ['@fontsource-variable/inter', '@fontsource-variable/jetbrains-mono'];

/** What a browser loads before the first page is there, and the largest page, in KiB after compression. */
const FIRST_LOAD_MAX = 400;

type Built = readonly (Rolldown.OutputChunk | Rolldown.OutputAsset)[];

/** Throws if a first visit would load more than it may. Returns what it loads, in KiB. */
export async function buildStudio(): Promise<number> {
  const { build } = await import('vite');
  const result = await build({
    ...{ root: SOURCE, configFile: false, logLevel: 'warn' },
    build: {
      ...{ outDir: OUT, emptyOutDir: true, assetsInlineLimit: 0, target: 'es2022', chunkSizeWarningLimit: 1000 },
      modulePreload: { polyfill: false },
      license: { fileName: 'licences.txt' },
      rolldownOptions: {
        onwarn: (warning, show) => {
          if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') show(warning);
        },
      },
    },
  });
  const output = (Array.isArray(result) ? result : [result]).flatMap((each) => ('output' in each ? each.output : []));
  for (const name of FONTS) appendFileSync(STAMP, `\n## ${name}\n\n${licenceOf(name)}\n`);
  const size = firstLoad(output);
  if (size > FIRST_LOAD_MAX)
    throw new Error(`the first visit of the pages loads ${size} KiB, and may load ${FIRST_LOAD_MAX} KiB`);
  return size;
}

/** True if no source of the pages is newer than what was built. */
export function isStudioBuilt(): boolean {
  if (!existsSync(STAMP)) return false;
  const built = statSync(STAMP).mtimeMs;
  const folders = ['studio', 'client/src', 'wire/src', 'kernel/src'].map((name) => join(root, 'packages', name));
  const files = folders.flatMap((folder) => [
    folder,
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  ]);
  return [join(root, 'package-lock.json'), join(root, 'scripts/studio.ts'), ...files].every(
    (file) => statSync(file).mtimeMs <= built,
  );
}

/** The entry, all that it needs at once, styles, fonts, and the largest page. */
function firstLoad(output: Built): number {
  const chunks = output.filter((file) => file.type === 'chunk');
  const named = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const closure = (chunk: Rolldown.OutputChunk, seen = new Set<string>()): ReadonlySet<string> => {
    seen.add(chunk.fileName);
    for (const name of chunk.imports) {
      const next = named.get(name);
      if (next !== undefined && !seen.has(name)) closure(next, seen);
    }
    return seen;
  };
  const entry = chunks.find(({ isEntry }) => isEntry);
  if (entry === undefined) throw new Error('the pages have no entry');
  const first = closure(entry);
  const pages = chunks.filter(({ isDynamicEntry, name }) => isDynamicEntry && name.endsWith('-page'));
  const sizeOf = (names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + gzipSync(named.get(name)?.code ?? '').length, 0);
  const page = Math.max(0, ...pages.map((chunk) => sizeOf([...closure(chunk)].filter((name) => !first.has(name)))));
  const assets = output.filter((file) => file.type === 'asset');
  const styles = assets.filter(({ fileName }) => fileName.endsWith('.css'));
  const fonts = assets.filter(({ fileName }) => fileName.endsWith('.woff2'));
  const others =
    styles.reduce((sum, { source }) => sum + gzipSync(source).length, 0) +
    fonts.reduce((sum, { source }) => sum + source.length, 0);
  return Math.ceil((sizeOf(first) + page + others) / 1024);
}

function licenceOf(name: string): string {
  return readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8');
}

if (import.meta.main) process.stdout.write(`a first visit loads ${await buildStudio()} KiB\n`);
