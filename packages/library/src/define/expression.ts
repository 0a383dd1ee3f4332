/**
 * Expressions that are recorded instead of computed: each operation adds to a CEL text. The types of the values come along,
 * so a comparison that cannot hold is a type error.
 */
import { isIdentifier, quote } from '@sluice-internal/compile/expressions';
import { SluiceError } from '@sluice-internal/engine/ports';

declare const VALUE: unique symbol;

/**
 * Something that becomes a value of type `T` during a run.
 * @example
 * const isLarge: Expression<unknown> = cel`input.amount > 100`;
 */
export interface Expression<out T> {
  /** Exists in types only. */
  readonly [VALUE]: T;
}

/** A value, or an expression that becomes one. */
export type Operand<T> = T | Expression<T>;

/** An expected value: the value, an expression, or a structure that contains expressions. */
export type Given<T> =
  | T
  | Expression<Unchanged<T>>
  | (T extends readonly unknown[]
      ? { readonly [Index in keyof T]: Given<T[Index]> }
      : T extends object
        ? { readonly [Field in keyof T]: Given<T[Field]> }
        : never);

/** Results of steps are never changed, so a result with lists that cannot be changed fits where such lists are not asked for. */
type Unchanged<T> = T extends object ? { readonly [Key in keyof T]: Unchanged<T[Key]> } : T;

/** The value that a structure with expressions becomes. `Missing` stands for a value that the run does not have. */
export type Resolved<T, Missing = undefined> =
  T extends Expression<infer Value>
    ? undefined extends Value
      ? Exclude<Value, undefined> | Missing
      : Value
    : T extends string | number | boolean | null | undefined
      ? T
      : T extends object
        ? { readonly [Field in keyof T]: Resolved<T[Field], Missing> }
        : T;

/**
 * A typed reference to the input or to the result of an earlier step.
 * @example
 * const isRefund = (kind: Ref<string>) => kind.eq('refund');
 */
export type Ref<T> = Expression<T> & Common<T> & Operations<NonNullable<T>> & Fields<T>;

interface Common<T> {
  eq(other: Operand<Comparable<T>>): Ref<boolean>;
  ne(other: Operand<Comparable<T>>): Ref<boolean>;
  /** True if the value is one of a list. */
  in(list: Operand<readonly Comparable<T>[]>): Ref<boolean>;
  /** True if there is a value. */
  exists(): Ref<boolean>;
  /** The value to use instead if this one is missing. */
  default<Other>(other: Operand<Other>): Ref<NonNullable<T> | Other>;
  /** A field by name, also one that is named like an operation. */
  field<Name extends keyof NonNullable<T> & string>(name: Name): Ref<FieldOf<T, Name>>;
  /** The value as JSON text. */
  json(): Ref<string>;
}
type Comparable<T> = unknown extends T ? unknown : NonNullable<T> | null;

type Operations<T> = unknown extends T
  ? object
  : [T] extends [boolean]
    ? BooleanOperations
    : [T] extends [number]
      ? NumberOperations
      : [T] extends [string]
        ? TextOperations
        : [T] extends [readonly (infer Item)[]]
          ? ListOperations<Item>
          : object;

interface BooleanOperations {
  and(other: Operand<boolean>): Ref<boolean>;
  or(other: Operand<boolean>): Ref<boolean>;
  not(): Ref<boolean>;
}
interface NumberOperations {
  gt(other: Operand<number>): Ref<boolean>;
  gte(other: Operand<number>): Ref<boolean>;
  lt(other: Operand<number>): Ref<boolean>;
  lte(other: Operand<number>): Ref<boolean>;
  plus(other: Operand<number>): Ref<number>;
  minus(other: Operand<number>): Ref<number>;
  times(other: Operand<number>): Ref<number>;
}
interface TextOperations {
  contains(part: Operand<string>): Ref<boolean>;
  startsWith(part: Operand<string>): Ref<boolean>;
  endsWith(part: Operand<string>): Ref<boolean>;
  /** A regular expression in RE2 syntax. */
  matches(pattern: string): Ref<boolean>;
  size(): Ref<number>;
}
interface ListOperations<Item> {
  size(): Ref<number>;
  at(index: number): Ref<Item | undefined>;
  includes(item: Operand<Item>): Ref<boolean>;
}

