/** The writes of a node, the error of a failure, and the retry of a call that is not repeated. The kit passes them on. */
import type { FailureClass, TerminalCode } from '../../ir/codes.ts';
import type { Expr, Retry, Write } from '../../ir/nodes.ts';
import { object, quote } from '../expressions/cel-text.ts';

export const NO_RETRY: Retry = { max: 0, baseMs: 0, capMs: 0, on: [] };

export function set(slot: string, value: Write['value']): Write {
  return { slot, mode: 'set', value };
}

/** Writes one field below a slot. */
export function setField(slot: string, fields: readonly string[], value: Write['value']): Write {
  return { slot, path: fields, mode: 'set', value };
}

export function append(slot: string, value: Write['value']): Write {
  return { slot, mode: 'append', value };
}

/** A failure that no effect reports. */
export interface Failure {
  readonly class: FailureClass;
  readonly type: string;
  readonly code: TerminalCode;
  readonly message: Expr;
  /** The authored name that the failure is reported for; the step's own unless given. */
  readonly node?: string;
}

export function errorOf({ class: kind, type, message, code }: Failure, node: string): Expr {
  return object([
    ['class', quote(kind)],
    ['type', quote(type)],
    ['message', message],
    ['node', quote(node)],
    ['code', quote(code)],
  ]);
}
