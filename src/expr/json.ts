/**
 * The data that flows through a run: what a journal stores and an expression reads. Nothing else crosses a port.
 * @example
 * const value: Json = { order: 'A-1', amounts: [20, 5] };
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The list that a value is; otherwise an empty one. The caller knows the type of its entries. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** JSON with its keys in order: values with the same content have the same text. */
export function sortedText(value: Json): string {
  return JSON.stringify(value, (_, part: Json) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

/** True for an object that is not a list. */
export function isRecord(value: unknown): value is { [field: string]: Json } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
