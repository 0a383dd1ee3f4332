/**
 * The folder of the published package, and its version. The code runs from a bundle, or from the sources of a checkout, whose
 * packages have manifests of their own.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const PACKAGE_ROOT: string = folderAbove(import.meta.dirname);

export const VERSION: string = (
  JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { version: string }
).version;

function folderAbove(dir: string): string {
  return isPublished(join(dir, 'package.json')) || dirname(dir) === dir ? dir : folderAbove(dirname(dir));
}

function isPublished(manifest: string): boolean {
  return existsSync(manifest) && !readFileSync(manifest, 'utf8').includes('"name": "@sluice-internal/');
}
