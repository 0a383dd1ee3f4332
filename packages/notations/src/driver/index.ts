/** What other packages use of `notations/driver`. */
export { compile } from './compile.ts';
export type { CompileResult } from './compile.ts';
export { refuseOtherKind } from './file-kind.ts';
export { NOTATIONS } from './registry.ts';
