/** What a message calls the thing at a path: by its key, by its id, or by its number in a list. */
import { childOf, textOf, type Path } from '../../source/located.ts';
import type { Salvage } from './salvage.ts';

/** The value itself, as the subject of "must be …". */
export function subject(path: Path, what: string): string {
  const last = path.at(-1);
  if (last === undefined) return what;
  return typeof last === 'string' ? `\`${last}\`` : item(path, what);
}

/** What holds a key that is missing or unknown: an id says more than a number in a list. */
export function holder(path: Path, salvage: Salvage, what: string): string {
  if (typeof path.at(-1) !== 'number') return subject(path, what);
  const { node } = salvage.find(path);
  const id = ['id', 'name', 'Name']
    .map((key) => textOf(childOf(node, key)))
    .find((text) => text !== undefined && text !== '');
  return id === undefined ? subject(path, what) : `\`${id}\``;
}

function item(path: Path, what: string): string {
  const list = path.slice(0, -1);
  return `item ${Number(path.at(-1)) + 1} of ${subject(list, what)}`;
}
