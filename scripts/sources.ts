/** The files of the packages, as the build looks at them. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tool.ts';

/** The folders and files under `packages/NAME/src`, relative to the root. */
export function sourcePaths(): readonly string[] {
  return readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}/src`)
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => [
      folder,
      ...readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
    ]);
}
