/**
 * The values an expression computes with: JSON, plus what CEL adds to it. A CEL `int` is a bigint and a CEL `double` a
 * number, so that JSON numbers are doubles without conversion. Everything JSON lacks is a `Boxed`.
 */
export abstract class Boxed {
  abstract readonly type: string;
}

export type Value = null | boolean | number | bigint | string | Value[] | ValueMap | Boxed;
export interface ValueMap {
  [key: string]: Value;
}

export class Uint extends Boxed {
  readonly type = 'uint';
  readonly value: bigint;
  constructor(value: bigint) {
    super();
    this.value = value;
  }
}

export class Bytes extends Boxed {
  readonly type = 'bytes';
  readonly data: Uint8Array;
  constructor(data: Uint8Array) {
    super();
    this.data = data;
  }
}

/** The value of `type(x)`. Two are equal if their names are. */
export class TypeName extends Boxed {
  readonly type = 'type';
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
}

export const TYPE_NAMES: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'int',
  'list',
  'map',
  'null_type',
  'string',
  'type',
  'uint',
]);

export function typeOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return 'double';
    case 'bigint':
      return 'int';
    case 'boolean':
      return 'bool';
    default:
      if (value === null) return 'null_type';
      if (Array.isArray(value)) return 'list';
      return value instanceof Boxed ? value.type : 'map';
  }
}

/** A list, as opposed to a map or a boxed value. Exists because `Array.isArray` alone narrows to `any[]`. */
export function isList(value: Value): value is Value[] {
  return Array.isArray(value);
}

/** What a guard could not read as it stands. */
export interface Notes {
  /** A sentence for each text that was compared as a number. */
  readonly coerced: string[];
  /** A sentence for each field that was read of a text. */
  readonly unread: string[];
}
