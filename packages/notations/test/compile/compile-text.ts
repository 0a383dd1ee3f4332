/** Compiles a document as the command line does. */
import { hash } from 'node:crypto';
import { compile } from '../../src/driver/compile.ts';
import type { CompileResult } from '../../src/driver/compile.ts';

export function compileText(source: string | object): CompileResult {
  return compile(source, { file: 'test.yaml', hash: (text) => hash('sha256', text, 'hex') });
}
