/** `compile` as a program calls it: text or an object in, a pinned flow or every reason why not out. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { priceOf } from '../../effects/models/prices.ts';
import { checkPolicy } from '../../effects/policy/cedar.ts';
import { compile as compileDocument } from '../../compile/compile.ts';
import type { CompileResult } from '../../compile/compile.ts';

export interface CompileOptions {
  /** What diagnostics call the document. */
  readonly file?: string;
  /** The alias or `provider/model` that agents run on which name no model. */
  readonly model?: string;
}

export function compile(source: string | object, options: CompileOptions = {}): CompileResult {
  const readText = textReader(options.file === undefined ? '.' : dirname(options.file));
  return compileDocument(source, {
    ...options,
    priceOf,
    checkPolicy,
    readText,
    hash: (text) => hash('sha256', text, 'hex'),
  });
}

/** Reads what a document names, from the folder that it is in; null where that cannot be had. */
export function textReader(folder: string): (file: string) => string | null {
  return (file) => {
    try {
      return readFileSync(resolve(folder, file), 'utf8');
    } catch {
      return null;
    }
  };
}
