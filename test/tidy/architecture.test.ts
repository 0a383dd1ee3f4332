/** Every import between folders of the packages is in the table of `architecture.ts`, and the table has no circle. */
import { expect, test } from 'vitest';
import { MAY_IMPORT } from '../../architecture.ts';
import { entriesOf, folderOf, importsBetween, packageOf, sizes, testImports, type Import } from './imports.ts';
import { packageFiles, read } from './tree.ts';

const files = packageFiles();
const folders = Object.keys(MAY_IMPORT);
const edges = importsBetween(files);
const packages = [...new Set(folders.map(packageOf))];

test('every folder is in the table', () => {
  expect([...new Set(files.map(({ path }) => folderOf(path)))].toSorted()).toEqual(folders.toSorted());
});

test('a folder imports what the table allows, and other packages by name', () => {
  expect(edges.filter(isForbidden).map(shown)).toEqual([]);
});

test('a folder imports all that the table allows', () => {
  const unused = folders.flatMap((from) =>
    (MAY_IMPORT[from] ?? [])
      .filter((allowed) => !edges.some((edge) => edge.from === from && isWithin(from, edge.to, allowed)))
      .map((allowed) => `${from}: ${allowed}`),
  );
  expect(unused).toEqual([]);
});

test('the table has no circle', () => {
  const done = new Set<string>();
  const visit = (folder: string, above: readonly string[]): void => {
    expect(above, [...above, folder].join(' → ')).not.toContain(folder);
    if (done.has(folder)) return;
    for (const each of (MAY_IMPORT[folder] ?? []).flatMap((allowed) => foldersOf(folder, allowed)))
      visit(each, [...above, folder]);
    done.add(folder);
  };
  for (const folder of folders) visit(folder, []);
});

test('a manifest names the packages that its sources import', () => {
  for (const name of packages) {
    const { dependencies = {} } = JSON.parse(read(`packages/${name}/package.json`)) as {
      readonly dependencies?: { readonly [name: string]: string };
    };
    const named = Object.keys(dependencies).flatMap((each) => /^@sluice-internal\/(.*)/.exec(each)?.[1] ?? []);
    const used = edges
      .filter(({ from, to }) => packageOf(from) === name && packageOf(to) !== name)
      .map(({ to }) => packageOf(to));
    expect({ name, named: named.toSorted() }).toEqual({ name, named: [...new Set(used)].toSorted() });
  }
});

test('the tests of a package import the testing kit and what is below their package', () => {
  const visible = (name: string): readonly string[] => [name, ...below(name), 'testing', ...below('testing')];
  expect(
    testImports()
      .filter(({ from, to }) => !visible(from).includes(to))
      .map(shown),
  ).toEqual([]);
});

const forbidden = packages.flatMap((name) =>
  packages.filter((other) => other !== name && !mayImport(name).includes(other)).map((other) => [name, other] as const),
);

test.each(forbidden)('an import in %s from %s would be found', (name, other) => {
  const folder = folders.find((each) => packageOf(each) === name) ?? name;
  const file = `packages/${folder.replace(/\/|$/, '/src/')}${folder.includes('/') ? '/' : ''}planted.ts`;
  const entry = Object.keys(entriesOf(other))[0] ?? '.';
  expect(planted(file, `@sluice-internal/${other}${entry.slice(1)}`)).toEqual([file]);
});

test.each([
  ['a file of another package by its path', 'packages/kernel/src/core/x.ts', '../../../engine/src/worker/engine.ts', 1],
  [
    'a file of another package that is no entry',
    'packages/notations/src/flow/x.ts',
    '@sluice-internal/kernel/src/ir/nodes.ts',
    1,
  ],
  ['a folder of the package that is not in the row', 'packages/kernel/src/core/x.ts', '../catalog/index.ts', 1],
  ['a sibling notation', 'packages/notations/src/flow/x.ts', '../team/model.ts', 1],
  ['a folder in the row', 'packages/kernel/src/core/x.ts', '../ir/nodes.ts', 0],
  ['an entry of a package in the row', 'packages/notations/src/flow/x.ts', '@sluice-internal/compile/lower', 0],
] as const)('%s', (_, file, specifier, found) => {
  expect(planted(file, specifier)).toHaveLength(found);
});

test('lines per package', () => {
  const lines = sizes(files);
  process.stdout.write(
    `${Object.entries(lines)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}\n`,
  );
  expect(Object.keys(lines).toSorted()).toEqual(packages.toSorted());
});

/** The forbidden imports of a file with one import. */
function planted(path: string, specifier: string): readonly string[] {
  return importsBetween([{ path, text: `import type { X } from '${specifier}';\n` }])
    .filter(isForbidden)
    .map(({ file }) => file);
}

/** The packages that a package imports. */
function mayImport(name: string): readonly string[] {
  const named = folders
    .filter((folder) => packageOf(folder) === name)
    .flatMap((folder) => (MAY_IMPORT[folder] ?? []).map(packageOf));
  return [...new Set(named)].filter((other) => other !== name);
}

/** Those and what they import. */
function below(name: string, found: Set<string> = new Set()): readonly string[] {
  for (const other of mayImport(name).filter((each) => !found.has(each))) below(other, found.add(other));
  return [...found];
}

function isForbidden({ from, to, isEntry }: Import): boolean {
  if (packageOf(from) !== packageOf(to) && !isEntry) return true;
  return from !== to && !(MAY_IMPORT[from] ?? []).some((allowed) => isWithin(from, to, allowed));
}

/** The name of another package stands for all its folders. */
function isWithin(from: string, to: string, allowed: string): boolean {
  return to === allowed || (packageOf(from) !== packageOf(to) && packageOf(to) === allowed);
}

function foldersOf(from: string, allowed: string): readonly string[] {
  return folders.filter((folder) => isWithin(from, folder, allowed));
}

function shown({ file, specifier }: Pick<Import, 'file' | 'specifier'>): string {
  return `${file}: ${specifier}`;
}
