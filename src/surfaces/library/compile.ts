/** `compile` as a program calls it: text or an object in, a pinned flow or every reason why not out. */
import { hash } from 'node:crypto';
import { compile as compileDocument } from '../../compile/compile.ts';
import type { CompileResult } from '../../compile/compile.ts';

export function compile(source: string | object, options: { readonly file?: string } = {}): CompileResult {
  return compileDocument(source, { ...options, hash: (text) => hash('sha256', text, 'hex') });
}
