/**
 * Writes the types of the published package. The compiler leaves the declarations of every package in a cache, where they name
 * each other as packages that nobody can install. Here those that the public interface reaches are copied to `dist/types`. An
 * import of another package becomes one of the file that declares the name, so that no more than that comes along.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { root } from './tool.ts';

const CACHE = join(root, 'node_modules/.cache/types');
const OUT = join(root, 'dist/types');
/** The public interfaces, and where they are published. */
const ENTRIES: { readonly [file: string]: string } = {
  'server/sluice.d.ts': 'index.d.ts',
  'testing/testing.d.ts': 'testing.d.ts',
  'client/index.d.ts': 'client.d.ts',
  'client/fold.d.ts': 'client-fold.d.ts',
};
const INTERNAL = '@sluice-internal/';
/** `import type { A } from './a.ts';`, also as an export. */
const STATEMENT = /^((?:import|export)(?: type)?) \{([^}]*)\} from ['"]([^'"]+)['"];$/gm;
/** `export * from './a.ts';` */
const STAR = /^export \* from ['"]([^'"]+)['"];$/gm;
/** `import './a.ts';`, for what the file does and not for its types. */
const EFFECT = /^import ['"][^'"]+['"];\n/gm;
/** `import("./a.ts").A` */
const INLINE = /\bimport\(['"]([^'"]+)['"]\)\.(\w+)/g;

/** A file that is right stays as it is: other commands may read it during a build. */
export function writeDeclarations(): void {
  const written = new Map(publicDeclarations().map(({ file, text }) => [placeOf(file), text]));
  for (const path of existingIn(OUT)) if (!written.has(path)) rmSync(join(OUT, path));
  for (const [path, text] of written) {
    const place = join(OUT, path);
    if (existsSync(place) && readFileSync(place, 'utf8') === text) continue;
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, text);
  }
}

function existingIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.d.ts'))
    .map((path) => path.replaceAll('\\', '/'));
}

/** The declarations that the entries reach. */
function publicDeclarations(): readonly { readonly file: string; readonly text: string }[] {
  const waiting = Object.keys(ENTRIES);
  const seen = new Set(waiting);
  const found: { readonly file: string; readonly text: string }[] = [];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const { text, reached } = relocated(file);
    for (const each of reached) if (!seen.has(each)) waiting.push(each);
    for (const each of reached) seen.add(each);
    found.push({ file, text });
  }
  return found;
}

/** The declarations of a file with relative imports, and the files that they name. */
function relocated(here: string): { readonly text: string; readonly reached: ReadonlySet<string> } {
  const reached = new Set<string>();
  const name = (file: string): string => {
    reached.add(file);
    const path = posix.relative(posix.dirname(placeOf(here)), placeOf(file)).replace(/\.d\.ts$/, '.js');
    return path.startsWith('.') ? path : `./${path}`;
  };
  const text = readFileSync(join(CACHE, here), 'utf8')
    .replaceAll(STATEMENT, (all, keyword: string, list: string, specifier: string) => {
      const files = Map.groupBy(namesIn(list), (each) => declaring(here, specifier, each));
      if (files.has(null)) return all;
      return [...files]
        .map(([file, names]) => `${keyword} { ${names.join(', ')} } from '${name(file ?? '')}';`)
        .join('\n');
    })
    .replaceAll(EFFECT, '')
    .replaceAll(STAR, (_, specifier: string) => `export * from '${name(entryFile(here, specifier))}';`)
    .replaceAll(INLINE, (all, specifier: string, type: string) => {
      const file = declaring(here, specifier, type);
      return file === null ? all : `import('${name(file)}').${type}`;
    });
  if (text.includes(INTERNAL)) throw new Error(`the declarations of ${here} name an internal package`);
  return { text, reached };
}

function placeOf(file: string): string {
  return ENTRIES[file] ?? file;
}

function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** The file that declares an imported name; null for a library. */
function declaring(here: string, specifier: string, imported: string): string | null {
  if (specifier.startsWith('.'))
    return posix.join(posix.dirname(here), specifier).replace(/(?<!\.d)\.(?:js|ts)$/, '.d.ts');
  if (!specifier.startsWith(INTERNAL)) return null;
  const entry = entryOf(specifier);
  const wanted = imported.replace(/^type /, '').split(' as ')[0];
  for (const [, , list = '', from = ''] of readFileSync(join(CACHE, entry), 'utf8').matchAll(STATEMENT))
    if (namesIn(list).some((each) => each.split(' as ').at(-1) === wanted)) return declaring(entry, from, imported);
  return entry;
}

/** The file that a whole export names. */
function entryFile(here: string, specifier: string): string {
  if (!specifier.startsWith('.')) return entryOf(specifier);
  return posix.join(posix.dirname(here), specifier).replace(/(?<!\.d)\.(?:js|ts)$/, '.d.ts');
}

/** The declarations of an entry of a package. */
function entryOf(specifier: string): string {
  const [name = '', ...entry] = specifier.slice(INTERNAL.length).split('/');
  const { exports } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    readonly exports: { readonly [entry: string]: string };
  };
  const source = exports[['.', ...entry].join('/')];
  if (source === undefined) throw new Error(`${specifier} is no entry of packages/${name}`);
  return posix.join(name, source.replace('./src/', '').replace(/\.ts$/, '.d.ts'));
}
