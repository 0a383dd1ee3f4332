/**
 * The declaration of a function: its parameters for the checker, its forms for the parser, and its code. The first parameter
 * of a method is its receiver.
 */
import type { Env } from './context.ts';
import { EvalError } from './error.ts';
import { typeOf } from './value.ts';
import type { Value } from './value.ts';

export type Kind =
  | 'any'
  | 'null'
  | 'bool'
  | 'number'
  | 'string'
  | 'bytes'
  | 'list'
  | 'map'
  | 'timestamp'
  | 'duration'
  | 'type';

export type Run = (env: Env, a: Value, b?: Value, c?: Value, d?: Value) => Value;

export interface Fn {
  /** Each parameter takes null as well; several kinds where an overload exists. */
  readonly params: readonly (readonly Kind[])[];
  /** The number of required parameters. Default: all. */
  readonly required?: number;
  readonly forms: 'global' | 'method' | 'both';
  readonly returns: Kind;
  readonly run: Run;
}

export type FnTable = { readonly [name: string]: Fn };

export function wrongType(name: string, wanted: string, got: Value | undefined): EvalError {
  return new EvalError('type', `\`${name}\` needs ${wanted}, not ${typeOf(got ?? null)}`);
}
