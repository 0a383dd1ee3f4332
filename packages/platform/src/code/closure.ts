/**
 * The code that modules reach: their own files, and the packages that they import. The list is too long rather than too short:
 * every literal that can name a file or a package counts, also in a comment. `load.ts` refuses a file that is not in the list.
 */
import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Json } from '@sluice-internal/kernel/expr';
import { PACKAGE_ROOT } from '../packages/package-root.ts';
import { filesOfPackage, hashOf, isFolder, kindOf, readBytes, realPath } from './files.ts';

export interface Code {
  /** The hash of each file of the modules and of each package as a whole, by absolute path. */
  readonly hashes: { readonly [path: string]: string };
  /** The hash of each single file, also inside packages, by its path without symbolic links. */
  readonly files: ReadonlyMap<string, string>;
}

/** `roots` are files, or folders of packages. A file that does not exist has the hash of an empty text. */
export function codeOf(roots: readonly string[]): Code {
  const hashes: { [path: string]: string } = {};
  const files = new Map<string, string>();
  const queue = [...roots];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (Object.hasOwn(hashes, path)) continue;
    if (isFolder(path)) {
      const { hash, files: own } = filesOfPackage(path);
      hashes[path] = hash;
      for (const [file, each] of own) files.set(file, each);
      queue.push(...dependenciesOf(path));
      continue;
    }
    const data = readBytes(path);
    const hash = hashOf(path, data);
    const real = realPath(path);
    hashes[path] = hash;
    files.set(real, hash);
    if (isText(real))
      for (const specifier of specifiersIn(data.toString('utf8'))) queue.push(...targetsOf(specifier, real));
  }
  return { hashes, files };
}

