/**
 * Compiles a document on disk: YAML and JSON from their text, a TypeScript or JavaScript module from its exports.
 * Mistakes in the document are diagnostics; a file that cannot be read is an error.
 */
import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { priceOf } from '../../effects/models/prices.ts';
import { checkPolicy } from '../../effects/policy/cedar.ts';
import { compile, type CompileResult } from '../../compile/compile.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { textReader } from '../library/compile.ts';
import { readText } from './files.ts';

export interface CompiledFile {
  readonly file: string;
  /** The text that diagnostics quote. A module has none. */
  readonly text?: string;
  readonly result: CompileResult;
}

/** `model` is the model of agents that name none. */
export async function compileFile(file: string, model?: string): Promise<CompiledFile> {
  const options = {
    file,
    hash: sha256,
    priceOf,
    checkPolicy,
    readText: textReader(dirname(file)),
    ...(model === undefined ? {} : { model }),
  };
  if (/\.[cm]?[jt]s$/.test(file)) return { file, result: compile(await exported(file), options) };
  const text = readText(file);
  return { file, text, result: compile(text, options) };
}

export function flowIn({ result }: CompiledFile): CompiledFlow | null {
  return result.ok && result.flow !== undefined ? result.flow : null;
}

async function exported(file: string): Promise<object> {
  readText(file);
  let module: { readonly [name: string]: unknown };
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as typeof module;
  } catch (error) {
    throw new SluiceError(
      'bad-module',
      `\`${file}\` cannot be imported: ${error instanceof Error ? error.message : String(error)}`,
      undefined,
      error,
    );
  }
  for (const name of ['default', 'document', 'flow']) {
    const value = module[name];
    if (typeof value === 'object' && value !== null) return value;
  }
  throw new SluiceError(
    'bad-module',
    `\`${file}\` exports no document`,
    'Export it as `default`, `document` or `flow`.',
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
