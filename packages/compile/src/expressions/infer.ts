/**
 * Infers the type of an expression and reports mistakes that can be proved. Null passes every check, because any field may be
 * missing at run time.
 */
import {
  bindOf,
  childrenOf,
  fieldOf,
  listMacroOf,
  misspelt,
  typeIn,
  FUNCTIONS,
  FUNCTION_NAMES,
  callProblem,
  isSearch,
  spellsNumber,
} from '@sluice-internal/kernel/expr';
import type { Ast, ListMacro, Json, Kind } from '@sluice-internal/kernel/expr';
import { didYouMean, quoted, suggestion } from '../source/nearest.ts';
import { inBrackets, problem, type Problem, regexProblem } from './problem.ts';
import { isTypeName } from './reads.ts';
import { ANY, BOOL, NUMBER, STRING, literalType, unify, type Type } from './type.ts';

export interface Known {
  /** The variables in scope. Undefined means that any name may be a variable. */
  readonly names: ReadonlySet<string> | undefined;
  readonly types: ReadonlyMap<string, Type>;
  readonly guard?: boolean | undefined;
  /** Nodes whose names have hyphens or other signs. */
  readonly nodes?: readonly string[] | undefined;
}

export function infer(ast: Ast, known: Known, problems: Problem[]): Type {
  return new Inference(known, problems).of(ast, new Map());
}

type Locals = ReadonlyMap<string, Type>;

class Inference {
  readonly #known: Known;
  readonly #problems: Problem[];

  constructor(known: Known, problems: Problem[]) {
    this.#known = known;
    this.#problems = problems;
  }

  of(node: Ast, locals: Locals): Type {
    const sub = (child: Ast): Type => this.of(child, locals);
    switch (node.op) {
      case 'value':
        return literalType(node.args);
      case 'id':
        return this.#name(node, locals, true);
      case '.':
      case '[]':
        return this.#access(node, locals);
      case 'call':
      case 'rcall':
        return this.#call(node, locals);
      case 'list':
        return { kind: 'list', items: node.args.map(sub).reduce(unify, { kind: 'null' }) };
      case 'map':
        return this.#map(node, locals);
      case '?:':
        this.#bool(node.args[0], locals, 'the condition of `?:`');
        return unify(sub(node.args[1]), sub(node.args[2]));
      case '!_':
      case '-_':
        return this.#unary(node, locals);
      case '.?':
      case '[?]':
        this.#report(problem('syntax', node, 'optional access is not needed: a missing field reads as null'));
        return ANY;
      default:
        return this.#binary(node, locals);
    }
  }

