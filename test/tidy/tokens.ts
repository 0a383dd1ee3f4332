/**
 * Splits TypeScript into words and string texts and leaves comments out, so that a rule can look at what the code says and
 * not at what is said about it. It does not have to understand the language; it has to know where strings end.
 */
export interface Token {
  readonly kind: 'word' | 'string' | 'sign';
  readonly text: string;
  readonly line: number;
}

const WORD = /[A-Za-z0-9_$#]/;
/** After these a slash begins a regular expression and not a division. */
const BEFORE_REGEX = new Set([
  '',
  '(',
  ',',
  '=',
  ':',
  '[',
  '!',
  '&',
  '|',
  '?',
  '{',
  '}',
  ';',
  '+',
  '-',
  '*',
  '%',
  '<',
  '>',
  '~',
  '^',
  'return',
  'case',
  'typeof',
  'of',
  'in',
]);

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  /** How deep in braces each template literal that is open was left. */
  const templates: number[] = [];
  let depth = 0;
  let line = 1;
  let at = 0;
  const push = (kind: Token['kind'], from: number, to: number): void => {
    const part = text.slice(from, to);
    tokens.push({ kind, text: part, line });
    line += part.split('\n').length - 1;
    at = to;
  };
  while (at < text.length) {
    const char = text[at] as string;
    const pair = text.slice(at, at + 2);
    if (pair === '//') at = find(text, '\n', at);
    else if (pair === '/*') {
      const end = find(text, '*/', at) + 2;
      line += text.slice(at, end).split('\n').length - 1;
      at = end;
    } else if (isQuote(text, at, char)) push('string', at, quoteEnd(text, at, char));
    else if (char === '`' || (char === '}' && templates.at(-1) === depth)) {
      if (char === '}') templates.pop();
      const end = templateEnd(text, at + 1);
      if (text[end - 1] === '{') templates.push(depth);
      push('string', at, end);
    } else if (char === '/' && !isTagEnd(text, at) && BEFORE_REGEX.has(tokens.at(-1)?.text ?? ''))
      push('string', at, regexEnd(text, at));
    else if (WORD.test(char)) {
      let end = at + 1;
      while (end < text.length && WORD.test(text[end] as string)) end += 1;
      push('word', at, end);
    } else if (/\s/.test(char)) {
      if (char === '\n') line += 1;
      at += 1;
    } else {
      if (char === '{') depth += 1;
      if (char === '}') depth -= 1;
      push('sign', at, at + 1);
    }
  }
  return tokens;
}

/** In the text between tags, an apostrophe begins no string: a string ends on its line. */
function isQuote(text: string, at: number, char: string): boolean {
  return (char === "'" || char === '"') && quoteEnd(text, at, char) <= find(text, '\n', at);
}

/** `</name>`, `</>`, or `/>` after an attribute in braces. */
function isTagEnd(text: string, at: number): boolean {
  return text[at - 1] === '<' || (text[at + 1] === '>' && /\}\s*$/.test(text.slice(Math.max(0, at - 40), at)));
}

/** The code with its comments blanked out, line by line as it was. */
export function withoutComments(text: string): string {
  const lines: string[] = [];
  for (const token of tokensOf(text))
    lines[token.line - 1] = `${lines[token.line - 1] ?? ''}${token.kind === 'sign' ? '' : ' '}${token.text}`;
  return Array.from(lines, (line) => line ?? '').join('\n');
}

function find(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  return found === -1 ? text.length : found;
}

function quoteEnd(text: string, from: number, quote: string): number {
  let at = from + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** After the closing backtick, or after the `${` that interrupts it. */
function templateEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    if (text[at] === '`') return at + 1;
    if (text[at] === '$' && text[at + 1] === '{') return at + 2;
    at += text[at] === '\\' ? 2 : 1;
  }
  return at;
}

function regexEnd(text: string, from: number): number {
  let at = from + 1;
  let inClass = false;
  while (at < text.length && (inClass || text[at] !== '/')) {
    if (text[at] === '[') inClass = true;
    if (text[at] === ']') inClass = false;
    at += text[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}
