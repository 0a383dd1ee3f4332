/**
 * A folder with the same path in every run of the tests, unless another run has it at the moment. Node then finds the compiled
 * code of the files in it again.
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function steadyFolder(name: string, parent = tmpdir()): string {
  for (let number = 0; ; number += 1) {
    const folder = join(parent, `${name}-${number}`);
    try {
      mkdirSync(folder);
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
