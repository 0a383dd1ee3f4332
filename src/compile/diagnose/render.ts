/**
 * A diagnostic for a terminal: what is wrong, where, the line itself with a mark under it, the way out, and the page that
 * says more. Plain text unless colour is asked for.
 */
import type { Diagnostic } from './diagnostics.ts';
import { createSource, lineOf } from '../source/range.ts';

export interface RenderOptions {
  readonly color?: boolean;
}

const WIDTH_MAX = 120;

export function renderDiagnostic(diagnostic: Diagnostic, sourceText?: string, options: RenderOptions = {}): string {
  const paint = painter(options.color ?? false);
  const hue = diagnostic.severity === 'error' ? 'red' : 'yellow';
  const gutter = String(diagnostic.line).length;
  const indent = ' '.repeat(gutter);
  const lines = [
    `${paint(hue, `${diagnostic.severity}[${diagnostic.code}]`)}${paint('bold', `: ${printable(diagnostic.message)}`)}`,
    `${indent}${paint('blue', '-->')} ${diagnostic.file}:${diagnostic.line}:${diagnostic.column}`,
  ];
  const excerpt = sourceText === undefined ? null : excerptOf(diagnostic, sourceText);
  if (excerpt !== null) {
    lines.push(`${indent} ${paint('blue', '|')}`);
    lines.push(`${paint('blue', `${diagnostic.line} |`)} ${excerpt.line}`);
    lines.push(`${indent} ${paint('blue', '|')} ${excerpt.pad}${paint(hue, excerpt.mark)}`);
  }
  for (const related of diagnostic.related ?? []) {
    lines.push(
      `${indent} ${paint('blue', '=')} note: ${printable(related.message)}: ${related.file}:${related.line}:${related.column}`,
    );
  }
  if (diagnostic.help !== undefined)
    lines.push(`${indent} ${paint('blue', '=')} ${paint('green', 'help')}: ${printable(diagnostic.help)}`);
  lines.push(`${indent} ${paint('blue', '=')} see docs/errors/${diagnostic.code}.md`);
  return lines.join('\n');
}

interface Excerpt {
  readonly line: string;
  readonly pad: string;
  readonly mark: string;
}

function excerptOf(diagnostic: Diagnostic, sourceText: string): Excerpt | null {
  const source = createSource(sourceText.startsWith('\uFEFF') ? sourceText.slice(1) : sourceText, diagnostic.file);
  const whole = lineOf(source, diagnostic.line);
  if (whole.trim() === '') return null;
  const start = diagnostic.column - 1;
  const end = diagnostic.endLine === diagnostic.line ? (diagnostic.endColumn ?? start + 1) - 1 : whole.trimEnd().length;
  // A long line is cut around the place, so that the mark stays on the screen.
  const cut = start > WIDTH_MAX - 20 ? start - 40 : 0;
  const shown = whole.slice(cut, cut + WIDTH_MAX);
  const pad = shown.slice(0, start - cut);
  const marked = shown.slice(start - cut, Math.max(end, start + 1) - cut);
  return {
    line: printable(shown),
    pad: ' '.repeat(widthOf(printable(pad))),
    mark: '^'.repeat(Math.max(1, widthOf(printable(marked)))),
  };
}

/** Control characters would move the cursor or worse; a tab becomes one space so that the mark lines up. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}

/** Columns on a terminal: East Asian wide characters and emoji take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    if (/\p{Mark}/u.test(character) || point === 0x200d) continue;
    width +=
      (point >= 0x1100 && point <= 0x115f) ||
      (point >= 0x2e80 && point <= 0xa4cf) ||
      (point >= 0xac00 && point <= 0xd7a3) ||
      (point >= 0xff00 && point <= 0xff60) ||
      point >= 0x1f300
        ? 2
        : 1;
  }
  return width;
}

const STYLES = { red: '31;1', yellow: '33;1', blue: '34;1', green: '32;1', bold: '1' } as const;

function painter(color: boolean): (style: keyof typeof STYLES, text: string) => string {
  return (style, text) => (color ? `\u001B[${STYLES[style]}m${text}\u001B[0m` : text);
}
