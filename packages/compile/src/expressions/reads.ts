/** The variables that an expression reads, as full paths with their places in the source. Variables of macros are left out. */
import { TYPE_NAMES, bindOf, childrenOf, fieldOf, listMacroOf, parseExpr, typeIn } from '@sluice-internal/kernel/expr';
import type { Ast } from '@sluice-internal/kernel/expr';
import type { Expr } from '@sluice-internal/kernel/ir';

/** `start` is where the root name begins, so the root spans `path[0].length` characters from there. */
export interface Path {
  readonly path: readonly string[];
  readonly start: number;
  readonly end: number;
}

export function readsOf(ast: Ast, names?: ReadonlySet<string>): Path[] {
  const reads: Path[] = [];
  visit(ast, new Set(), reads, names);
  return reads;
}

/** True if a root name is a type, as in `type(x) == string`, and not a variable. */
export function isTypeName(path: readonly string[], names: ReadonlySet<string> | undefined): boolean {
  const [root = ''] = path;
  if (names?.has(root) === true) return false;
  return TYPE_NAMES.has(root) ? path.length === 1 : /^google\.protobuf\.(Timestamp|Duration)$/.test(path.join('.'));
}

function visit(node: Ast, locals: ReadonlySet<string>, reads: Path[], names: ReadonlySet<string> | undefined): void {
  const path = segmentsOf(node);
  if (path !== null) {
    if (!locals.has(path[0] ?? '') && !isTypeName(path, names)) reads.push({ path, start: node.start, end: node.end });
    return;
  }
  const macro = listMacroOf(node);
  const bind = macro === null ? bindOf(node) : null;
  if (macro !== null) {
    visit(macro.over, locals, reads, names);
    for (const body of macro.bodies) visit(body, new Set(locals).add(macro.variable), reads, names);
  } else if (bind !== null) {
    visit(bind.value, locals, reads, names);
    visit(bind.body, new Set(locals).add(bind.variable), reads, names);
  } else for (const child of childrenOf(node)) if (child !== typeIn(node)) visit(child, locals, reads, names);
}

/** A literal position counts as a segment: `items[0].id` reads `items`, `0`, `id`. */
function segmentsOf(node: Ast): string[] | null {
  if (node.op === 'id') return [node.args];
  const field = fieldOf(node) ?? positionOf(node);
  if (field === null) return null;
  const path = segmentsOf(field.of);
  path?.push(field.key);
  return path;
}

function positionOf(node: Ast): { readonly of: Ast; readonly key: string } | null {
  if (node.op !== '[]') return null;
  const [of, index] = node.args;
  return index.op === 'value' && typeof index.args === 'bigint' ? { of, key: String(index.args) } : null;
}

/** The reads in the order of the source. Empty if the source does not parse: its check has reported that. */
export function readsIn(source: Expr, names?: ReadonlySet<string>): Path[] {
  try {
    return readsOf(parseExpr(source), names).sort((a, b) => a.start - b.start);
  } catch {
    return [];
  }
}

const FIELDS = '(type(input) == map ? input : jsonIn(text(input)))';

export function withInputFields(source: Expr): Expr {
  const fields = readsIn(source).filter(
    ({ path, end }) => path[0] === 'input' && (path.length > 1 || /^\s*\[/.test(source.slice(end))),
  );
  return fields.reduceRight(
    (text, { start }) => text.slice(0, start) + FIELDS + text.slice(start + 'input'.length),
    source,
  );
}

/** The expression in its own brackets, also where it ends in a comment. */
export function strictExpr(when: Expr): Expr {
  return `strict(${when}${when.includes('//') ? '\n' : ''})`;
}
