/**
 * `and`, `or` and `not`, which other languages have for `&&`, `||` and `!`. Here they are names like any other, so they are
 * only looked for in what could not be read, and only where an operator would stand.
 */
import { problem } from './problem.ts';
import type { Problem } from './problem.ts';

export function wordOperators(source: string): readonly Problem[] {
  const tokens = [...source.matchAll(TOKEN)].map((match) => ({ text: match[0], start: match.index }));
  return tokens.flatMap(({ text, start }, index): Problem[] => {
    const operator = SIGNS.get(text.toLowerCase());
    const [before = '', after = ''] = [tokens[index - 1]?.text, tokens[index + 1]?.text];
    if (operator === undefined || !BEGINS.test(after) || endsOperand(before) !== (operator !== '!')) return [];
    const at = { start, end: start + text.length };
    return [problem('syntax', at, `\`${text}\` is not an operator`, `write \`${operator}\``)];
  });
}

const SIGNS: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
]);

/** Texts and comments are one token each, so that nothing is found inside them. */
const TOKEN = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/\/[^\n]*|\w+(?:\.\w+)*|\S/g;
const BEGINS = /^[\w"'([{!-]/;
const ENDS = /[\w"')\]}]$/;

function endsOperand(token: string): boolean {
  return ENDS.test(token) && token !== 'in' && !SIGNS.has(token.toLowerCase());
}
