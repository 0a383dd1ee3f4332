/**
 * `&&`, `||`, `!` and `?:`. Null counts as false. As in CEL, `&&` and `||` are indifferent to the order of their operands:
 * an error on one side is forgotten when the other side decides alone. A limit is never forgotten.
 */
import type { Env, Eval } from './env.ts';
import { EvalError } from './error.ts';
import { typeOf } from './value.ts';
import type { Value } from './value.ts';

export function truth(value: Value, where: string): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  throw new EvalError('type', `${where} needs a bool, not ${typeOf(value)}`);
}

export function either(op: '&&' | '||', left: Eval, right: Eval): Eval {
  // The value that settles the result whatever the other side says.
  const settles = op === '||';
  const where = `\`${op}\``;
  return (env: Env) => {
    let failure: EvalError;
    try {
      if (truth(left(env), where) === settles) return settles;
    } catch (cause) {
      failure = forgivable(cause);
      if (truth(right(env), where) === settles) return settles;
      throw failure;
    }
    return truth(right(env), where);
  };
}

/** The error if another operand may still outweigh it; otherwise it is thrown on. */
export function forgivable(cause: unknown): EvalError {
  if (cause instanceof EvalError && cause.kind !== 'limit') return cause;
  throw cause;
}
