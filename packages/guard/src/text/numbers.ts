/** Numbers as people write them: separators of thousands, decimal commas, and the letters k, M and bn. */

/** A number in any common spelling. */
export const NUMBER = String.raw`(?:\d{1,3}(?:[,.'\u00a0\u202f ]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?)`;
export const MAGNITUDE = String.raw`(?:\s?(?:k|bn|million|millionen|milliard\w*|mio\.?|thousand|billion)\b|[KMB]\b)`;

/** The numbers that a text can mean. `1.900` is 1900 or 1.9; `12,450.00` is only 12450. */
export function readingsOf(text: string): readonly number[] {
  const plain = text.replace(/['\u00a0\u202f ]/g, '');
  const marks = plain.match(/[.,]/g) ?? [];
  if (marks.length === 0) return [Number(plain)];
  const last = plain.search(/[.,][^.,]*$/);
  const decimals = plain.length - last - 1;
  const grouped = Number(plain.replace(/[.,]/g, ''));
  const split = Number(`${plain.slice(0, last).replace(/[.,]/g, '')}.${plain.slice(last + 1)}`);
  if (new Set(marks).size > 1) return [split];
  if (marks.length > 1) return [grouped];
  // One mark: it separates thousands only in front of exactly three digits.
  if (decimals !== 3) return [split];
  return plain[last] === ',' ? [grouped, split] : [split, grouped];
}

/** The factor for `k`, `M` or `million`. */
export function factorOf(magnitude: string | undefined): number {
  const word = (magnitude ?? '').trim();
  if (word === '') return 1;
  if (/^(?:k|thousand)/i.test(word)) return 1e3;
  return /^(?:bn|b$|billion|milliard)/i.test(word) ? 1e9 : 1e6;
}

/** The digits after the decimal mark, where the last mark is one. */
export function decimalsOf(text: string): number {
  return /[.,](\d+)$/.exec(text.trim())?.[1]?.length ?? 0;
}

/** `10,000.50` and `10000.5` are the same number. */
export function numberKey(text: string): string {
  return String(Number(text.replaceAll(',', '')));
}
