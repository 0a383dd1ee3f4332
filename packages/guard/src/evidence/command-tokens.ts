/** The tokens of a shell command line: words with and without their quotes, and operators. */

export interface Token {
  readonly kind: 'word' | 'operator';
  readonly raw: string;
  /** A word without its quotes. */
  readonly bare: string;
}

/**
 * Words, with redirections left out, and operators. Null if a quote or a bracket is not closed. The files that redirections
 * write are added to `targets`.
 */
export function tokensOf(line: string, targets: string[] = []): readonly Token[] | null {
  const tokens: Token[] = [];
  let rest = withoutBlank(line.replaceAll('\\\n', ' '));
  let redirects = false;
  let writes = false;
  const hereDocs: string[] = [];
  for (; rest !== ''; rest = withoutBlank(rest)) {
    const redirect = /^(\d*|&)(<<<|<<-?|>>|>&|<&|>\||<>|>|<)/.exec(rest);
    if (redirect !== null) {
      rest = rest.slice(redirect[0].length);
      if (/<<-?$/.test(redirect[0]) && !redirect[0].endsWith('<<<')) hereDocs.push('');
      redirects = true;
      writes = /^(?:>>|>\||>)$/.test(redirect[2] ?? '');
      continue;
    }
    const operator = /^(&&|\|\||\|&|;;|[;&|()\n])/.exec(rest)?.[0];
    if (operator !== undefined) {
      tokens.push({ kind: 'operator', raw: operator, bare: operator });
      rest = rest.slice(operator.length);
      if (operator === '\n') rest = skipHereDocs(rest, hereDocs);
      continue;
    }
    const word = wordAt(rest);
    if (word === null) return null;
    rest = rest.slice(word.raw.length);
    if (hereDocs.at(-1) === '') hereDocs[hereDocs.length - 1] = word.bare;
    else if (!redirects) tokens.push({ kind: 'word', ...word });
    else if (writes) targets.push(word.bare);
    redirects = false;
  }
  return tokens;
}

/** Skips spaces and a comment. */
function withoutBlank(text: string): string {
  return text.replace(/^[ \t\r]+/, '').replace(/^#[^\n]*/, '');
}

/** Leaves out the text of here-documents, which starts after the end of their line. */
function skipHereDocs(text: string, ends: string[]): string {
  let rest = text;
  for (const end of ends.splice(0)) {
    const lines = rest.split('\n');
    const last = lines.findIndex((each) => each.trim() === end);
    rest = last === -1 ? '' : lines.slice(last + 1).join('\n');
  }
  return rest;
}

/** One word with its quotes and substitutions. Null if one of them is not closed. */
function wordAt(text: string): { readonly raw: string; readonly bare: string } | null {
  let at = 0;
  let bare = '';
  while (at < text.length && !/[\s;&|()<>]/.test(text[at] ?? '')) {
    const part = partAt(text.slice(at));
    if (part === null) return null;
    bare += part.bare;
    at += part.length;
  }
  return { raw: text.slice(0, at), bare };
}

function partAt(text: string): { readonly length: number; readonly bare: string } | null {
  if (text.startsWith('\\')) return { length: Math.min(2, text.length), bare: text.slice(1, 2) };
  if (text.startsWith("'")) {
    const end = text.indexOf("'", 1);
    return end === -1 ? null : { length: end + 1, bare: text.slice(1, end) };
  }
  if (text.startsWith('"')) {
    const quoted = /^"((?:[^"\\]|\\[\s\S])*)"/.exec(text);
    return quoted === null ? null : { length: quoted[0].length, bare: (quoted[1] ?? '').replace(/\\(["\\$`])/g, '$1') };
  }
  if (text.startsWith('$(')) {
    const end = closingOf(text, 1);
    return end === -1 ? null : { length: end + 1, bare: text.slice(0, end + 1) };
  }
  if (text.startsWith('`')) {
    const end = text.indexOf('`', 1);
    return end === -1 ? null : { length: end + 1, bare: text.slice(0, end + 1) };
  }
  return { length: 1, bare: text[0] ?? '' };
}

/** The bracket that closes the one at `from`. */
function closingOf(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}
