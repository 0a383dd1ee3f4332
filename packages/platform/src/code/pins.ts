/**
 * Pins a run to the code that its document loads. The hash of every module, of every file that it imports and of every package
 * is recorded when the run starts. Later the same code is used, or the operator accepts the change.
 */
import { cpSync, existsSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Pins, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { AttachmentStore } from '@sluice-internal/engine/ports';
import { codeOf } from './closure.ts';
import { isInside, placesOf, realPath } from './files.ts';
import { changesSince, pinLoaded } from './load.ts';

/** An argument with such an extension is code for the program. */
const CODE = /\.(?:[cm]?[jt]s|[jt]sx|sh|bash|py|rb|pl|php|lua|jar|wasm|node|exe|ps1)$/i;

export interface Folders {
  readonly documentDir: string;
  /** One folder for all runs; undefined for a folder per run. */
  readonly workDir: string | undefined;
}

/** Throws when a module, a package that it imports, or a program lies in a folder where an agent could replace it. */
export function pinsOf(flow: CompiledFlow, { documentDir, workDir }: Folders): Pins {
  const root = resolve(documentDir);
  const files = filesOf(flow, root);
  const modules = codeOf(files.modules).hashes;
  const workRoot = resolve('.sluice', 'work');
  const folder = workDir === undefined ? undefined : realPath(resolve(workDir));
  const places = { documentDir: root, ...(folder === undefined ? { workRoot } : { workDir: folder }) };
  refuseWritable(Object.keys(modules), places);
  refuseWritable(files.programs, places, 'program');
  return { ...places, modules };
}

interface Files {
  readonly documentDir: string;
  readonly modules: readonly string[];
  readonly programs: readonly string[];
}
const known = new WeakMap<CompiledFlow, Files>();

/** The names of the files follow from the flow, so runs of one flow look for them once. */
function filesOf(flow: CompiledFlow, documentDir: string): Files {
  let files = known.get(flow);
  if (files?.documentDir !== documentDir) {
    files = { documentDir, modules: moduleFiles(flow, documentDir), programs: programFiles(flow, documentDir) };
    known.set(flow, files);
  }
  return files;
}

/** Also pins a run to the module that exports its definition. */
export function withDefinition(pins: Pins, file: string, functions: readonly string[]): Pins {
  const definition = resolve(file);
  const modules = { ...pins.modules, ...codeOf([definition]).hashes };
  refuseWritable(Object.keys(modules), pins);
  pinLoaded(definition, modules);
  return { ...pins, functions, definition, modules };
}

/** The work directories of other runs count too: an agent of such a run could have written there. */
function refuseWritable(
  files: readonly string[],
  { workDir, workRoot }: Pins,
  kind: 'module' | 'program' = 'module',
): void {
  if (files.length === 0) return;
  const folders = [workDir, workRoot, resolve('.sluice', 'work')].filter((each) => each !== undefined).map(realPath);
  for (const file of files)
    for (const folder of folders)
      if (placesOf(file).some((place) => isInside(folder, place)))
        throw new SluiceError(
          'unsafe-module',
          `the ${kind} \`${file}\` is in the work directory \`${folder}\`, where an agent can change it`,
          `Choose another \`--work-dir\`, or move the ${kind}.`,
        );
}

/** The files and packages that have changed since the run started. */
export function changedModules({ modules = {} }: Pins): readonly string[] {
  return changesSince(modules);
}

/** The same code with its hashes of now. */
export function acceptedModules({ modules = {} }: Pins): { readonly [file: string]: string } {
  return codeOf(Object.keys(modules)).hashes;
}

export function workDirOf(pins: Pins | undefined, run: string, otherwise: string): string {
  return pins?.workDir ?? (pins?.workRoot === undefined ? otherwise : join(pins.workRoot, run));
}

/** Copies the attachments of a run to the run that continues it; also its folder, if every run has its own. Files have their current content. */
export async function copyFiles(
  pins: Pins | undefined,
  attachments: AttachmentStore | undefined,
  parent: RunId,
  run: RunId,
): Promise<void> {
  for (const id of (await attachments?.list(parent)) ?? []) {
    const attachment = (await attachments?.find(parent, id)) ?? null;
    if (attachment !== null) await attachments?.add(run, attachment);
  }
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

/** The part of an MCP server that names a program. */
interface Program {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
}

/** Files that the engine starts outside the sandbox: hooks and MCP servers, also ones that do not exist yet. */
function programFiles(flow: CompiledFlow, documentDir: string): readonly string[] {
  const hooks = (flow.notify ?? []).flatMap((hook) => ('command' in hook ? codeFiles(hook.command, documentDir) : []));
  const servers = Object.values(flow.tools).flatMap(({ implementation }) => {
    const { server } = (implementation ?? {}) as { readonly server?: Program };
    if (server?.command === undefined) return [];
    return codeFiles([server.command, ...(server.args ?? [])], resolve(documentDir, server.cwd ?? '.'));
  });
  return [...new Set([...hooks, ...servers])];
}

/** A program without a folder in its name is found by `PATH`. */
function codeFiles([program = '', ...args]: readonly string[], folder: string): readonly string[] {
  const isPath = program.includes('/') || program.includes(sep);
  return [...(isPath ? [program] : []), ...args.filter((each) => CODE.test(each))].map((each) => resolve(folder, each));
}

function fileOf(reference: string, documentDir: string): string {
  return resolve(documentDir, reference.split('#')[0] ?? '');
}
