/**
 * Changes to an expression's text that a notation needs before it is stored.
 */
import { CLOSE, OPEN, closeOf, endOfString } from './template.ts';
import { readsIn } from './reads.ts';

/**
 * Replaces the root name of each path for which `resolve` gives a text, such as `last.category` for `category`. Names that
 * a macro binds stay. Source that does not parse is returned as it is: its check has reported that. `variables` are names
 * that mean no type, although a type has them.
 */
export function rewriteNames(
  source: string,
  resolve: (path: string[]) => string | null,
  variables?: ReadonlySet<string>,
): string {
  return readsIn(source, variables).reduceRight((text, { path, start }) => {
    const root = path[0] ?? '';
    const replacement = resolve([...path]);
    return replacement === null ? text : text.slice(0, start) + replacement + text.slice(start + root.length);
  }, source);
}

/**
 * `{{ path }}` in a guard means the path, even in quotes. Braces and quotes become parentheses and blanks, so no offset
 * moves.
 */
export function stripBraces(source: string): string {
  let text = source;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"' || text[i] === "'") {
      const end = endOfString(text, i) ?? i;
      const quoted = /^\{\{([^{}'"]*)\}\}$/.exec(text.slice(i + 1, end));
      if (quoted !== null) text = `${text.slice(0, i)}  (${quoted[1] ?? ''})  ${text.slice(end + 1)}`;
      i = end;
    } else if (text.startsWith(OPEN, i)) {
      const close = closeOf(text, i + OPEN.length);
      if (close === -1) return text;
      text = `${text.slice(0, i)} (${text.slice(i + OPEN.length, close)}) ${text.slice(close + CLOSE.length)}`;
    }
  }
  return text;
}
