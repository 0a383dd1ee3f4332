/** What an edit changes: the values by their path. */

export interface Changed {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

export function changesOf(before: unknown, after: unknown): readonly Changed[] {
  const [from, to] = [flat(before), flat(after)];
  return [...new Set([...from.keys(), ...to.keys()])].flatMap((path) => {
    const [old = null, now = null] = [from.get(path), to.get(path)];
    return old === now ? [] : [{ path, before: old, after: now }];
  });
}

function flat(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (value === null || typeof value !== 'object')
    return found.set(path, typeof value === 'string' ? value : JSON.stringify(value));
  const entries = Object.entries(value);
  if (entries.length === 0) return found.set(path, Array.isArray(value) ? '[]' : '{}');
  for (const [key, each] of entries) flat(each, path === '' ? key : `${path}.${key}`, found);
  return found;
}

export interface Parts {
  readonly start: string;
  readonly changed: string;
  readonly end: string;
}

/** The part of a line that is not as in the other one. */
export function partsOf(text: string, other: string): Parts {
  let start = 0;
  while (start < text.length && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < text.length - start && end < other.length - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  return {
    start: text.slice(0, start),
    changed: text.slice(start, text.length - end),
    end: text.slice(text.length - end),
  };
}
