/** `npm ci` takes the lock files as they are, on any platform, and they name nobody's mirror. */
import { expect, test } from 'vitest';
import { read } from './tree.ts';

interface Lock {
  readonly packages: {
    readonly [path: string]: {
      readonly resolved?: string;
      /** A package of this project. */
      readonly link?: boolean;
      readonly optionalDependencies?: { readonly [name: string]: string };
    };
  };
}

test.each([
  'package-lock.json',
  'bench/peers/package-lock.json',
  'mutation/package-lock.json',
  'reference/package-lock.json',
])('%s', (path) => {
  const { packages } = JSON.parse(read(path)) as Lock;
  expect(Object.keys(packages).length).toBeGreaterThan(10);
  expect(Object.entries(packages).filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual(
    [],
  );
  const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`node_modules/${name}`] === undefined && packages[`${parent}/node_modules/${name}`] === undefined,
    ),
  );
  // Left out where a mirror does not carry a platform's binary: `npm run lock` completes the file.
  expect(missing).toEqual([]);
});
