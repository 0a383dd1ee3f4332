/** `npm ci` takes the lock files as they are, on any platform, they name nobody's mirror, and have the hash of each package. */
import { expect, test } from 'vitest';
import { read } from './tree.ts';

interface Entry {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  /** A package of this project. */
  readonly link?: boolean;
  readonly optionalDependencies?: { readonly [name: string]: string };
}

interface Lock {
  readonly packages: { readonly [path: string]: Entry };
}

/**
 * Binaries of the linter, the formatter and the parser of knip for other platforms, where the registry that wrote the file does not
 * carry them. `npm run lock` adds their hashes where it does. The number may only become smaller.
 */
const UNHASHED_MAX = 49;

function isToolOfOtherPlatform([name, { dev, optional }]: readonly [string, Entry]): boolean {
  return dev === true && optional === true && /^node_modules\/@(oxc-parser|oxfmt|oxlint|oxlint-tsgolint)\//.test(name);
}

test.each([
  'package-lock.json',
  'bench/peers/package-lock.json',
  'mutation/package-lock.json',
  'reference/package-lock.json',
  'test/package/node22/package-lock.json',
  'test/server/clients/package-lock.json',
])('%s', (path) => {
  const { packages } = JSON.parse(read(path)) as Lock;
  expect(Object.keys(packages).length).toBeGreaterThan(1);
  expect(Object.entries(packages).filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual(
    [],
  );
  // Without a hash, `npm ci` installs whatever it gets.
  const unhashed = Object.entries(packages).filter(
    ([name, { integrity, link }]) =>
      name.includes('node_modules/') && link !== true && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
  );
  expect(unhashed.filter((entry) => !isToolOfOtherPlatform(entry)).map(([name]) => name)).toEqual([]);
  expect(unhashed.length).toBeLessThanOrEqual(path === 'package-lock.json' ? UNHASHED_MAX : 0);
  const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`node_modules/${name}`] === undefined && packages[`${parent}/node_modules/${name}`] === undefined,
    ),
  );
  // Left out where a mirror does not carry a platform's binary: `npm run lock` completes the file.
  expect(missing).toEqual([]);
});
