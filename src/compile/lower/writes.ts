/** The writes of a node, and the retry of a call that is not repeated. The kit passes them on. */
import type { Retry, Write } from '../../ir/nodes.ts';

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
