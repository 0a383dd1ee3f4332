/**
 * Pins a run to the code that its document loads. The hash of every module, and of every file that it imports by a relative
 * path, is recorded when the run starts. Later the same code is used, or the operator accepts the change.
 */
import { hash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Json } from '../expr/json.ts';
import type { Pins } from '../ir/events.ts';
import type { CompiledFlow } from '../ir/nodes.ts';
import { SluiceError } from '../runtime/errors.ts';

export interface Folders {
  readonly documentDir: string;
  /** One folder for all runs; undefined for a folder per run. */
  readonly workDir: string | undefined;
}

/** Throws when a module lies in the work directory, where an agent could replace it. */
export function pinsOf(flow: CompiledFlow, { documentDir, workDir }: Folders): Pins {
  const root = resolve(documentDir);
  const modules = hashModules(moduleFiles(flow, root));
  if (workDir === undefined) return { documentDir: root, workRoot: resolve('.sluice', 'work'), modules };
  const folder = realPath(resolve(workDir));
  for (const file of Object.keys(modules)) {
    const path = relative(folder, realPath(file));
    if (path !== '' && path !== '..' && !path.startsWith(`..${sep}`))
      throw new SluiceError(
        'unsafe-module',
        `the module \`${file}\` is in the work directory \`${workDir}\`, where an agent can change it`,
        'choose another `--work-dir`, or move the module',
      );
  }
  return { documentDir: root, workDir: folder, modules };
}

/** Also pins a run to the module that exports its definition. */
export function withDefinition(pins: Pins, file: string, functions: readonly string[]): Pins {
  const definition = resolve(file);
  return { ...pins, functions, definition, modules: { ...pins.modules, ...hashModules([definition]) } };
}

/** The files that are not what they were when the run started. */
export function changedModules({ modules = {} }: Pins): readonly string[] {
  return Object.entries(modules).flatMap(([file, pinned]) => (hashFile(file) === pinned ? [] : [file]));
}

/** The same files with their hashes of now. */
export function acceptedModules({ modules = {} }: Pins): { readonly [file: string]: string } {
  return hashModules(Object.keys(modules));
}

export function workDirOf(pins: Pins | undefined, run: string, otherwise: string): string {
  return pins?.workDir ?? (pins?.workRoot === undefined ? otherwise : join(pins.workRoot, run));
}

/** Gives a fork a copy of the folder of its parent, where every run has its own. Files are as they are now. */
export function copyWorkDir(pins: Pins | undefined, parent: string, run: string): void {
  if (pins?.workRoot === undefined || pins.workDir !== undefined) return;
  const from = join(pins.workRoot, parent);
  if (existsSync(from)) cpSync(from, join(pins.workRoot, run), { recursive: true, verbatimSymlinks: true });
}

/** References such as `./tools.ts#send`, anywhere in the tools and the checks of a flow. */
function moduleFiles(flow: CompiledFlow, documentDir: string): readonly string[] {
  const found = new Set<string>();
  for (const { implementation } of Object.values(flow.tools)) {
    const { module } = (implementation ?? {}) as { readonly module?: Json };
    if (typeof module === 'string') found.add(fileOf(module, documentDir));
  }
  for (const node of Object.values(flow.nodes)) {
    if (node.op !== 'do' || node.effect.kind !== 'check') continue;
    const text = JSON.stringify(node.effect);
    for (const [, module = ''] of text.matchAll(/"Module\\?":\s*\\?"([^"\\]+)\\?"/g))
      found.add(fileOf(module, documentDir));
  }
  return [...found];
}

function fileOf(reference: string, documentDir: string): string {
  return resolve(documentDir, reference.split('#')[0] ?? '');
}

function hashModules(files: readonly string[]): { [file: string]: string } {
  const hashes: { [file: string]: string } = {};
  const queue = [...files];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (Object.hasOwn(hashes, file)) continue;
    hashes[file] = hashFile(file);
    queue.push(...importsOf(file));
  }
  return hashes;
}

function importsOf(file: string): readonly string[] {
  const text = textOf(file);
  const specifiers = text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g);
  return [...specifiers].map(([, path = '']) => resolve(dirname(file), path));
}

function hashFile(file: string): string {
  return hash('sha256', textOf(file), 'base64url');
}

/** A file that is missing has the empty text: it is a change when it appears or disappears. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