type Fields<T> = unknown extends T
  ? { readonly [field: string]: Ref<unknown> }
  : [NonNullable<T>] extends [string | number | boolean | readonly unknown[]]
    ? object
    : { readonly [Name in Exclude<keyof NonNullable<T> & string, keyof Common<unknown>>]: Ref<FieldOf<T, Name>> };
type FieldOf<T, Name extends keyof NonNullable<T>> =
  | NonNullable<T>[Name]
  | (undefined extends T ? undefined : never)
  | (null extends T ? undefined : never);

/** The CEL text of an expression. The number is its precedence. */
interface Recorded {
  readonly text: string;
  readonly binding: number;
  /** The parts of a template. */
  readonly parts?: readonly (string | Recorded)[];
}
const BINDING = { or: 1, and: 2, compare: 3, add: 4, multiply: 5, unary: 6, primary: 7 } as const;
const RECORDED: unique symbol = Symbol('recorded');

/** A reference to a path, such as `triage.output`. */
export function reference<T>(path: string): Ref<T> {
  return proxied({ text: path, binding: BINDING.primary }) as Ref<T>;
}

/**
 * Text with recorded values in it.
 * @example
 * begun.approve('gate', ({ triage }) => text`Refund ${triage.amount} for order ${triage.order}?`)
 */
export function text(strings: TemplateStringsArray, ...values: readonly Operand<unknown>[]): Ref<string> {
  const parts: (string | Recorded)[] = [strings[0] ?? ''];
  for (const [index, value] of values.entries()) {
    const recorded = recordedOf(value);
    if (recorded !== undefined) parts.push(recorded);
    else parts.push(typeof value === 'string' ? value : JSON.stringify(plain(value)));
    parts.push(strings[index + 1] ?? '');
  }
  const merged = parts.filter((part) => part !== '');
  const pieces = merged.map((part) => (typeof part === 'string' ? quote(part) : part.text));
  return proxied({ text: `text(${pieces.join(', ')})`, binding: BINDING.primary, parts: merged }) as Ref<string>;
}

/**
 * An expression written as CEL, for operations that references do not have. The compiler checks it.
 * @example
 * begun.when(() => cel<boolean>`size(event.payload.items.filter(i, i.price > 10)) > 2`, (f) => f.step(review))
 */
export function cel<T>(strings: TemplateStringsArray, ...values: readonly Operand<unknown>[]): Ref<T> {
  const source = strings.reduce(
    (before, part, index) => `${before}${operand(values[index - 1], BINDING.primary)}${part}`,
  );
  return proxied({ text: source.trim(), binding: 0 }) as Ref<T>;
}

/** The conditions that operations made and that nothing has used yet. */
const unused = new Set<Recorded>();

/**
 * Runs a function of references and reads its result. JavaScript evaluates `a && b` and `a ? b : c` at once, so that `a` is lost: a
 * condition that the function makes and does not use throws.
 */
export function recording<Result>(about: string, record: () => Result): Result {
  unused.clear();
  const result = record();
  const [lost] = unused;
  if (lost === undefined) return result;
  throw new SluiceError(
    'not-recorded',
    `the function of ${about} makes the condition \`${lost.text}\` and does not use it`,
    'Combine conditions with `.and(…)`, `.or(…)` and `.not()`. `&&`, `||`, `!` and `?:` cannot be recorded.',
  );
}

export function isExpression(value: unknown): value is Expression<unknown> {
  return recordedOf(value) !== undefined;
}

