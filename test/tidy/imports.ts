/** Which file names which: by importing it, or as the text of a path, as whoever starts it as a process does. */
import { posix } from 'node:path';
import { codeFiles, read, type SourceFile } from './tree.ts';
import { tokensOf } from './tokens.ts';

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

interface Named {
  readonly file: string;
  readonly specifier: string;
  readonly line: number;
}

/** The import statements of files, with what they name. */
function importsIn(files: readonly SourceFile[]): Named[] {
  return files.flatMap(({ path, text }) => {
    const tokens = tokensOf(text);
    return tokens.flatMap((token, index) => {
      const before = tokens[index - 1]?.text;
      const isImport =
        before === 'from' || before === 'import' || (before === '(' && tokens[index - 2]?.text === 'import');
      if (token.kind !== 'string' || !isImport || !/^['"]/.test(token.text)) return [];
      return [{ file: path, specifier: token.text.slice(1, -1), line: token.line }];
    });
  });
}

const INTERNAL = '@sluice-internal/';

/** Imports of files of the project, as paths from the root. The name of a package stands for its entry. */
export function importEdges(files: readonly SourceFile[]): Edge[] {
  return importsIn(files).flatMap(({ file, specifier, line }) => {
    const to = fileOf(file, specifier);
    return to === null ? [] : [{ from: file, to, line }];
  });
}

function fileOf(from: string, specifier: string): string | null {
  if (/^\.\.?\//.test(specifier)) return posix.join(posix.dirname(from), specifier);
  return specifier.startsWith(INTERNAL) ? (entryFile(specifier) ?? specifier) : null;
}

function entryFile(specifier: string): string | undefined {
  const [name = '', ...entry] = specifier.slice(INTERNAL.length).split('/');
  const source = entriesOf(name)[['.', ...entry].join('/')];
  return source === undefined ? undefined : posix.join('packages', name, source);
}

const entries = new Map<string, { readonly [entry: string]: string }>();

/** The entries of a package, by the end of the specifier. */
export function entriesOf(name: string): { readonly [entry: string]: string } {
  let found = entries.get(name);
  if (found === undefined) {
    const manifest = JSON.parse(read(`packages/${name}/package.json`)) as { readonly exports: typeof found };
    found = manifest.exports ?? {};
    entries.set(name, found);
  }
  return found;
}

/** An import from one folder of the packages to another. */
export interface Import extends Named {
  readonly from: string;
  readonly to: string;
  /** Names an entry of a package, not a file by its path. */
  readonly isEntry: boolean;
}

export function importsBetween(files: readonly SourceFile[]): Import[] {
  return importsIn(files).flatMap((named) => {
    const to = fileOf(named.file, named.specifier);
    if (to === null) return [];
    const isEntry = named.specifier.startsWith(INTERNAL) && /\.tsx?$/.test(to);
    const edge = { from: folderOf(named.file), to: folderOf(to), isEntry };
    return edge.from === edge.to ? [] : [{ ...named, ...edge }];
  });
}

/** Imports of packages in their tests, by path or by name. */
export function testImports(): { from: string; to: string; file: string; specifier: string }[] {
  const tests = codeFiles('packages').filter(({ path }) => /^packages\/[^/]+\/test\//.test(path));
  return importsIn(tests).flatMap(({ file, specifier }) => {
    const to = /^packages\/([^/]+)\/src\//.exec(fileOf(file, specifier) ?? '')?.[1];
    return to === undefined ? [] : [{ from: file.split('/')[1] ?? '', to, file, specifier }];
  });
}

/** `kernel/ir` for `packages/kernel/src/ir/nodes.ts`; `models` for a file that lies directly in `src`. */
export function folderOf(path: string): string {
  const [, name = path, inner = ''] = /^packages\/([^/]+)\/src\/(?:([^/]+)\/)?/.exec(path) ?? [];
  return inner === '' ? name : `${name}/${inner}`;
}

export function packageOf(folder: string): string {
  return folder.split('/')[0] ?? folder;
}

export function sizes(files: readonly SourceFile[]): { [name: string]: number } {
  const lines: { [name: string]: number } = {};
  for (const { path, text } of files) {
    const name = packageOf(folderOf(path));
    lines[name] = (lines[name] ?? 0) + text.split('\n').length - 1;
  }
  return lines;
}

/** Everything that can be reached from the roots. */
export function reachable(roots: readonly string[], edges: readonly Edge[]): Set<string> {
  const seen = new Set(roots);
  const waiting = [...roots];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop())
    for (const { from, to } of edges)
      if (from === path && !seen.has(to)) {
        seen.add(to);
        waiting.push(to);
      }
  return seen;
}

/** File names that occur in strings, such as the script of a child process, and strings that are one plain word. */
export function namedInStrings(files: readonly SourceFile[]): Set<string> {
  const names = files.flatMap(({ text }) => tokensOf(text).filter(({ kind }) => kind === 'string'));
  return new Set(
    names.flatMap(({ text }) => [...text.matchAll(/[a-z0-9.-]+\.ts\b|(?<=^')[a-z-]+(?='$)/g)].map(([name]) => name)),
  );
}