  #unary(node: Ast & { op: '!_' | '-_' }, locals: Locals): Type {
    if (node.op === '!_') {
      this.#bool(node.args, locals, '`!`');
      return BOOL;
    }
    const { kind, values } = this.of(node.args, locals);
    if (kind !== 'number' && kind !== 'any') this.#report(problem('type', node, `\`-\` needs a number, not ${kind}`));
    return values === undefined ? NUMBER : { kind: 'number', values: values.map((value) => -Number(value)) };
  }

  #binary(node: Ast & { args: [Ast, Ast] }, locals: Locals): Type {
    if ((node.op as string) === '&&' || (node.op as string) === '||') {
      for (const side of node.args) this.#bool(side, locals, `each side of \`${node.op}\``);
      return BOOL;
    }
    const hyphened = this.#hyphened(node, locals);
    if (hyphened !== null) {
      this.#report(hyphened);
      return ANY;
    }
    const type = typeIn(node);
    const side = (each: Ast): Type => (each === type ? { kind: 'type' } : this.of(each, locals));
    const { guard = false } = this.#known;
    const operands = { node, left: side(node.args[0]), right: side(node.args[1]), guard };
    switch (node.op as string) {
      case '==':
      case '!=':
        this.#report(checkEquality(operands));
        return BOOL;
      case 'in':
        this.#report(...checkMembership(operands));
        return BOOL;
      case '<':
      case '<=':
      case '>':
      case '>=':
        this.#report(checkOrder(operands));
        return BOOL;
      default: {
        const result = checkArithmetic(operands);
        if ('message' in result) this.#report(result);
        return 'message' in result ? ANY : result;
      }
    }
  }

  /**
   * `due-date` reads `due` and subtracts `date`; `order.bill-to.name` reads `order.bill` and subtracts `to.name`. An author who
   * wrote no blanks means one name, unless both parts exist.
   */
  #hyphened(node: Ast, locals: Locals): Problem | null {
    const { first, names } = this.#minus(node, locals);
    const field = first.op === '.' ? fieldOf(first) : null;
    const key = first.op === 'id' ? first.args : field?.key;
    if (key === undefined || names.length === 0) return null;
    const owner = field === null ? null : new Inference(this.#known, []).of(field.of, locals);
    const isKnown = owner === null ? this.#exists(key, locals) : owner.fields?.has(key) === true;
    if (isKnown && names.every((each) => this.#exists(each, locals))) return null;
    const [name = ''] = HYPHENED.exec(node.input.slice(first.end - key.length)) ?? [];
    const dot = field === null ? '' : '.';
    const message = `\`${dot}${name}\` is read as \`${dot}${key}\` minus \`${name.slice(key.length + 1)}\``;
    const help = field === null ? this.#named(name) : `${inBrackets(name)}.`;
    return problem('syntax', node, message, `${help} To subtract, put blanks around \`-\`.`);
  }

  /** The first operand of subtractions without blanks, and the names that begin the others. A path from a known name is no part of a name. */
  #minus(node: Ast, locals: Locals): { readonly first: Ast; readonly names: readonly string[] } {
    const names: string[] = [];
    let first = node;
    while (first.op === '-' && isAdjacent(first)) {
      const [left, right] = first.args;
      const root = rootOf(right);
      if (root === undefined) break;
      if (right.op === 'id' || !this.#exists(root, locals)) names.push(root);
      first = left;
    }
    return { first, names };
  }

  #exists(name: string, locals: Locals): boolean {
    return locals.has(name) || this.#known.types.has(name) || this.#known.names?.has(name) === true;
  }

  /** How to write a name with a hyphen, or the name that was probably meant. */
  #named(name: string): string {
    const { names, nodes = [] } = this.#known;
    if (names !== undefined) return `Readable here: ${quoted([...names])}.`;
    if (nodes.includes(name)) return `Write a value of the node, such as \`${name}.output\`.`;
    const field = `Write a field as \`output['${name}']\` or \`event.payload['${name}']\`.`;
    return suggestion(misspelt(name, nodes), field);
  }

  /** A name alone may be a type, as in `type(x) == list`. A name whose field is read is a variable. */
  #name(node: Ast & { op: 'id' }, locals: Locals, alone: boolean): Type {
    const { names, types } = this.#known;
    const local = locals.get(node.args);
    if (local !== undefined) return local;
    if (alone && !types.has(node.args) && isTypeName([node.args], names)) return { kind: 'type' };
    if (names !== undefined && !names.has(node.args)) {
      const known = [...locals.keys(), ...names];
      const help = didYouMean(node.args, known, known.length === 0 ? undefined : `Readable here: ${quoted(known)}.`);
      this.#report(problem('name', node, `there is no \`${node.args}\` here`, help));
      return ANY;
    }
    return types.get(node.args) ?? ANY;
  }

  #access(node: Ast & { op: '.' | '[]' }, locals: Locals): Type {
    const field = fieldOf(node);
    if (field !== null && isGoogleType(node) && !locals.has('google')) return { kind: 'type' };
    if (field !== null)
      return this.#field(
        node,
        field.of.op === 'id' ? this.#name(field.of, locals, false) : this.of(field.of, locals),
        field.key,
      );
    const [of, index] = childrenOf(node) as [Ast, Ast];
    const container = this.of(of, locals);
    const key = this.of(index, locals);
    if (container.kind === 'list') {
      if (key.kind !== 'number' && key.kind !== 'any')
        this.#report(problem('type', index, `a list is indexed by a number, not by ${key.kind}`));
      return container.items ?? ANY;
    }
    if (container.kind !== 'map' && container.kind !== 'any')
      this.#report(problem('type', node, `a ${container.kind} has no parts`));
    return ANY;
  }

  #field(node: Ast, of: Type, key: string): Type {
    if (of.kind === 'any' || of.kind === 'null') return of;
    if (of.kind !== 'map') {
      this.#report(problem('field', node, `a ${of.kind} has no field \`${key}\``));
      return ANY;
    }
    const type = of.fields?.get(key) ?? of.rest;
    if (type !== undefined) return type;
    const fields = [...(of.fields?.keys() ?? [])];
    const help = didYouMean(key, fields, fields.length === 0 ? 'It has no fields.' : `It has ${quoted(fields)}.`);
    this.#report(problem('field', node, `there is no field \`${key}\``, help));
    return ANY;
  }

  #call(node: Ast & { op: 'call' | 'rcall' }, locals: Locals): Type {
    const macro = listMacroOf(node);
    if (macro !== null) return this.#macro(node, macro, locals);
    const bind = bindOf(node);
    if (bind !== null) return this.of(bind.body, new Map(locals).set(bind.variable, this.of(bind.value, locals)));
    const { type, problems } = inferCall(node, (arg) => this.of(arg, locals));
    this.#report(...problems);
    return type;
  }

  #macro(node: Ast, macro: ListMacro, locals: Locals): Type {
    const over = this.of(macro.over, locals);
    if (!['list', 'map', 'any', 'null'].includes(over.kind))
      this.#report(problem('type', node, `\`${macro.name}\` needs a list, not ${over.kind}`));
    const inner = new Map(locals).set(
      macro.variable,
      over.kind === 'list' ? (over.items ?? ANY) : over.kind === 'map' ? STRING : ANY,
    );
    const [first, second] = macro.bodies as [Ast, Ast | undefined];
    if (macro.name === 'map' && second === undefined) return { kind: 'list', items: this.of(first, inner) };
    this.#bool(first, inner, `the predicate of \`${macro.name}\``);
    if (second !== undefined) return { kind: 'list', items: this.of(second, inner) };
    if (macro.name !== 'filter') return BOOL;
    return over.kind === 'list' ? over : { kind: 'list' };
  }

  #map(node: Ast & { op: 'map' }, locals: Locals): Type {
    const fields = new Map<string, Type>();
    let open = false;
    for (const [key, value] of node.args) {
      const type = this.of(value, locals);
      if (key.op === 'value' && typeof key.args === 'string') fields.set(key.args, type);
      else open = this.of(key, locals) !== undefined;
    }
    return open ? { kind: 'map', fields, rest: ANY } : { kind: 'map', fields };
  }

  #bool(node: Ast, locals: Locals, where: string): void {
    const type = this.of(node, locals);
    if (!['bool', 'any', 'null'].includes(type.kind))
      this.#report(problem('type', node, `${where} must be a bool, not ${type.kind}`));
  }

  #report(...found: readonly (Problem | null)[]): void {
    for (const each of found) if (each !== null) this.#problems.push(each);
  }
}

