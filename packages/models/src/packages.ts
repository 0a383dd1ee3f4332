/** Provider packages that a document names, such as `@ai-sdk/azure`. They are loaded from the document's folder. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { packageOf } from '@sluice-internal/kernel/catalog';
import { SluiceError } from '@sluice-internal/engine/ports';
import { resolveOptional } from '@sluice-internal/platform';
import { adapt } from './adapt.ts';
import { isModelObject, type ModelObject } from './model-object.ts';
import { requireKey, type Target } from './target.ts';
import type { LanguageModelV4 } from '@ai-sdk/provider';

/** The settings of a package's factory, such as `fetch`, `headers` and `apiKey`. */
export type FactorySettings = { readonly [name: string]: unknown };

/** Throws a SluiceError if the key or the provider package of a model is missing, with the command that adds it. */
export function requireModel(target: Target, folder: string): void {
  if (target.object !== undefined) return;
  requireKey(target);
  const { protocol } = target.how;
  if (protocol === 'package') entryOf(target.provider, folder);
  else if (protocol !== 'a2a') resolveOptional(PACKAGES[protocol], `the provider \`${target.provider}\``);
}

/** The packages of the AI SDK, by protocol. */
export const PACKAGES = {
  openai: '@ai-sdk/openai',
  'openai-chat': '@ai-sdk/openai',
  anthropic: '@ai-sdk/anthropic',
  google: '@ai-sdk/google',
  compatible: '@ai-sdk/openai-compatible',
} as const satisfies { readonly [protocol in Exclude<Target['how']['protocol'], 'package' | 'a2a'>]: string };

export async function connectPackage(
  provider: string,
  model: string,
  folder: string,
  settings: FactorySettings,
): Promise<LanguageModelV4> {
  const { file, name, factory } = entryOf(provider, folder);
  const loaded = (await import(pathToFileURL(file).href)) as { readonly [name: string]: unknown };
  const create = factoryIn(loaded, name, factory);
  const made = create(settings) as Provider;
  const object = typeof made.languageModel === 'function' ? made.languageModel(model) : made(model);
  if (!isModelObject(object)) throw unusable(name, 'its factory returns no language model');
  return adapt(object);
}

interface Provider {
  (model: string): unknown;
  readonly languageModel?: (model: string) => ModelObject;
}

type Factory = (settings: FactorySettings) => unknown;

/** The factory that the document names, the one with the name of the package, or the only one. */
function factoryIn(loaded: { readonly [name: string]: unknown }, name: string, wanted: string | undefined): Factory {
  const factories = Object.keys(loaded).filter(
    (each) => /^create[A-Z]/.test(each) && typeof loaded[each] === 'function',
  );
  const plain = (text: string): string => text.replace(/[^a-z0-9]/gi, '').toLowerCase();
  const usual = `create${plain(name.slice(name.lastIndexOf('/') + 1))}`;
  const found =
    wanted ?? factories.find((each) => plain(each) === usual) ?? (factories.length === 1 ? factories[0] : undefined);
  const factory = found === undefined ? undefined : loaded[found];
  if (typeof factory === 'function') return factory as Factory;
  const listed = factories.length === 0 ? 'it has none' : `it has ${factories.join(', ')}`;
  throw unusable(name, `name its factory as \`${name}#createProvider\`; ${listed}`);
}

function unusable(name: string, reason: string): SluiceError {
  return new SluiceError(
    'no-model',
    `the provider package \`${name}\` cannot be used: ${reason}`,
    'Install a provider package of the AI SDK, and check the name of its factory.',
  );
}

/** The file that `import` of the package loads. The document's folder comes first, then the installation of Sluice. */
function entryOf(
  provider: string,
  folder: string,
): { readonly file: string; readonly name: string; readonly factory: string | undefined } {
  const { name, factory } = packageOf(provider) ?? { name: provider, factory: undefined };
  const own = dirname(fileURLToPath(import.meta.url));
  for (const start of [resolve(folder), own])
    for (let at = start; ; at = dirname(at)) {
      const root = join(at, 'node_modules', name);
      if (existsSync(join(root, 'package.json'))) return { file: mainFile(root), name, factory };
      if (dirname(at) === at) break;
    }
  throw new SluiceError(
    'no-model',
    `the provider package \`${name}\` is not installed`,
    `Install it beside the document: \`npm install ${name}\`.`,
  );
}

type Exports = string | { readonly [condition: string]: Exports } | null | undefined;

function mainFile(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports?: Exports;
    readonly module?: string;
    readonly main?: string;
  };
  const { exports } = manifest;
  const main = typeof exports === 'object' && exports !== null && '.' in exports ? exports['.'] : exports;
  return join(root, conditional(main) ?? manifest.module ?? manifest.main ?? 'index.js');
}

function conditional(exports: Exports): string | undefined {
  if (typeof exports === 'string') return exports;
  if (exports === null || exports === undefined) return undefined;
  for (const condition of ['node', 'import', 'module', 'default', 'require']) {
    const found = conditional(exports[condition]);
    if (found !== undefined) return found;
  }
  return undefined;
}
