/** Finds the name that a word was probably meant to be. */

/**
 * The name that the word misspells. A difference only in case, `_`, `-` or `.` always counts. Otherwise at most a third of the
 * letters may be wrong; two swapped neighbours count as one wrong letter.
 */
export function misspelt(word: string, candidates: Iterable<string>): string | undefined {
  const folded = fold(word);
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.floor(Math.max(word.length, 3) / 3)) + 1;
  for (const candidate of candidates) {
    if (candidate === word) continue;
    if (fold(candidate) === folded) return candidate;
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = distanceBetween(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[_.\- ]/g, '');
}

/** The optimal string alignment distance, or `limit` as soon as it cannot be less. */
function distanceBetween(a: string, b: string, limit: number): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    if (Math.min(...row) >= limit) return limit;
    [before, previous] = [previous, row];
  }
  return Math.min(limit, previous[b.length] ?? limit);
}
