/**
 * JSON: the data that journals store, expressions read and ports exchange.
 * @example
 * const value: Json = { order: 'A-1', amounts: [20, 5] };
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The value if it is a list; if not, an empty list. The caller casts the entries. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** JSON with its keys in order: values with the same content have the same text. */
export function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, part: Json) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

/** The value with every text changed. `rename` changes the names of its fields. */
export function mapTexts(
  value: Json,
  change: (text: string) => Json,
  rename: (field: string) => string = (field) => field,
): Json {
  if (typeof value === 'string') return change(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change, rename));
  return withAllFields(Object.entries(value).map(([field, each]) => [rename(field), mapTexts(each, change, rename)]));
}

/** An object of these fields. Two names may have become the same: the later ones get a number, so that no field is lost. */
export function withAllFields(entries: readonly (readonly [string, Json])[]): Json {
  const fields = new Map<string, Json>();
  const counts = new Map<string, number>();
  for (const [key, value] of entries) {
    let name = key;
    let count = counts.get(key) ?? 1;
    while (fields.has(name)) name = `${key} (${++count})`;
    counts.set(key, count);
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/** True for an object that is not a list. */
export function isRecord(value: unknown): value is { [field: string]: Json } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
