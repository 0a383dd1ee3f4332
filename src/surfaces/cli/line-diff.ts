/** The lines that differ between two texts, for people: `- ` of the first, `+ ` of the second, in order. */

/** Lines that both texts have are left out. */
export function lineDiff(before: string, after: string): readonly string[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const common = commonLengths(a, b);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const isSame = i < a.length && j < b.length && a[i] === b[j];
    const drops = j === b.length || (i < a.length && at(common, i + 1, j) >= at(common, i, j + 1));
    if (!isSame) lines.push(drops ? `- ${a[i] ?? ''}` : `+ ${b[j] ?? ''}`);
    if (isSame || drops) i++;
    if (isSame || !drops) j++;
  }
  return lines;
}

/** At `[i][j]`: the length of the longest common subsequence of the lines from `i` and from `j` on. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (lengths[i] as Uint32Array)[j] =
        a[i] === b[j] ? at(lengths, i + 1, j + 1) + 1 : Math.max(at(lengths, i + 1, j), at(lengths, i, j + 1));
  return lengths;
}

function at(lengths: readonly Uint32Array[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0;
}
