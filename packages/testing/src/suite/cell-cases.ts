/** Promises about small shared values. */
import type { Case } from './sample.ts';

export const cellCases: { readonly [promise: string]: Case } = {};
