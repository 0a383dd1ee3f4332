/** The installed version of a package, for the table's footer. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function versionOf(name: string): string {
  const path = join(import.meta.dirname, 'node_modules', name, 'package.json');
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
  return `${name} ${version}`;
}
