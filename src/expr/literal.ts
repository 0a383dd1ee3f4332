/**
 * Literals of the syntax tree as values. The parser does not check the range of an int; this does.
 */
import { toInt, toUint } from './arithmetic.ts';
import { EvalError } from './error.ts';
import type { Ast } from './parse.ts';
import { Bytes } from './value.ts';
import type { Value } from './value.ts';

export function literal(node: Ast & { op: 'value' }): Value {
  const value = node.args;
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string')
    return value;
  try {
    if (typeof value === 'bigint') return toInt(value);
    return value instanceof Uint8Array ? new Bytes(value) : toUint(value.value);
  } catch {
    throw new EvalError('other', `the integer ${String(value)} does not fit 64 bits`, {
      start: node.start,
      end: node.end,
    });
  }
}
