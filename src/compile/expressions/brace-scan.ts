/**
 * Finds where `{{ … }}` ends. Quotes and inner braces belong to the expression, so that `{{ {"a": "}}"} }}` is one.
 */
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
  // An apostrophe or a stray brace may have hidden the end; the expression's own check then says what is wrong.
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
