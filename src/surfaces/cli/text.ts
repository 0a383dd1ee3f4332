/** Text for a terminal: width, cutting, tables, and escaping of text that models, tools or documents wrote. */
const ANSI = /\u001B\[[0-9;]*m/g;
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** Bidirectional controls, zero-width and tag characters, unusual line ends. */
const INVISIBLE =
  /[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\u{E0000}-\u{E0FFF}]/gu;
/** Joiners that do not join: they belong inside emoji and inside scripts that shape letters. */
const JOINERS =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Gujarati}])[\u200C\u200D]/gu;

/**
 * Removes control characters and shows invisible ones as escapes, so that text cannot move the cursor, reorder a line or
 * hide words. Line ends and tabs stay.
 */
export function harmless(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(CONTROL, '')
    .replaceAll(INVISIBLE, escaped)
    .replaceAll(JOINERS, escaped);
}

/** Marks every line after the first, so that text cannot imitate a line of ours such as `goes to` or `asked by`. */
export function framed(text: string): string {
  return harmless(text).replaceAll('\n', '\n  │ ');
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Puts the text on one line and cuts it to a width. */
export function oneLine(text: string, width = Infinity): string {
  return cut(harmless(text).replaceAll(/\s+/g, ' ').trim(), width);
}

export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    const next = characterWidth(character);
    if (used + next > width - 1) break;
    kept += character;
    used += next;
  }
  return width <= 0 ? '' : `${kept}…`;
}

/** Breaks text into lines of at most `width` columns, between words where possible. Line ends of the text stay. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const lines: string[] = [];
    let current = '';
    for (const word of line.split(/(?<= )/)) {
      if (widthOf(current + word.trimEnd()) <= width) {
        current += word;
        continue;
      }
      if (current !== '') lines.push(current.trimEnd());
      const parts = chop(word, width);
      lines.push(...parts.slice(0, -1));
      current = parts.at(-1) ?? '';
    }
    return [...lines, current.trimEnd()];
  });
}

/** Breaks a word that is longer than a line. */
function chop(word: string, width: number): string[] {
  const parts: string[] = [''];
  let used = 0;
  for (const character of word) {
    const next = characterWidth(character);
    if (used + next > width && character !== ' ') {
      parts.push('');
      used = 0;
    }
    parts[parts.length - 1] += character;
    used += next;
  }
  return parts;
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Columns that the text takes. Colour codes take none. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text.replaceAll(ANSI, '')) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x300) return 1;
  if (/\p{Mark}/u.test(character) || point === 0x200d) return 0;
  return WIDE.some(([first, last]) => point >= first && point <= last) ? 2 : 1;
}

/** Ranges of characters that take two columns: Korean, Chinese, Japanese, full-width forms and pictures. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0x1f300, 0x10ffff],
];

/** Aligns columns to their widest cell. The last column is not padded. */
export function table(rows: readonly (readonly string[])[], gap = '  '): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(cell));
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : pad(cell, widths[index] ?? 0)))
        .join(gap)
        .trimEnd(),
    )
    .join('\n');
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

export function grouped(count: number): string {
  // Without Intl, which takes 15 ms to load.
  return String(count).replaceAll(/\B(?=(?:\d{3})+(?!\d))/g, ',');
}

export function seconds(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  if (whole < 120) return `${whole} s`;
  return whole < 7200
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function dollars(amount: number): string {
  return `$${amount.toFixed(amount !== 0 && amount < 0.1 ? 4 : 2)}`;
}

/** Text as it is, any other value as JSON. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Quotes a word for a shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
