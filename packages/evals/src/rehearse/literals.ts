/**
 * The conditions that the expressions of a flow put on its values: constants in comparisons, fields that are read, texts that are
 * searched for. Generated inputs, replies and results use them, so that random values often meet routes, signals and terminations.
 */
import { bindOf, childrenOf, listMacroOf, parseExpr, pathOfAst } from '@sluice-internal/kernel/expr';
import type { Ast, Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, DoNode, Node, Write } from '@sluice-internal/kernel/ir';

/** The conditions on one value. */
export interface Wanted {
  /** Values that it is compared with, and the neighbours of numbers. */
  readonly values: Set<Json>;
  /** Texts that it is searched for. */
  readonly texts: Set<string>;
  /** Lengths that its own length is compared with, and their neighbours. */
  readonly lengths: Set<number>;
  readonly fields: Map<string, Wanted>;
  /** The conditions on its items. Null if no expression reads it as a list. */
  items: Wanted | null;
}

export interface Literals {
  /** Of the input of the run. */
  readonly input: Wanted;
  /** By node: of what its call, or its signal, gives. */
  readonly results: ReadonlyMap<string, Wanted>;
  /** By the last name of a path, over all expressions. */
  readonly named: ReadonlyMap<string, Wanted>;
  /** Texts of conditions, which a reply may have to contain. */
  readonly texts: readonly string[];
}

const DEPTH_MAX = 6;
/** Conditions pass back through at most this many copies of a value. */
const COPIES_MAX = 4;

export function literalsIn(flow: CompiledFlow): Literals {
  const nodes = Object.values<Node>(flow.nodes);
  const root = nothing();
  const texts = new Set<string>();
  for (const node of nodes) {
    for (const source of expressionsOf(node)) collect(parseExpr(source), root, new Map());
    if (node.op === 'pick')
      for (const { when } of node.cases) for (const text of textsIn(parseExpr(when))) texts.add(text);
  }
  for (let round = 0; round < COPIES_MAX; round++) for (const node of nodes) copyBack(node, root);
  const results = new Map<string, Wanted>();
  for (const [id, node] of Object.entries<Node>(flow.nodes))
    if (node.op === 'do') results.set(id, resultOf(node, root));
  const named = new Map<string, Wanted>();
  nameFields(root, named, 0);
  return { input: fieldIn(root, 'input'), results, named, texts: [...texts] };
}

function nothing(): Wanted {
  return { values: new Set(), texts: new Set(), lengths: new Set(), fields: new Map(), items: null };
}

function expressionsOf(node: Node): readonly string[] {
  switch (node.op) {
    case 'pick':
      return node.cases.map(({ when }) => when);
    case 'let':
      return node.writes.flatMap(({ value }) => (typeof value === 'string' ? [value] : Object.values(value)));
    case 'do':
      return [
        ...node.failed.map(({ when }) => when),
        ...Object.values(node.effect.input),
        ...(node.accept === undefined ? [] : [node.accept]),
      ];
    default:
      return [];
  }
}

type Locals = ReadonlyMap<string, Wanted>;

/** Adds the constants of comparisons to the paths that they are compared with. */
function collect(ast: Ast, root: Wanted, locals: Locals): void {
  const macro = listMacroOf(ast);
  if (macro !== null) {
    const list = wantedAt(macro.over, root, locals);
    if (list === null) collect(macro.over, root, locals);
    const item = list === null ? nothing() : (list.items ??= nothing());
    for (const body of macro.bodies) collect(body, root, new Map(locals).set(macro.variable, item));
    return;
  }
  const bind = bindOf(ast);
  if (bind !== null) {
    const bound = wantedAt(bind.value, root, locals) ?? nothing();
    collect(bind.value, root, locals);
    collect(bind.body, root, new Map(locals).set(bind.variable, bound));
    return;
  }
  wantedAt(ast, root, locals);
  ask(ast, (node) => wantedAt(node, root, locals));
  for (const child of childrenOf(ast)) collect(child, root, locals);
}

