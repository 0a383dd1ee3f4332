/**
 * What one evaluation carries along: the caller's scope, the variables that macros bind, and the fuel that is left.
 */
import { EvalError } from './error.ts';
import type { Value } from './value.ts';

export interface Env {
  readonly scope: { readonly [name: string]: Value };
  readonly locals: Value[];
  fuel: number;
}

export type Eval = (env: Env) => Value;

export function charge(env: Env, units: number): void {
  env.fuel -= units;
  if (env.fuel < 0) throw new EvalError('limit', 'the expression takes too much work');
}

/** Work on text is charged by length, so that no chain of string operations grows without bound. */
export function chargeText(env: Env, characters: number): void {
  charge(env, 1 + (characters >> 3));
}
