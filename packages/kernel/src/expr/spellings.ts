/**
 * The operators `and`, `or` and `not` beside `&&`, `||` and `!`. They are rewritten before the text is parsed, at the same
 * length, so that every offset stays the same. `not` binds more loosely than a comparison: `not a == b` is `!(a == b)`.
 */
import { childrenOf } from './ast.ts';
import type { ASTNode as Ast } from '@marcbachmann/cel-js';

export function withSymbols(source: string): string {
  if (!/\b(?:and|or|not)\b/i.test(source)) return source;
  const tokens = [...source.matchAll(TOKEN)].map((match) => ({ text: match[0], start: match.index }));
  let text = source;
  for (const [index, { text: word, start }] of tokens.entries()) {
    const symbol = SYMBOLS.get(word.toLowerCase());
    const [before = '', after = ''] = [tokens[index - 1]?.text, tokens[index + 1]?.text];
    if (symbol === undefined || !BEGINS.test(after) || endsOperand(before) !== (symbol !== '!')) continue;
    text = text.slice(0, start) + symbol.padEnd(word.length) + text.slice(start + word.length);
  }
  return text;
}

/** Moves each `not` around the comparison that its operand begins. `source` is the text before the words were rewritten. */
export function looseNot(ast: Ast, source: string): Ast {
  if (!/\bnot\b/i.test(source)) return ast;
  for (const child of childrenOf(ast)) replace(child, looseNot(child, source));
  if (!COMPARISONS.has(ast.op)) return ast;
  const [left] = childrenOf(ast);
  if (left?.op !== '!_' || !/^not\b/i.test(source.slice(left.start))) return ast;
  const inner = copy(ast, { args: [left.args, ...childrenOf(ast).slice(1)], start: left.args.start });
  return copy(left, { args: inner, start: left.start, end: ast.end });
}

const SYMBOLS: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
]);

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

/** A text or a comment is one token, so words inside it stay. */
const TOKEN = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/\/[^\n]*|\w+(?:\.\w+)*|\S/g;
const BEGINS = /^[\w"'([{!-]/;
const ENDS = /[\w"')\]}]$/;

function endsOperand(token: string): boolean {
  return ENDS.test(token) && token !== 'in' && !SYMBOLS.has(token.toLowerCase());
}

/** Nodes of the library keep their methods; only the given fields change. */
function copy(node: Ast, fields: { readonly [field: string]: unknown }): Ast {
  return Object.assign(Object.create(Object.getPrototypeOf(node) as object) as Ast, node, fields);
}

function replace(target: Ast, by: Ast): void {
  if (target !== by) Object.assign(target, by);
}
