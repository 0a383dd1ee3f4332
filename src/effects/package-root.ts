/** The folder of this package, and its version. The folder is the nearest one above this file with a manifest: the code runs from `src` or from a bundle. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const PACKAGE_ROOT: string = folderAbove(import.meta.dirname);

export const VERSION: string = (
  JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { version: string }
).version;

function folderAbove(dir: string): string {
  return existsSync(join(dir, 'package.json')) || dirname(dir) === dir ? dir : folderAbove(dirname(dir));
}
