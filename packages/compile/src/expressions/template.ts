/**
 * Templates: text with `{{ expression }}` in it, and structures of such texts. The compiled flow stores expressions only,
 * so a whole structure becomes one expression.
 */
import { parseExpr } from '@sluice-internal/kernel/expr';
import type { Expr, Json } from '@sluice-internal/kernel/expr';
import { literal, quote } from '@sluice-internal/kernel/expr';

/** Offsets into the template; those of an expression cover it without its braces and blanks. */
type PlacedPart = ({ readonly text: string } | { readonly expr: Expr }) & {
  readonly start: number;
  readonly end: number;
};

interface TemplateProblem {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly help?: string;
}

export interface ParsedTemplate {
  readonly parts: readonly PlacedPart[];
  readonly problems: readonly TemplateProblem[];
}

const TO_JSON = 'toJson(';

export function parseTemplate(text: string): ParsedTemplate {
  const parts: PlacedPart[] = [];
  const problems: TemplateProblem[] = [];
  let done = 0;
  for (let open = text.indexOf(OPEN); open !== -1; open = text.indexOf(OPEN, done)) {
    const close = closeOf(text, open + OPEN.length);
    if (close === -1) {
      const help = 'Close it with `}}`, or write `{{ "{{" }}` to mean the braces themselves.';
      problems.push({
        severity: 'warning',
        message: '`{{` is never closed, so it is plain text',
        start: open,
        end: open + OPEN.length,
        help,
      });
      break;
    }
    if (open > done) parts.push({ text: text.slice(done, open), start: done, end: open });
    const inner = text.slice(open + OPEN.length, close);
    const expr = inner.trim();
    done = close + CLOSE.length;
    const start = open + OPEN.length + inner.length - inner.trimStart().length;
    // `{{ x | json }}` writes JSON text. The range still covers the author's text.
    const filtered = /^([\s\S]*[^|\s])\s*\|\s*json$/.exec(expr)?.[1];
    if (expr === '')
      problems.push({ severity: 'error', message: 'the template `{{ }}` is empty', start: open, end: done });
    else if (filtered !== undefined)
      parts.push({ expr: `${TO_JSON}${filtered})`, start: start - TO_JSON.length, end: start + expr.length });
    else parts.push({ expr, start, end: start + expr.length });
  }
  if (done < text.length || parts.length === 0) parts.push({ text: text.slice(done), start: done, end: text.length });
  return { parts, problems };
}

/** `inText`: the value becomes part of a text. */
type Rewrite = (expr: Expr, inText: boolean) => Expr;

/**
 * One expression that gives the structure with every template in it expanded. `rewrite` may change each embedded
 * expression; one that does not parse is an `EvalError`, because its text could otherwise reach into what surrounds it.
 */
export function templateToExpr(value: Json, rewrite: Rewrite = (expr) => expr): Expr {
  return literal(value, (text) => textToExpr(text, rewrite));
}

function textToExpr(text: string, rewrite: Rewrite): Expr {
  const found = parseTemplate(text).parts;
  const parts = found.map((part) => ('expr' in part ? embed(rewrite(part.expr, found.length > 1)) : quote(part.text)));
  const [only = '""'] = parts;
  return parts.length <= 1 ? only : `text(${parts.join(', ')})`;
}

/** A comment would swallow what follows, so the line ends before the next character. */
function embed(expr: Expr): Expr {
  parseExpr(expr);
  if (/^[A-Za-z_][\w.]*$/.test(expr)) return expr;
  return `(${expr}${expr.includes('//') ? '\n' : ''})`;
}

export const OPEN = '{{';
export const CLOSE = '}}';

/** The offset of the closing braces for an expression that begins at `from`, or -1. */
export function closeOf(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (char === '"' || char === "'") i = endOfString(text, i) ?? i;
    else if (char === '{') depth++;
    else if (char === '}' && depth > 0) depth--;
    else if (char === '}' && text[i + 1] === '}') return i;
  }
  // An apostrophe or a stray brace may have hidden the end. The check of the expression then reports the mistake.
  return text.indexOf(CLOSE, from);
}

/** The offset of the last quote of the string literal that opens at `at`, or undefined when it never ends. */
export function endOfString(text: string, at: number): number | undefined {
  const quote = text[at] ?? '';
  const triple = text.startsWith(quote.repeat(3), at);
  for (let i = at + (triple ? 3 : 1); i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (!triple && text[i] === '\n') return undefined;
    else if (text[i] === quote && (!triple || text.startsWith(quote.repeat(3), i))) return triple ? i + 2 : i;
  }
  return undefined;
}
