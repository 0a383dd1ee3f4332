/**
 * Imports modules of documents, and checks every file that Node loads for them: also files that are imported later and by a
 * computed name. A file that a run is not pinned to, or whose content is another one, is refused.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Pins } from '@sluice-internal/kernel/ir';
import * as nodeModule from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { codeOf, isEngineFile } from './closure.ts';
import { hashOf, readBytes, realPath } from './files.ts';

type Exports = { readonly [name: string]: unknown };

/** Imports a module of a run. Without pins, as before a run starts, nothing is compared. Throws if code has changed. */
export async function loadCode(file: string, pins?: Pins): Promise<Exports> {
  watchLoads();
  const specifier = pathToFileURL(file).href;
  const url = pathToFileURL(realPath(file)).href;
  member(url);
  if (pins?.modules !== undefined) trust(pins.modules, url);
  entries.set(specifier, pins?.modules !== undefined || member(url).isPinned);
  return (await import(specifier)) as Exports;
}

/** The function that a reference such as `./tools.ts#send` names. */
export async function loadFunction(reference: string, documentDir: string, pins: Pins | undefined): Promise<unknown> {
  const [path = '', name = ''] = reference.split('#');
  const file = resolve(documentDir, path);
  const module = await loadCode(file, pins).catch((error: unknown) => {
    throw new Error(`\`${file}\` cannot be loaded: ${reasonOf(error)}`);
  });
  const found = Object.hasOwn(module, name) ? module[name] : undefined;
  if (typeof found === 'function') return found;
  throw new Error(`\`${file}\` exports no function \`${name}\``);
}

/** Kept, because the bundle computes it by a load, which a hook must not do. */
const OWN_URL = import.meta.url;

/** Modules that this file imports, by URL, and whether they are pinned. A link on the way may have changed since `realPath`. */
const entries = new Map<string, boolean>();

/** From now on, the code that the module `file` loads is compared with the hashes. */
export function pinLoaded(file: string, modules: NonNullable<Pins['modules']>): void {
  trust(modules, pathToFileURL(realPath(file)).href);
}

/** Changed files and packages, and those that are loaded now for the first time. */
export function changesSince(modules: NonNullable<Pins['modules']>): readonly string[] {
  return differences(modules, codeOf(Object.keys(modules)).hashes);
}

function differences(pinned: NonNullable<Pins['modules']>, now: NonNullable<Pins['modules']>): readonly string[] {
  return [...new Set([...Object.keys(pinned), ...Object.keys(now)])].filter((path) => pinned[path] !== now[path]);
}

interface Member {
  isPinned: boolean;
  readonly loads: Set<string>;
}
/** Modules of documents and all that they have loaded, by URL. */
const members = new Map<string, Member>();
/** The hashes of what this process has loaded, by path. Node keeps a loaded module until the process ends. */
const loaded = new Map<string, string>();
/** The hashes that the runs of this process are pinned to, by path. */
const allowed = new Map<string, Set<string>>();
/** Pins that were compared with the disk. Later loads are compared one by one. */
const compared = new Map<string, ReadonlyMap<string, string>>();

function trust(modules: NonNullable<Pins['modules']>, entry: string): void {
  const key = JSON.stringify(modules);
  let files = CAN_WATCH ? compared.get(key) : undefined;
  if (files === undefined) {
    const now = codeOf(Object.keys(modules));
    const changed = differences(modules, now.hashes);
    if (changed.length > 0) throw new Error(`${quoted(changed)} changed since the run started`);
    files = now.files;
    compared.set(key, files);
    for (const [path, hash] of files) allowed.set(path, (allowed.get(path) ?? new Set()).add(hash));
  }
  const stale = [...loaded].filter(([path, hash]) => (files.get(path) ?? hash) !== hash).map(([path]) => path);
  if (stale.length > 0)
    throw new Error(`${quoted(stale)} changed after this process loaded it; start the process again`);
  pin(entry);
}

function quoted(paths: readonly string[]): string {
  return `${paths.map((path) => `\`${path}\``).join(', ')} ${paths.length === 1 ? 'has' : 'have'}`;
}

function member(url: string): Member {
  let known = members.get(url);
  if (known === undefined) members.set(url, (known = { isPinned: false, loads: new Set() }));
  return known;
}

function pin(entry: string): void {
  const queue = [entry];
  for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
    const each = member(url);
    if (each.isPinned) continue;
    each.isPinned = true;
    queue.push(...each.loads);
  }
}

/** Node 22.15 and later can observe loads. Before, only the files on disk are compared, before each call. */
const CAN_WATCH = typeof nodeModule.registerHooks === 'function';
let isWatching = false;

function watchLoads(): void {
  if (isWatching || !CAN_WATCH) return;
  isWatching = true;
  nodeModule.registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const { parentURL } = context;
      const parent = parentURL === undefined ? undefined : members.get(withoutQuery(parentURL));
      const entry = parentURL === OWN_URL ? entries.get(specifier) : undefined;
      if ((parent === undefined && entry === undefined) || !/^(?:file|data):/.test(resolved.url)) return resolved;
      const url = withoutQuery(resolved.url);
      if (url.startsWith('file:') && isEngineFile(fileURLToPath(url))) return resolved;
      parent?.loads.add(url);
      member(url);
      if (parent?.isPinned === true || entry === true) reach(url);
      return resolved;
    },
    load(url, context, next) {
      const known = members.get(withoutQuery(url));
      const result = next(url, context);
      if (known !== undefined && url.startsWith('file:')) check(url, result.source, known.isPinned);
      return result;
    },
  });
}

/** A file that Node has loaded before is not loaded again, and a native one is loaded without the hook. */
function reach(url: string): void {
  pin(url);
  if (!url.startsWith('file:')) return;
  const path = fileURLToPath(url);
  const hash = loaded.get(path);
  if (hash !== undefined) demandPinned(path, hash);
  else if (url.endsWith('.node')) check(url, undefined, true);
}

function withoutQuery(url: string): string {
  return url.startsWith('file:') ? url.replace(/[?#].*$/, '') : url;
}

function check(url: string, source: unknown, isPinned: boolean): void {
  const path = fileURLToPath(withoutQuery(url));
  const hash = hashOf(path, bytesOf(source) ?? readBytes(path));
  if (isPinned) demandPinned(path, hash);
  loaded.set(path, hash);
}

function demandPinned(path: string, hash: string): void {
  if (allowed.get(path)?.has(hash) !== true)
    throw new Error(
      allowed.has(path)
        ? `\`${path}\` has changed since the run started`
        : `the run is not pinned to \`${path}\`: import it by its name, written as a literal`,
    );
}

function bytesOf(source: unknown): Buffer | string | undefined {
  if (typeof source === 'string') return source;
  if (source instanceof ArrayBuffer) return Buffer.from(source);
  return ArrayBuffer.isView(source) ? Buffer.from(source.buffer, source.byteOffset, source.byteLength) : undefined;
}
