/**
 * Looking for one text in another in linear time. The host's search is fast on real text but quadratic on texts made for
 * the purpose, so long searches use a failure table (Knuth, Morris, Pratt).
 */
const HOST_WORK_MAX = 4_000_000;

export function includesText(text: string, part: string): boolean {
  if (isSmall(text, part)) return text.includes(part);
  return occurrences(text, part, 1).length > 0;
}

/** As the host's `split`, for a separator that is not empty. */
export function splitText(text: string, separator: string): string[] {
  if (isSmall(text, separator)) return text.split(separator);
  const parts: string[] = [];
  let from = 0;
  for (const at of occurrences(text, separator, Infinity)) {
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

function isSmall(text: string, part: string): boolean {
  return text.length * part.length <= HOST_WORK_MAX;
}

/** Where `part` begins, leftmost first and without overlap. */
function occurrences(text: string, part: string, max: number): number[] {
  const found: number[] = [];
  const borders = bordersOf(part);
  let matched = 0;
  for (let i = 0; i < text.length && found.length < max; i++) {
    const unit = text.charCodeAt(i);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (part.charCodeAt(matched) === unit) matched++;
    if (matched === part.length) {
      found.push(i - matched + 1);
      matched = 0;
    }
  }
  return found;
}

/** For each prefix, the length of its longest proper prefix that is also its suffix. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length);
  let length = 0;
  for (let i = 1; i < part.length; i++) {
    while (length > 0 && part.charCodeAt(i) !== part.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (part.charCodeAt(i) === part.charCodeAt(length)) length++;
    borders[i] = length;
  }
  return borders;
}
