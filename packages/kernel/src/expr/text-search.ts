/**
 * Searches in linear time. `re(text, pattern)`, also `text.matches(pattern)`, takes a literal pattern and compiles it once. A pattern
 * from data could make the automaton too large at run time and could not be checked before the flow starts.
 */
import { RE2JS } from 're2js';
import { charge } from './context.ts';
import type { Eval } from './context.ts';
import { EvalError, LIMITS, reasonOf } from './error.ts';
import type { Range } from './error.ts';
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

/** The reason why the pattern cannot be used; null for a good pattern. */
export function patternProblem(pattern: string): string | null {
  try {
    compilePattern(pattern);
    return null;
  } catch (cause) {
    return reasonOf(cause);
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
    const why = reasonOf(cause);
    throw new EvalError('other', `the pattern cannot be used: ${why}`, range);
  }
}

/** The search of the host is quadratic on hostile texts, so long searches use a failure table (Knuth, Morris, Pratt). */
const HOST_WORK_MAX = 4_000_000;

export function includesText(text: string, part: string): boolean {
  if (isSmall(text, part)) return text.includes(part);
  return occurrences(text, part, 1).length > 0;
}

/** As the host's `split`, for a separator that is not empty. */
export function splitText(text: string, separator: string): string[] {
  if (isSmall(text, separator)) return text.split(separator);
  const parts: string[] = [];
  let from = 0;
  for (const at of occurrences(text, separator, Infinity)) {
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

function isSmall(text: string, part: string): boolean {
  return text.length * part.length <= HOST_WORK_MAX;
}

/** The positions of `part`, leftmost first and without overlap. */
function occurrences(text: string, part: string, max: number): number[] {
  const found: number[] = [];
  const borders = bordersOf(part);
  let matched = 0;
  for (let i = 0; i < text.length && found.length < max; i++) {
    const unit = text.charCodeAt(i);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (part.charCodeAt(matched) === unit) matched++;
    if (matched === part.length) {
      found.push(i - matched + 1);
      matched = 0;
    }
  }
  return found;
}

/** For each prefix, the length of its longest proper prefix that is also its suffix. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length);
  let length = 0;
  for (let i = 1; i < part.length; i++) {
    while (length > 0 && part.charCodeAt(i) !== part.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (part.charCodeAt(i) === part.charCodeAt(length)) length++;
    borders[i] = length;
  }
  return borders;
}
