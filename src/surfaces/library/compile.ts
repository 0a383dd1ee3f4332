/** `compile` as a program calls it: text or an object in, a pinned flow or every reason why not out. */
import { hash } from 'node:crypto';
import { priceOf } from '../../adapters/models/prices.ts';
import { compile as compileDocument } from '../../compile/compile.ts';
import type { CompileResult } from '../../compile/compile.ts';

export interface CompileOptions {
  /** What diagnostics call the document. */
  readonly file?: string;
  /** The alias or `provider/model` that agents run on which name no model. */
  readonly model?: string;
}

export function compile(source: string | object, options: CompileOptions = {}): CompileResult {
  return compileDocument(source, { ...options, priceOf, hash: (text) => hash('sha256', text, 'hex') });
}
