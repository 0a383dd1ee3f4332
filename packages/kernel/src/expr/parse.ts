/**
 * Source text to syntax tree, with the tree's limits enforced. Every failure is an `EvalError` that carries its range.
 */
import { Environment, ParseError } from '@marcbachmann/cel-js';
import type { ASTNode } from '@marcbachmann/cel-js';
import { childrenOf } from './ast.ts';
import { EvalError, LIMITS, asEvalError } from './error.ts';
import { looseNot, withSymbols } from './spellings.ts';

export type Ast = ASTNode;

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: LIMITS.nodesMax,
    maxDepth: LIMITS.depthMax,
    maxListElements: LIMITS.elementsMax,
    maxMapEntries: LIMITS.elementsMax,
    maxCallArguments: LIMITS.elementsMax,
  },
});

/** Trees are never changed after parsing, so the same text gives the same tree. */
export function parseExpr(source: string): Ast {
  const known = parsed.get(source);
  if (known !== undefined) return known;
  const ast = parseNew(source);
  parsedLength += source.length;
  if (parsedLength > PARSED_LENGTH_MAX) {
    parsed.clear();
    parsedLength = source.length;
  }
  parsed.set(source, ast);
  return ast;
}

const parsed = new Map<string, Ast>();
/** In characters of source, which bounds the memory of the kept trees. */
const PARSED_LENGTH_MAX = 300_000;
let parsedLength = 0;

function parseNew(source: string): Ast {
  const whole = { start: 0, end: source.length };
  if (source.length > LIMITS.sourceMax)
    throw new EvalError('limit', `the expression is longer than ${LIMITS.sourceMax} characters`, whole);
  if (source.trim() === '') throw new EvalError('other', 'the expression is empty', whole);
  const ast = read(source, whole);
  forbidDepth(ast);
  return ast;
}

function read(source: string, whole: { readonly start: number; readonly end: number }): Ast {
  try {
    return looseNot(environment.parse(withSymbols(source)).ast, source);
  } catch (cause) {
    if (!(cause instanceof ParseError)) throw asEvalError(cause);
    const kind = cause.code === 'limit_exceeded' ? 'limit' : 'other';
    const range = cause.range ?? whole;
    throw new EvalError(kind, reword(cause, source.slice(range.start, range.end)), range);
  }
}

/** The parser nests a chain of operators one level for each. The tree is walked recursively, so its depth is limited. */
function forbidDepth(ast: Ast): void {
  let level: readonly Ast[] = [ast];
  for (let depth = 1; level.length > 0; depth++) {
    const [first] = level;
    if (depth > LIMITS.depthMax && first !== undefined)
      throw new EvalError('limit', `the expression is nested deeper than ${LIMITS.depthMax}`, {
        start: first.start,
        end: first.end,
      });
    level = level.flatMap(childrenOf);
  }
}

/** Tokens that the parser can expect. */
const EXPECTED: { readonly [token: string]: string } = {
  IDENTIFIER: 'a name',
  LPAREN: '`(`',
  RPAREN: '`)`',
  LBRACKET: '`[`',
  RBRACKET: '`]`',
  LBRACE: '`{`',
  RBRACE: '`}`',
  COLON: '`:`',
};

/** The characters of a token, instead of its name in the library. */
function reword({ summary }: ParseError, found: string): string {
  const [, expected] = /^Expected (\w+), got \w+$/.exec(summary) ?? [];
  const shown = found === '' ? 'the end' : `\`${found}\``;
  if (expected !== undefined) return `expected ${EXPECTED[expected] ?? expected}, got ${shown}`;
  if (!summary.startsWith('Unexpected ')) return summary.replace(/^[A-Z]/, (first) => first.toLowerCase());
  return found === '' ? 'the expression ends too early' : `unexpected ${shown}`;
}
