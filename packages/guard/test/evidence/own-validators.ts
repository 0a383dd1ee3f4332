/** A validator of a user's own, as a document names it: `./own-validators.ts#threeFiles`. */
import type { Validator } from '../../src/evidence/evidence.ts';

export const threeFiles: Validator = ({ filesWritten }) => {
  const count = filesWritten('session').length;
  return { ok: count >= 3, reason: `three files are needed, and ${count} were written` };
};
