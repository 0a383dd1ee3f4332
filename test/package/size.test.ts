/** The weight of an installation without optional packages: it is bounded, and the guide says it. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

interface Manifest {
  readonly dependencies?: { readonly [name: string]: string };
  readonly peerDependencies?: { readonly [name: string]: string };
  readonly peerDependenciesMeta?: { readonly [name: string]: { readonly optional?: boolean } };
}
const manifest = readJson('package.json') as Manifest;
const { packages } = readJson('package-lock.json') as { readonly packages: { readonly [path: string]: Manifest } };

/** The folders that `npm install sluice` fills, by the lock file. */
function installed(): readonly string[] {
  const found = new Set<string>();
  const add = (from: string, names: Manifest['dependencies'] = {}): void => {
    for (const name of Object.keys(names)) {
      const path = placeOf(from, name);
      if (path === null || found.has(path)) continue;
      found.add(path);
      add(path, packages[path]?.dependencies);
    }
  };
  add('', manifest.dependencies);
  return [...found];
}

function placeOf(from: string, name: string): string | null {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (path in packages) return path;
  const outer = from.lastIndexOf('/node_modules/');
  return from === '' ? null : placeOf(outer < 0 ? '' : from.slice(0, outer), name);
}

function bytesIn(folder: string): number {
  return readdirSync(join(root, folder), { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === 'node_modules') return sum;
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesIn(path) : statSync(join(root, path)).size);
  }, 0);
}

/** The bytes of the entries of the bundle and of the files that they import. */
function bundled(files = new Set(['index.js', 'testing.js', 'cli.cjs'])): number {
  let bytes = 0;
  for (const file of files) {
    const text = readFileSync(join(root, 'dist/bundle', file), 'utf8');
    bytes += Buffer.byteLength(text);
    for (const [, next = ''] of text.matchAll(/(?:from |require\()["']\.\/([\w.-]+-[\w-]{8}\.cjs)["']/g))
      files.add(next);
  }
  return bytes;
}

describe('an installation', () => {
  const folders = installed();
  const megabytes = folders.reduce((sum, folder) => sum + bytesIn(folder), 0) / 1_000_000;

  test('has few packages and is small', () => {
    expect(folders.toSorted()).toEqual(['node_modules/@pydantic/genai-prices', 'node_modules/zod']);
    expect(megabytes).toBeLessThan(11);
    expect(bundled() / 1_000_000).toBeLessThan(5.5);
  });

  test('the guide gives its figures', () => {
    const page = readFileSync(join(root, 'docs/guide/package.md'), 'utf8');
    const [, said = '', size = ''] = /(\d+) packages and (\d+) MB/.exec(page) ?? [];
    expect(Number(said)).toBe(folders.length);
    expect(Math.abs(Number(size) - megabytes)).toBeLessThan(2);
  });

  test('every optional peer is in the table of the guide, and no dependency is', () => {
    const page = readFileSync(join(root, 'docs/guide/package.md'), 'utf8');
    const listed = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(Object.keys(manifest.peerDependencies ?? {}).toSorted());
    for (const name of listed) expect(manifest.peerDependenciesMeta?.[name]?.optional, name).toBe(true);
    expect(listed.filter((name) => name in (manifest.dependencies ?? {}))).toEqual([]);
  });
});

describe('the client', () => {
  const text = (name: string): string => readFileSync(join(root, 'dist/bundle', name), 'utf8');

  test.each([
    ['client.js', 6000],
    ['client-fold.js', 4000],
  ])('%s is one small module that needs nothing of Node', (name, most) => {
    expect(gzipSync(text(name)).length).toBeLessThan(most);
    expect(text(name)).not.toMatch(/["'`]node:|\brequire\(|\bprocess\.|\bBuffer\b|\bimport\s*[{"'*(]/);
  });

  test('says its version', () => {
    const { version } = readJson('package.json') as { readonly version: string };
    expect(text('client.js')).toContain(version);
  });
});
