/** What changed between two texts, in short: how many lines went and came, and the one stretch that differs. */
export interface Diff {
  readonly added: number;
  readonly removed: number;
  /** The differing stretch with its line numbers, cut where it gets long. */
  readonly diff: string;
}

const SHOWN_MAX = 40;
const LINE_MAX = 200;

export function diffOf(before: string, after: string): Diff {
  if (before === after) return { added: 0, removed: 0, diff: '' };
  const old = linesOf(before);
  const now = linesOf(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1;
  const gone = old.slice(start, old.length - end);
  const come = now.slice(start, now.length - end);
  const head = `@@ -${start + 1},${gone.length} +${start + 1},${come.length} @@`;
  return {
    added: come.length,
    removed: gone.length,
    diff: [head, ...shown(gone, '-'), ...shown(come, '+')].join('\n'),
  };
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function shown(lines: readonly string[], sign: string): string[] {
  const kept = lines
    .slice(0, SHOWN_MAX)
    .map((line) => `${sign}${line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line}`);
  return lines.length > SHOWN_MAX ? [...kept, `${sign}… ${lines.length - SHOWN_MAX} more lines`] : kept;
}