function isAdjacent({ args: [left, right], input }: Ast & { args: [Ast, Ast] }): boolean {
  return input.slice(left.end, right.start) === '-';
}

/** The name that an operand begins with, unless it is a call. */
function rootOf({ input, start }: Ast): string | undefined {
  return /^[A-Za-z_]\w*(?!\w|\s*\()/.exec(input.slice(start))?.[0];
}

const HYPHENED = /^\w+(?:-[A-Za-z_]\w*)*/;

function isGoogleType(node: Ast): boolean {
  return /^google\.protobuf\.(Timestamp|Duration)$/.test(node.input.slice(node.start, node.end));
}

interface Operands {
  readonly node: Ast & { readonly args: readonly [Ast, Ast] };
  readonly left: Type;
  readonly right: Type;
  /** True if a number and a text that spells a number are compared as numbers. */
  readonly guard: boolean;
}

function checkEquality({ node, left, right, guard }: Operands): Problem | null {
  const [a, b] = node.args;
  if (guard && areNumbers(left, right))
    return checkEquality({ node, left: asNumber(left), right: asNumber(right), guard: false });
  const always = node.op === '==' ? 'false' : 'true';
  if (!isOpen(left) && !isOpen(right) && left.kind !== right.kind) {
    return problem('type', node, `a ${left.kind} is compared with a ${right.kind}, which is always ${always}`);
  }
  // Two literals make a constant, not a misspelt value.
  if (a.op === 'value' && b.op === 'value') return null;
  return b.op === 'value' ? impossible(b, left, right) : a.op === 'value' ? impossible(a, right, left) : null;
}

function checkMembership({ node, left, right }: Omit<Operands, 'guard'>): (Problem | null)[] {
  const [, container] = node.args;
  if (!['list', 'map', 'any', 'null'].includes(right.kind))
    return [problem('type', container, `\`in\` needs a list or a map, not ${right.kind}`)];
  if (container.op !== 'list') return [];
  return container.args.map((item) => (item.op === 'value' ? impossible(item, left, literalType(item.args)) : null));
}

const ORDERED: ReadonlySet<Kind> = new Set(['number', 'string', 'bool', 'bytes', 'timestamp', 'duration', 'any']);

function checkOrder({ node, left, right, guard }: Operands): Problem | null {
  if (guard && areNumbers(left, right)) return null;
  const unordered = [left, right].find((type) => !ORDERED.has(type.kind));
  if (unordered !== undefined)
    return problem('type', node, `a ${unordered.kind} has no order, so \`${node.op}\` is always false`);
  if (isOpen(left) || isOpen(right) || left.kind === right.kind) return null;
  return problem('type', node, `a ${left.kind} is compared with a ${right.kind}, which is always false`);
}

/** A number, and a text that always spells one. */
function areNumbers(left: Type, right: Type): boolean {
  const text = left.kind === 'number' ? right : right.kind === 'number' ? left : null;
  if (text?.kind !== 'string' || text.values === undefined) return false;
  return text.values.every((value) => typeof value === 'string' && spellsNumber(value));
}

function asNumber({ values }: Type): Type {
  return values === undefined ? { kind: 'number' } : { kind: 'number', values: values.map(Number) };
}

/** The type of the result, or the problem. */
function checkArithmetic({ node, left, right }: Omit<Operands, 'guard'>): Type | Problem {
  const { op } = node;
  if (left.kind === 'any' && right.kind === 'any') return ANY;
  const rule = RULES.find(([a, ops, b]) => fits(left, a) && fits(right, b) && ops.includes(op));
  if (rule === undefined) {
    const texts = op === '+' && (left.kind === 'string' || right.kind === 'string');
    return problem(
      'type',
      node,
      `\`${op}\` does not work between ${left.kind} and ${right.kind}`,
      texts ? 'Write `text(x)` to turn a value into text.' : undefined,
    );
  }
  return left.kind === 'any' || right.kind === 'any' ? ANY : { kind: rule[3] };
}

const RULES: readonly (readonly [Kind, string, Kind, Kind])[] = [
  ['number', '+-*/%', 'number', 'number'],
  ['string', '+', 'string', 'string'],
  ['list', '+', 'list', 'list'],
  ['bytes', '+', 'bytes', 'bytes'],
  ['duration', '+-', 'duration', 'duration'],
  ['timestamp', '+-', 'duration', 'timestamp'],
  ['duration', '+', 'timestamp', 'timestamp'],
  ['timestamp', '-', 'timestamp', 'duration'],
];

function fits(type: Type, kind: Kind): boolean {
  return type.kind === kind || type.kind === 'any';
}

function isOpen(type: Type): boolean {
  return type.kind === 'any' || type.kind === 'null';
}

/** A literal that a value with known choices can never equal. */
function impossible(literalNode: Ast, other: Type, wanted: Type): Problem | null {
  const [value] = wanted.values ?? [];
  const choices = other.values;
  if (value === undefined || value === null || choices === undefined || choices.length < 1 || choices.includes(value))
    return null;
  if (other.kind !== wanted.kind)
    return problem('never', literalNode, `a ${other.kind} is compared with a ${wanted.kind}, which never holds`);
  const texts = typeof value === 'string' ? choices.filter((each) => typeof each === 'string') : [];
  const help = didYouMean(show(value), texts, `It is one of ${quoted(choices.map(show))}.`);
  return problem('never', literalNode, `the value is never \`${show(value)}\``, help);
}

function show(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Calls that have the value of their last argument. */
const WRAPPERS: ReadonlySet<string> = new Set(['strict', 'guard', 'rule']);

function inferCall(
  node: Ast & { op: 'call' | 'rcall' },
  typeOf: (arg: Ast) => Type,
): { type: Type; problems: Problem[] } {
  const method = node.op === 'rcall';
  const name = node.args[0];
  const args = method ? [node.args[1], ...node.args[2]] : node.args[1];
  const [first] = args;
  if (name === 'has' && !method && args.length === 1 && first?.op === '.') {
    typeOf(first.args[0]);
    return { type: BOOL, problems: [] };
  }
  const types = args.map(typeOf);
  const wrong = callProblem({ name, method, count: args.length });
  if (wrong !== null) return { type: ANY, problems: [unusable(node, name, wrong)] };
  if (name === 'text') return { type: STRING, problems: [] };
  if (WRAPPERS.has(name)) return { type: types.at(-1) ?? ANY, problems: [] };
  if (isSearch(name)) return { type: BOOL, problems: checkSearch(name, args as [Ast, Ast], types as [Type, Type]) };
  const fn = FUNCTIONS.get(name);
  const problems = args.flatMap((arg, i) => {
    const kinds = fn?.params[i] ?? ['any'];
    const kind = types[i]?.kind ?? 'any';
    const fits = kind === 'any' || kind === 'null' || kinds.includes('any') || kinds.includes(kind);
    return fits ? [] : [problem('type', arg, `\`${name}\` needs ${kinds.join(' or ')} here, not ${kind}`)];
  });
  return { type: { kind: fn?.returns ?? 'any' }, problems };
}

function unusable(node: Ast & { op: 'call' | 'rcall' }, name: string, message: string): Problem {
  if (FUNCTION_NAMES.includes(name)) return problem('function', node, message);
  return problem(
    'function',
    node,
    message,
    name === 'not' ? 'Write `!`.' : didYouMean(name, FUNCTION_NAMES, undefined),
  );
}

function checkSearch(name: string, [text, pattern]: readonly [Ast, Ast], [type]: readonly [Type, Type]): Problem[] {
  const problems: Problem[] = [];
  if (!['string', 'any', 'null'].includes(type.kind))
    problems.push(problem('type', text, `\`${name}\` needs string here, not ${type.kind}`));
  if (pattern.op !== 'value' || typeof pattern.args !== 'string') {
    problems.push(problem('pattern', pattern, `the pattern of \`${name}\` must be a string literal`));
  } else {
    const why = regexProblem(pattern.args);
    if (why !== null) problems.push(problem('pattern', pattern, `the pattern ${why.message}`, why.help));
  }
  return problems;
}