/** After a keyword, or as the only argument of a call: a path or the name of a package. */
const NAMED =
  /(?:\b(?:from|import)\b\s*(?:\(\s*)?|[\w$\])]\s*\(\s*)(?:\/\*[^*]*\*\/\s*)?(?:(['"])([^'"`\n]+)\1|`([^'"`\n$]+)`)/g;
/** Anywhere: a path to code. */
const PATH = /(['"`])((?:\.{1,2}\/|\/|file:\/\/|#)[^'"`\n$]*)\1/g;
const CODE = /\.(?:[cm]?[jt]s|[jt]sx|json|node|wasm)$/;

function specifiersIn(text: string): ReadonlySet<string> {
  const named = [...text.matchAll(NAMED)]
    .filter((match) => !isData(match))
    .map(([, , quoted, template]) => quoted ?? template ?? '');
  const paths = [...text.matchAll(PATH)].map(([, , path = '']) => path).filter((path) => !path.endsWith('.json'));
  return new Set([...named, ...paths].map((each) => each.replace(/[?].*$/, '')));
}

/** True for a JSON file that the module reads or writes, as in `readFileSync('./a.json')` and `new URL('./a.json', base)`. */
function isData({ 0: all, index, input }: RegExpExecArray): boolean {
  if (!/\.json['"`]$/.test(all) || /^(?:from|import)\b/.test(all)) return false;
  const called = input.slice(Math.max(0, index - 8), index + 1);
  return /(?:File|Sync|URL)$/.test(called) || /^\s*,/.test(input.slice(index + all.length, index + all.length + 20));
}

function isText(file: string): boolean {
  return !/\.(?:json|node|wasm)$/.test(file);
}

/** The files and folders of packages that an import in `file` can mean, under `import` and under `require`. */
function targetsOf(specifier: string, file: string): readonly string[] {
  if (isBuiltin(specifier)) return [];
  if (specifier.startsWith('file:')) return pathTargets(urlPath(specifier), file);
  if (/^(?:\.{1,2}(?:\/|$)|\/)/.test(specifier)) return pathTargets(resolve(dirname(file), specifier), file);
  if (specifier.startsWith('#')) return mappedTargets(specifier, file);
  const name = /^(?:@[\w.~-]+\/)?[\w.~-]+(?=\/|$)/.exec(specifier)?.[0];
  return name === undefined ? [] : packageTargets(name, specifier, file);
}

/** A path as it is, and as `require` completes it: with an extension, or with the main file of a folder. */
function pathTargets(path: string, file: string): readonly string[] {
  const found = [path, required(path, file)].filter(
    (each) => each !== undefined && CODE.test(each) && kindOf(each) === 'file',
  );
  const files = [...new Set(found)].map((each) => realPath(each as string));
  return files.filter((real) => !isEngineFile(real)).map(placed);
}

/** A file of a package counts as the whole package, because packages load files by computed names. */
function placed(real: string): string {
  return packageRoot(real) ?? real;
}

function required(specifier: string, file: string): string | undefined {
  try {
    return createRequire(file).resolve(specifier);
  } catch {
    return undefined;
  }
}

function urlPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return '';
  }
}

/** `…/node_modules/name` or `…/node_modules/@scope/name`. Undefined for a file outside of packages. */
function packageRoot(path: string): string | undefined {
  const marker = `${sep}node_modules${sep}`;
  const start = path.lastIndexOf(marker);
  if (start < 0) return undefined;
  const parts = path.slice(start + marker.length).split(sep);
  return join(path.slice(0, start + marker.length), ...parts.slice(0, parts[0]?.startsWith('@') === true ? 2 : 1));
}

/** An installed package, also one that is a link to a folder of the project, or the package that the file itself is part of. */
function packageTargets(name: string, specifier: string, file: string): readonly string[] {
  const own = manifestOf(file);
  if (own?.manifest['name'] === name)
    return declaredTargets(own.manifest['exports'], `.${specifier.slice(name.length)}`, own, file);
  const folder = installedAt(name, dirname(file));
  if (folder === undefined || isEngine(folder)) return [];
  const linked = packageRoot(folder) === undefined ? manifestIn(folder) : undefined;
  if (linked === undefined) return [folder];
  // A linked package is code of the project: its files are followed one by one.
  const path = `.${specifier.slice(name.length)}`;
  const main = required(specifier, file);
  const entries = declaredTargets(linked['exports'], path, { folder, manifest: linked }, file);
  const reached = [...entries, ...(main === undefined ? [] : [realPath(main)])];
  return reached.length === 0 ? [folder] : reached;
}

function installedAt(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (isFolder(folder)) return realPath(folder);
    if (dirname(at) === at) return undefined;
  }
}

const ENGINE = realPath(PACKAGE_ROOT);

/** The engine itself is not code of the document. */
function isEngine(folder: string): boolean {
  return relative(ENGINE, folder) === '';
}

/** True for a file of the engine's program, by its path without symbolic links. Its examples are documents. */
export function isEngineFile(real: string): boolean {
  const [first, , third] = relative(ENGINE, real).split(sep);
  return first === 'dist' || (first === 'packages' && third === 'src');
}

/** Packages that a package declares, as far as they are installed. */
function dependenciesOf(folder: string): readonly string[] {
  const manifest = manifestIn(folder) ?? {};
  const names = ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((key) =>
    Object.keys((manifest[key] ?? {}) as object),
  );
  return names.flatMap((name) => installedAt(name, folder) ?? []).filter((each) => !isEngine(each));
}

type Manifest = { readonly [key: string]: Json | undefined };
interface OwnPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

function manifestOf(file: string): OwnPackage | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = manifestIn(folder);
    if (manifest !== undefined) return { folder, manifest };
    if (dirname(folder) === folder) return undefined;
  }
}

function manifestIn(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  } catch {
    return undefined;
  }
}

/** The targets of `#name` in the `imports` of the package. */
function mappedTargets(specifier: string, file: string): readonly string[] {
  const own = manifestOf(file);
  return own === undefined ? [] : declaredTargets(own.manifest['imports'], specifier, own, file);
}

/** Every target of a name in `imports` or `exports`, under any condition. */
function declaredTargets(map: Json | undefined, name: string, { folder }: OwnPackage, file: string): readonly string[] {
  if (map === undefined || map === null) return [];
  const isByName = typeof map === 'object' && Object.keys(map).some((key) => /^[.#]/.test(key));
  const entries = Object.entries(isByName ? (map as object) : { '.': map }) as [string, Json][];
  return entries.flatMap(([key, target]) => {
    const [before = '', after] = key.split('*');
    const isMatch = after === undefined ? key === name : name.startsWith(before) && name.endsWith(after);
    if (!isMatch) return [];
    const star = after === undefined ? '' : name.slice(before.length, name.length - after.length);
    return textsIn(target).flatMap((text) => {
      const path = text.replaceAll('*', star);
      return path.startsWith('./')
        ? pathTargets(join(folder, path), file)
        : targetsOf(path, join(folder, 'package.json'));
    });
  });
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  return value === null || typeof value !== 'object' ? [] : Object.values(value).flatMap((each) => textsIn(each));
}