/** The CEL text of a condition. */
export function conditionOf(value: unknown, about: string): string {
  const recorded = recordedOf(value);
  if (recorded !== undefined) return recorded.text;
  throw notRecorded(about, value);
}

/** A structure as a document has it: every expression in it becomes a template. */
export function templateOf(value: unknown, about: string): unknown {
  const recorded = recordedOf(value);
  if (recorded !== undefined) return (recorded.parts ?? [recorded]).map(hole).join('');
  if (typeof value === 'string') return literalText(value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map((item) => templateOf(item, about));
  if (!isPlainObject(value)) throw notRecorded(about, value);
  const entries = Object.entries(value as object).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, templateOf(item, about)]));
}

/** The parts of a text: literal text, and the CEL text of each expression in it. */
export function textParts(value: unknown, about: string): readonly (string | { readonly expr: string })[] {
  if (typeof value === 'string') return [value];
  const recorded = recordedOf(value);
  if (recorded === undefined) throw notRecorded(about, value);
  return (recorded.parts ?? [recorded]).map((part) => (typeof part === 'string' ? part : { expr: part.text }));
}

function hole(part: string | Recorded): string {
  return typeof part === 'string' ? literalText(part) : `{{${part.text}}}`;
}

/** Braces in plain text are not a template. */
function literalText(given: string): string {
  return given.replaceAll('{{', '{{ "{{" }}');
}

type Operation = (self: Recorded, ...args: unknown[]) => Recorded;

const compare =
  (operator: string): Operation =>
  (self, other) =>
    infix(self, operator, other, BINDING.compare);
const method =
  (name: string): Operation =>
  (self, ...args) => ({
    text: `${bound(self, BINDING.primary)}.${name}(${args.map((arg) => operand(arg, 0)).join(', ')})`,
    binding: BINDING.primary,
  });
const size: Operation = (self) => ({ text: `size(${self.text})`, binding: BINDING.primary });

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['eq', compare('==')],
  ['ne', compare('!=')],
  ['gt', compare('>')],
  ['gte', compare('>=')],
  ['lt', compare('<')],
  ['lte', compare('<=')],
  ['in', compare('in')],
  [
    'includes',
    (self, item) => ({
      text: `${operand(item, BINDING.add)} in ${bound(self, BINDING.add)}`,
      binding: BINDING.compare,
    }),
  ],
  ['and', (self, other) => infix(self, '&&', other, BINDING.and)],
  ['or', (self, other) => infix(self, '||', other, BINDING.or)],
  ['not', (self) => ({ text: `!${bound(self, BINDING.unary)}`, binding: BINDING.unary })],
  ['plus', (self, other) => infix(self, '+', other, BINDING.add)],
  ['minus', (self, other) => infix(self, '-', other, BINDING.add)],
  ['times', (self, other) => infix(self, '*', other, BINDING.multiply)],
  ['exists', (self) => ({ text: `${bound(self, BINDING.add)} != null`, binding: BINDING.compare })],
  [
    'default',
    (self, other) => ({
      text: `(${bound(self, BINDING.add)} == null ? ${operand(other, 1)} : ${bound(self, 1)})`,
      binding: BINDING.primary,
    }),
  ],
  ['field', (self, name) => fieldOf(self, String(name))],
  ['json', (self) => ({ text: `toJson(${self.text})`, binding: BINDING.primary })],
  ['contains', method('contains')],
  ['startsWith', method('startsWith')],
  ['endsWith', method('endsWith')],
  ['matches', method('matches')],
  ['size', size],
  ['at', (self, index) => ({ text: `${bound(self, BINDING.primary)}[${Number(index)}]`, binding: BINDING.primary })],
]);

const CONDITIONS: ReadonlySet<string> = new Set(
  ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'includes', 'and', 'or', 'not', 'exists'].concat([
    'contains',
    'startsWith',
    'endsWith',
    'matches',
  ]),
);

