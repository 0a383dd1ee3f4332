/** Which file names which: by importing it, or as the text of a path, as whoever starts it as a process does. */
import { posix } from 'node:path';
import type { SourceFile } from './tree.ts';
import { tokensOf } from './tokens.ts';

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

/** Imports of relative files, as paths from the root. */
export function importEdges(files: readonly SourceFile[]): Edge[] {
  return files.flatMap(({ path, text }) => {
    const tokens = tokensOf(text);
    return tokens.flatMap((token, index) => {
      const before = tokens[index - 1]?.text;
      const isImport =
        before === 'from' || before === 'import' || (before === '(' && tokens[index - 2]?.text === 'import');
      if (token.kind !== 'string' || !isImport || !/^['"]\.\.?\//.test(token.text)) return [];
      return [{ from: path, to: posix.join(posix.dirname(path), token.text.slice(1, -1)), line: token.line }];
    });
  });
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
