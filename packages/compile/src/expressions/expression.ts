/**
 * Checks an expression before anything runs. All problems are reported at once, each with its range in the source text.
 * Check the text as the author wrote it, then rewrite names: the ranges belong to the author's text.
 */
import { EvalError, compileAst, parseExpr, reasonOf } from '@sluice-internal/kernel/expr';
import type { Ast, Expr, Json, Kind } from '@sluice-internal/kernel/expr';
import { infer } from './infer.ts';
import type { Report } from '../source/diagnostics.ts';
import type { Located } from '../source/located.ts';
import { inBrackets, problem, reportProblems, severityOf, type Problem } from './problem.ts';
import { readsOf, type Path } from './reads.ts';
import { typeFromSchema } from './type.ts';

export interface ExprContext {
  /** The variables there are. Leave it out where any name may be one. */
  readonly names?: Iterable<string>;
  /** JSON Schemas of variables, by name. Parts without a schema are not checked. */
  readonly types?: { readonly [name: string]: Json };
  /** True for a guard of a flow, which compares a number with a text that spells a number as numbers. */
  readonly guard?: boolean;
  /** Nodes whose names have hyphens or other signs. */
  readonly nodes?: readonly string[];
}

export type ExprCheck =
  | {
      readonly ok: true;
      readonly source: Expr;
      readonly type: Kind;
      readonly reads: readonly Path[];
      /** Present if the expression has the same value for all data. */
      readonly constant?: boolean;
      /** Comparisons that never hold. */
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function checkExpression(source: Expr, context: ExprContext = {}): ExprCheck {
  const parsed = parse(source);
  if ('code' in parsed) return { ok: false, problems: [parsed] };
  const names = context.names === undefined ? undefined : new Set(context.names);
  const types = new Map(Object.entries(context.types ?? {}).map(([name, schema]) => [name, typeFromSchema(schema)]));
  const problems: Problem[] = [];
  const type = infer(parsed.ast, { ...context, names, types }, problems);
  // An expression with correct types may still exceed a limit of the evaluator, such as macro nesting.
  if (!hasError(problems)) problems.push(...compileProblems(parsed.ast, source));
  problems.sort((a, b) => a.start - b.start);
  if (hasError(problems)) return { ok: false, problems };
  const constant = constantOf(parsed.ast, names ?? new Set(types.keys()));
  const result = { ok: true, source, type: type.kind, reads: readsOf(parsed.ast, names), warnings: problems } as const;
  return constant === undefined ? result : { ...result, constant };
}

/** Reports the problems of an expression of the document, and comparisons in it that never hold. */
export function reportExpression(
  source: Expr | undefined,
  located: Located | undefined,
  context: ExprContext,
  report: Report,
): void {
  if (source === undefined || located?.kind !== 'scalar') return;
  const checked = checkExpression(source, context);
  reportProblems(report, located, checked.ok ? checked.warnings : checked.problems);
}

/** The same for the condition of every rule. `located` finds its text. */
export function reportConditions(
  rules: readonly { readonly when?: Expr | undefined }[] | undefined,
  located: (index: number) => Located | undefined,
  names: readonly string[],
  report: Report,
): void {
  for (const [index, { when }] of (rules ?? []).entries()) reportExpression(when, located(index), { names }, report);
}

function hasError(problems: readonly Problem[]): boolean {
  return problems.some((each) => severityOf(each) === 'error');
}

function parse(source: string): { ast: Ast } | Problem {
  try {
    return { ast: parseExpr(source) };
  } catch (cause) {
    return fromError(cause, source);
  }
}

function compileProblems(ast: Ast, source: string): Problem[] {
  try {
    compileAst(ast);
    return [];
  } catch (cause) {
    return [fromError(cause, source)];
  }
}

function fromError(cause: unknown, source: string): Problem {
  const range = (cause instanceof EvalError ? cause.range : undefined) ?? { start: 0, end: source.length };
  const code = cause instanceof EvalError && cause.kind === 'limit' ? 'limit' : 'syntax';
  const accented = code === 'syntax' ? accentedName(source, range.start) : null;
  if (accented !== null) return accented;
  return problem(code, range, reasonOf(cause));
}

/** The parser stops at the first letter that a name cannot have. The problem is the whole word. */
function accentedName(source: string, at: number): Problem | null {
  if (!/^[^\P{L}A-Za-z]/u.test(source.slice(at))) return null;
  const start = at - (/\w*$/.exec(source.slice(0, at))?.[0].length ?? 0);
  const [word = ''] = /^[\p{L}\p{M}\p{N}_]+/u.exec(source.slice(start)) ?? [];
  const help = source[start - 1] === '.' ? `${inBrackets(word)}.` : `Write a field as \`output['${word}']\`.`;
  const message = `\`${word}\` is not a name: names have only letters from a to z, digits and \`_\``;
  return problem('syntax', { start, end: start + word.length }, message, help);
}

/**
 * The boolean that the expression always gives; undefined if it depends on data or is not a boolean. `variables` do not count
 * as data.
 */
function constantOf(node: Ast, variables?: ReadonlySet<string>): boolean | undefined {
  const of = (inner: Ast): boolean | undefined => constantOf(inner, variables);
  if (readsOf(node, variables).length === 0) return evaluate(node);
  switch (node.op) {
    case '&&':
    case '||': {
      const decisive = node.op === '||';
      const sides = node.args.map(of);
      if (sides.includes(decisive)) return decisive;
      return sides.every((side) => side === !decisive) ? !decisive : undefined;
    }
    case '!_': {
      const inner = of(node.args);
      return inner === undefined ? undefined : !inner;
    }
    case '?:': {
      const condition = of(node.args[0]);
      const [yes, no] = [of(node.args[1]), of(node.args[2])];
      return condition === undefined ? (yes === no ? yes : undefined) : condition ? yes : no;
    }
    default:
      return undefined;
  }
}

function evaluate(node: Ast): boolean | undefined {
  try {
    const value = compileAst(node)({});
    return typeof value === 'boolean' ? value : undefined;
  } catch {
    return undefined;
  }
}
