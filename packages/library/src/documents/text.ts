/** Text for a terminal: width, cutting, tables, and frames for text that models, tools or documents wrote. */
import { harmless, unpadded } from '@sluice-internal/wire';

const ANSI = /\u001B\[[0-9;]*m/g;
/** Marks every line after the first, so that text cannot imitate a line of ours such as `goes to` or `asked by`. */
export function framed(text: string, width = Infinity): string {
  return fitted(unpadded(harmless(text)).replaceAll('\n', `\n${MARK}`), width);
}

const MARK = '  │ ';

/** Breaks the lines of a text that is framed. The terminal would break them without a mark. */
export function fitted(text: string, width: number): string {
  if (!Number.isFinite(width)) return text;
  return text
    .split('\n')
    .flatMap((line) => wrap(line, Math.max(20, width)))
    .map((line, index) => (index === 0 || line.startsWith(MARK) ? line : MARK + line))
    .join('\n');
}

/** Puts the text on one line and cuts it to a width. */
export function oneLine(text: string, width = Infinity): string {
  return cut(unpadded(harmless(text)).replaceAll(/\s+/g, ' ').trim(), width);
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

/**
 * Breaks sentences between words for a terminal. Further lines are indented, so that they do not look like lines of their own.
 * Commands, code and words that are too long stay whole, so that they can be copied.
 */
export function wrapSentences(text: string, width: number): string {
  if (width === Infinity) return text;
  return text
    .split('\n')
    .flatMap((line) =>
      widthOf(line) <= width || WHOLE.test(line.replaceAll(ANSI, '')) ? [line] : hanging(line, width),
    )
    .join('\n');
}

/** A command, or a line of the document under a diagnostic. */
const WHOLE = /^\s*(?:(?:npx )?sluice |(?:cd|node|npm) |\d* *\|)/;
const INDENT = '  ';

function hanging(line: string, width: number): readonly string[] {
  const [margin = ''] = /^\s*(?:┆ )?/.exec(line) ?? [];
  const further = margin.endsWith('┆ ') ? margin : margin + INDENT;
  const lines: string[] = [];
  let current = margin;
  for (const [index, word] of (line.slice(margin.length).match(/(?:`[^`]*`|[^ ])+ */g) ?? []).entries()) {
    if (index > 0 && widthOf(current + word.trimEnd()) > width) {
      lines.push(current.trimEnd());
      current = further;
    }
    current += word;
  }
  return [...lines, current.trimEnd()];
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
  if (/\p{Emoji_Presentation}/u.test(character)) return 2;
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
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(cell));
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : pad(cell, widths[index] ?? 0)))
        .join('  ')
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

/** A changed database can have a time that no calendar has. */
export function iso(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
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