function infix(left: Recorded, operator: string, right: unknown, binding: number): Recorded {
  const associative = binding <= BINDING.and ? binding : binding + 1;
  const leftText = bound(left, binding === BINDING.compare ? binding + 1 : binding);
  return { text: `${leftText} ${operator} ${operand(right, associative)}`, binding };
}

function fieldOf(self: Recorded, name: string): Recorded {
  const owner = bound(self, BINDING.primary);
  const text = isIdentifier(name) ? `${owner}.${name}` : `${owner}[${quote(name)}]`;
  return { text, binding: BINDING.primary };
}

function bound({ text: source, binding }: Recorded, least: number): string {
  return binding < least ? `(${source})` : source;
}

function operand(value: unknown, least: number): string {
  const recorded = recordedOf(value);
  return recorded === undefined ? literal(plain(value)) : bound(recorded, least);
}

function literal(value: unknown): string {
  if (typeof value === 'string') return /['\\\u0000-\u001f]/.test(value) ? quote(value) : `'${value}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, item]) => `${quote(key)}: ${literal(item)}`)
      .join(', ')}}`;
  return String(value);
}

function plain(value: unknown): unknown {
  const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  if (isPlain && !Number.isNaN(value)) return value;
  if (Array.isArray(value) || isPlainObject(value)) return value;
  throw notRecorded('an operation', value);
}

/** False for a date, a map or another class: a document has no such values. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function recordedOf(value: unknown): Recorded | undefined {
  if ((typeof value !== 'function' && typeof value !== 'object') || value === null) return undefined;
  return (value as { readonly [RECORDED]?: Recorded })[RECORDED];
}

/**
 * Every use that cannot be recorded throws, because its result would silently be wrong. A property is a field that can also
 * be called: `list.size()` is the operation, and `input.size` is a field.
 */
function proxied(recorded: Recorded, operation = '', owner?: Recorded): object {
  const refuse = (use: string) => (): never => {
    throw new SluiceError('not-recorded', `\`${recorded.text}\` ${use}`, HELP);
  };
  return new Proxy(() => undefined, {
    get: (_, name) => {
      if (name === RECORDED) {
        unused.delete(recorded);
        return recorded;
      }
      // A promise asks every value for `then`. A symbol asks for a conversion.
      if (name === 'then') return undefined;
      if (name === Symbol.toPrimitive || name === 'toString' || name === 'valueOf') return refuse(CONVERTED);
      if (name === 'toJSON') return refuse('is a reference and has no value yet, so it cannot become JSON');
      if (name === Symbol.iterator) return refuse('is a reference and has no value yet, so it cannot be looped over');
      if (typeof name === 'symbol') return undefined;
      return proxied(fieldOf(recorded, name), name, recorded);
    },
    apply: (_, __, args: unknown[]) => {
      const called = OPERATIONS.get(operation);
      if (called === undefined || owner === undefined) return refuse('is not an operation of references')();
      unused.delete(owner);
      const made = called(owner, ...args);
      if (CONDITIONS.has(operation)) unused.add(made);
      return proxied(made);
    },
    has: refuse('is a reference and has no value yet, so `in` cannot be recorded'),
    ownKeys: refuse('is a reference and has no value yet, so its fields cannot be listed'),
    set: refuse('is a reference and cannot be changed'),
  });
}

const CONVERTED = 'is a reference and has no value yet, so `>`, `+` and `${…}` cannot be recorded';
const HELP = 'Write operations as methods, such as `.eq(…)`, `.gt(…)` and `.and(…)`, and text as text`…`.';

function notRecorded(about: string, value: unknown): SluiceError {
  const isOwnClass = typeof value === 'object' && value !== null && !isPlainObject(value);
  const kind = value === undefined || value === null ? String(value) : `a ${typeof value}`;
  const found = isOwnClass ? `a ${value.constructor.name.toLowerCase()}` : kind === 'a object' ? 'an object' : kind;
  return new SluiceError('not-recorded', `the function of ${about} returned ${found}, which cannot be recorded`, HELP);
}
