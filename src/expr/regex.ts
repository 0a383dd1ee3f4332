/**
 * `re(text, pattern)`, also written `text.matches(pattern)`: an unanchored search in linear time. The pattern is a literal,
 * compiled once with the expression: a pattern from data could grow the automaton at run time and could not be checked before
 * the flow starts.
 */
import { RE2JS } from 're2js';
import { charge } from './env.ts';
import type { Eval } from './env.ts';
import { EvalError } from './error.ts';
import type { Range } from './error.ts';
import { LIMITS } from './limits.ts';
import type { Ast } from './parse.ts';
import { typeOf } from './value.ts';

export function compileSearch(name: 're' | 'matches', text: Eval, pattern: Ast): Eval {
  const range = { start: pattern.start, end: pattern.end };
  if (pattern.op !== 'value' || typeof pattern.args !== 'string') {
    throw new EvalError('other', `the pattern of \`${name}\` must be a string literal`, range);
  }
  const regex = compilePattern(pattern.args, range);
  // The automaton visits each character once per state at worst.
  const weight = 1 + (regex.programSize() >> 4);
  return (env) => {
    const input = text(env);
    if (input === null) return false;
    if (typeof input !== 'string') throw new EvalError('type', `\`${name}\` needs a string, not ${typeOf(input)}`);
    charge(env, 1 + input.length * weight);
    return regex.test(input);
  };
}

/** Why the pattern cannot be used, or null when it can. */
export function patternProblem(pattern: string): string | null {
  try {
    compilePattern(pattern);
    return null;
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

/**
 * A pattern of a JSON Schema, in the syntax of JavaScript, on the linear-time engine. Throws if the pattern needs
 * backtracking (lookaround, backreferences) or repeats more than 1,000 times.
 */
export const schemaPattern = Object.assign(
  (pattern: string): { test(text: string): boolean; toString(): string } => {
    if (pattern.length > LIMITS.patternMax)
      throw new EvalError('limit', `the pattern is longer than ${LIMITS.patternMax} characters`);
    const regex = RE2JS.compile(RE2JS.translateRegExp(pattern));
    // The text of an engine's patterns must differ: ajv uses it as a key.
    return { test: (text) => regex.test(text), toString: () => `/${pattern}/` };
  },
  // The name that ajv asks of an engine for regular expressions.
  { code: 'schemaPattern' },
);

function compilePattern(pattern: string, range?: Range): RE2JS {
  if (pattern.length > LIMITS.patternMax)
    throw new EvalError('limit', `the pattern is longer than ${LIMITS.patternMax} characters`, range);
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EvalError('other', `the pattern cannot be used: ${why}`, range);
  }
}