type At = (node: Ast) => Wanted | null;

const MIRRORED = new Set(['==', '!=', '<', '<=', '>', '>=']);
const LOGICAL = new Set(['&&', '||', '!_']);
const CONVERSIONS = new Set(['double', 'int', 'uint', 'string', 'text', 'guard']);
const SEARCHES = new Set(['contains', 'startsWith', 'endsWith', 'matches']);

/** Adds the values that one operation compares with its operands. */
function ask(ast: Ast, at: At): void {
  const [first, second] = childrenOf(ast);
  if (MIRRORED.has(ast.op) && first !== undefined && second !== undefined) {
    compare(first, second, at);
    compare(second, first, at);
  } else if (ast.op === 'in') contained(ast.args[0], ast.args[1], at);
  else if (ast.op === 'rcall') search(ast.args[0], ast.args[1], ast.args[2], at);
  else if (ast.op === '?:') flag(ast.args[0], at);
  else if (LOGICAL.has(ast.op) || (ast.op === 'call' && ast.args[0] === 'guard'))
    for (const child of childrenOf(ast)) flag(child, at);
}

/** `value in list`. */
function contained(value: Ast, list: Ast, at: At): void {
  if (list.op === 'list') for (const each of childrenOf(list)) compare(value, each, at);
  const [of, literal] = [at(list), literalOf(value)];
  if (of !== null && literal !== undefined) (of.items ??= nothing()).values.add(literal);
}

/** `text.contains('part')` and its like. */
function search(method: string, of: Ast, [part]: readonly Ast[], at: At): void {
  if (!SEARCHES.has(method) || part === undefined) return;
  const [wanted, literal] = [at(of), literalOf(part)];
  if (wanted === null || typeof literal !== 'string') return;
  for (const each of method === 'matches' ? plainAlternatives(literal) : [literal]) wanted.texts.add(each);
}

/** A path that is a condition by itself is true or false. */
function flag(ast: Ast, at: At): void {
  if (ast.op === 'id' || ast.op === '.') for (const value of [true, false]) at(ast)?.values.add(value);
}

function compare(side: Ast, other: Ast, at: At): void {
  const literal = literalOf(other);
  const measured = sizeOf(side);
  if (measured !== null) {
    const wanted = at(measured);
    if (typeof literal === 'number' && wanted !== null)
      for (const length of [literal - 1, literal, literal + 1]) if (length >= 0) wanted.lengths.add(length);
    return;
  }
  const wanted = at(unwrapped(side));
  if (wanted === null) return;
  if (literal !== undefined) for (const value of around(literal)) wanted.values.add(value);
  else if (pathOfAst(unwrapped(other)) !== null) for (const value of [1, 10, 100]) wanted.values.add(value);
}

/** The value itself, and for a number values on both sides of it. */
function around(value: Json): readonly Json[] {
  if (typeof value !== 'number') return [value];
  if (Math.abs(value) <= 1 && !Number.isInteger(value)) return [value / 2, value, (1 + value) / 2, 0, 1];
  return [value - 1, value, value + 1, value * 10];
}

/** The argument of `size(x)` or `x.size()`. Null for any other expression. */
function sizeOf(ast: Ast): Ast | null {
  if (ast.op === 'call' && ast.args[0] === 'size') return childrenOf(ast)[0] ?? null;
  return ast.op === 'rcall' && ast.args[0] === 'size' ? (childrenOf(ast)[0] ?? null) : null;
}

/** The argument of a conversion such as `double(x)`. */
function unwrapped(ast: Ast): Ast {
  const [first] = childrenOf(ast);
  return ast.op === 'call' && CONVERSIONS.has(ast.args[0]) && first !== undefined ? unwrapped(first) : ast;
}

