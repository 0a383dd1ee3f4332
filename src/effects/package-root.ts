/** The folder of this package: the nearest one above this file with a manifest. The code runs from `src` or from a bundle. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const PACKAGE_ROOT: string = folderAbove(import.meta.dirname);

function folderAbove(dir: string): string {
  return existsSync(join(dir, 'package.json')) || dirname(dir) === dir ? dir : folderAbove(dirname(dir));
}
