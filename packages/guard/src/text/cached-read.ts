/**
 * Caches the values that were read in the last texts, because a check reads the same observations and instructions several
 * times.
 */
const CHARS_MAX = 1_000_000;

export function cachedRead<Read>(read: (text: string) => Read): (text: string) => Read {
  const known = new Map<string, Read>();
  let chars = 0;
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const found = read(text);
    known.set(text, found);
    chars += text.length;
    for (const [oldest] of known) {
      if (chars <= CHARS_MAX) break;
      known.delete(oldest);
      chars -= oldest.length;
    }
    return found;
  };
}