function literalOf(ast: Ast): Json | undefined {
  if (ast.op === '-_') {
    const value = literalOf(ast.args);
    return typeof value === 'number' ? -value : undefined;
  }
  if (ast.op !== 'value') return undefined;
  const value: unknown = ast.args;
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** The texts that a pattern of plain alternatives matches. A pattern of another kind gives none. */
function plainAlternatives(pattern: string): readonly string[] {
  const inner = pattern
    .replace(/^\(\?i\)/, '')
    .replace(/^\^?\(?/, '')
    .replace(/\)?\$?$/, '');
  return /^[\w\s|:;,@#/-]+$/.test(inner) ? inner.split('|') : [];
}

/** The texts of a condition: keywords, signals and marks that a reply may have to contain. */
function* textsIn(ast: Ast): Iterable<string> {
  const value = literalOf(ast);
  if (typeof value === 'string' && value.trim().length >= 2) yield value;
  for (const child of childrenOf(ast)) yield* textsIn(child);
}

/** The conditions on the value of a path such as `a.b`. Null for any other expression. */
function wantedAt(ast: Ast, root: Wanted, locals: Locals): Wanted | null {
  const path = pathOfAst(ast);
  if (path === null) return null;
  const [first = '', ...rest] = path;
  return descend(locals.get(first) ?? fieldIn(root, first), rest);
}

function descend(from: Wanted, path: readonly string[]): Wanted {
  return path.reduce(fieldIn, from);
}

function fieldIn(of: Wanted, name: string): Wanted {
  const known = of.fields.get(name) ?? nothing();
  of.fields.set(name, known);
  return known;
}

/** Adds the conditions on a copied value to the value that it was copied from. */
function copyBack(node: Node, root: Wanted): void {
  if (node.op === 'fork' && 'each' in node.over) {
    const list = wantedAt(parseExpr(node.over.each), root, new Map());
    if (list !== null) merge(fieldIn(root, node.over.as), (list.items ??= nothing()), 0);
  }
  if (node.op !== 'let') return;
  for (const write of node.writes) {
    if (typeof write.value !== 'string') continue;
    const source = wantedAt(unwrapped(parseExpr(write.value)), root, new Map());
    const copy = destinationOf(write, root);
    if (source !== null && source !== copy) merge(copy, source, 0);
  }
}

function destinationOf({ slot, path }: Write, root: Wanted): Wanted {
  return descend(fieldIn(root, slot), path ?? []);
}

/** The conditions on the result of a node's call. The slot of a model node holds its text. */
function resultOf({ effect, writes }: DoNode, root: Wanted): Wanted {
  const wanted = nothing();
  for (const write of writes) {
    const path = typeof write.value === 'string' ? pathOfAst(parseExpr(write.value)) : null;
    if (path?.[0] !== 'it') continue;
    const inside = effect.kind === 'model' && path[1] === 'text' ? path.slice(2) : path.slice(1);
    merge(destinationOf(write, root), descend(wanted, inside), 0);
  }
  return wanted;
}

function merge(from: Wanted, into: Wanted, depth: number): void {
  if (from === into || depth > DEPTH_MAX) return;
  addOwn(from, into);
  for (const [name, field] of [...from.fields]) merge(field, fieldIn(into, name), depth + 1);
  if (from.items !== null) merge(from.items, (into.items ??= nothing()), depth + 1);
}

/** Adds the conditions on the value itself. */
function addOwn(from: Wanted, into: Wanted): void {
  for (const value of from.values) into.values.add(value);
  for (const text of from.texts) into.texts.add(text);
  for (const length of from.lengths) into.lengths.add(length);
}

function nameFields(of: Wanted, named: Map<string, Wanted>, depth: number): void {
  if (depth > DEPTH_MAX) return;
  for (const [name, field] of of.fields) {
    const known = named.get(name) ?? nothing();
    named.set(name, known);
    addOwn(field, known);
    nameFields(field, named, depth + 1);
  }
  if (of.items !== null) nameFields(of.items, named, depth + 1);
}
