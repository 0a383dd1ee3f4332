/**
 * Every function of the language by name. These are forms of their own: `text` takes any number of arguments, `re`, which CEL
 * calls `matches`, a literal pattern, `has` a field, `strict` and `guard` an expression whose comparisons they change, `rule` a
 * literal text that the errors of its expression quote.
 */
import { LIST_MACROS } from './ast.ts';
import type { Fn } from './function.ts';
import { CONVERT_FUNCTIONS, TIME_FUNCTIONS } from './functions-convert.ts';
import { LIST_FUNCTIONS } from './functions-list.ts';
import { PHRASE_FUNCTIONS, TEXT_FUNCTIONS } from './functions-text.ts';

export const FUNCTIONS: ReadonlyMap<string, Fn> = new Map([
  ...Object.entries(CONVERT_FUNCTIONS),
  ...Object.entries(LIST_FUNCTIONS),
  ...Object.entries(PHRASE_FUNCTIONS),
  ...Object.entries(TEXT_FUNCTIONS),
  ...Object.entries(TIME_FUNCTIONS),
]);

export const FUNCTION_NAMES: readonly string[] = [
  ...FUNCTIONS.keys(),
  ...LIST_MACROS,
  'text',
  're',
  'matches',
  'has',
  'strict',
  'guard',
  'rule',
];

export interface CallShape {
  readonly name: string;
  readonly method: boolean;
  /** Arguments with the receiver first. */
  readonly count: number;
}

/** The reason why a call is wrong, or null. The forms and the number of arguments are checked only here. */
export function callProblem(call: CallShape): string | null {
  const special = specialProblem(call);
  if (special !== undefined) return special;
  const { name, method, count } = call;
  const fn = FUNCTIONS.get(name);
  if (fn === undefined) return `there is no function \`${name}\``;
  if (method && fn.forms === 'global') return `\`${name}\` is not a method: write \`${name}(x)\``;
  if (!method && fn.forms === 'method') return `\`${name}\` is a method: write \`x.${name}(…)\``;
  const least = fn.required ?? fn.params.length;
  if (count >= least && count <= fn.params.length) return null;
  const hidden = method ? 1 : 0;
  const range = least === fn.params.length ? `${least - hidden}` : `${least - hidden} to ${fn.params.length - hidden}`;
  return `\`${name}\` takes ${range} argument${range === '1' ? '' : 's'}, not ${count - hidden}`;
}

/** As `callProblem`, for the forms that are not plain functions; undefined for a plain function. */
function specialProblem({ name, method, count }: CallShape): string | null | undefined {
  if (LIST_MACROS.has(name)) return `\`${name}\` is used as \`list.${name}(x, …)\``;
  if (name === 'has') return '`has` takes one field, as in `has(a.b)`';
  if (name === 'strict' || name === 'guard')
    return !method && count === 1 ? null : `\`${name}\` takes one expression, as in \`${name}(a < b)\``;
  if (name === 'rule')
    return !method && count === 2 ? null : '`rule` takes a text and an expression, as in `rule("a < b", a < b)`';
  if (name === 'text') return count > 0 ? null : '`text` needs an argument';
  if (isSearch(name)) return count === 2 ? null : `\`${name}\` takes a text and a pattern`;
  return undefined;
}

/** True for functions that search a text for a pattern. */
export function isSearch(name: string): name is 're' | 'matches' {
  return name === 're' || name === 'matches';
}
