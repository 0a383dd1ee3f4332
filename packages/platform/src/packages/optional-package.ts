/**
 * Packages that only some flows need. They are optional peers, so that an installation stays small. A missing one is an error
 * with the command that installs it.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SluiceError } from '@sluice-internal/engine/ports';
import { PACKAGE_ROOT } from './package-root.ts';

/** Loads a package of this installation, or of the current folder. `need` completes "… needs the package". */
export function requireOptional(name: string, need: string, path: string = name): unknown {
  return firstFound(name, need, (require) => require(path) as unknown);
}

/** As `requireOptional`, for packages that are ES modules. */
export async function importOptional(name: string, need: string, path: string = name): Promise<unknown> {
  return import(pathToFileURL(resolveOptional(name, need, path)).href);
}

/** The file that would be loaded. */
export function resolveOptional(name: string, need: string, path: string = name): string {
  return firstFound(name, need, (require) => require.resolve(path));
}

type Require = ReturnType<typeof createRequire>;

function firstFound<Found>(name: string, need: string, find: (require: Require) => Found): Found {
  for (const start of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return find(createRequire(start));
    } catch (error) {
      if (!isMissing(error, name)) throw error;
    }
  }
  throw new SluiceError(
    'missing-package',
    `${need} needs the package \`${name}\`, which is not installed: npm install ${name}${versionOf(name)}`,
    'Install it where Sluice is installed, or in the current folder.',
  );
}

/** Another package that this one needs may be missing: that is another error. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') && message?.includes(`'${name}`) === true;
}

/** `@4`, the major release that the manifest of this package asks for. */
function versionOf(name: string): string {
  const manifest = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
    readonly peerDependencies?: { readonly [name: string]: string };
  };
  const major = /\d+/.exec(manifest.peerDependencies?.[name] ?? '')?.[0];
  return major === undefined || major === '0' ? '' : `@${major}`;
}
