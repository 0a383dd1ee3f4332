/** Pages of lists: their cursors, and readers that go through all pages. */
import { SluiceError } from './errors.ts';
import type { Page, PageRequest } from './ports.ts';

const PAGE_LIMIT = 100;

/** The place after which a page begins: the sort key of the last item before it. Null for the first page. */
export function placeOf({ cursor }: PageRequest, length: number): readonly number[] | null {
  if (cursor === undefined) return null;
  const numbers = cursor.split('.').map(Number);
  if (numbers.length === length && /^\d+(\.\d+)*$/.test(cursor) && numbers.every(Number.isSafeInteger)) return numbers;
  throw badCursor(cursor);
}

function badCursor(cursor: string): SluiceError {
  return new SluiceError(
    'bad-cursor',
    `\`${cursor}\` is not a place in this list`,
    'Pass `next` of the page before, or leave the cursor out for the first page.',
  );
}

/** The cursor of a list of names is the last name. */
export function cursorOfName(name: string): string {
  return Buffer.from(name).toString('base64url');
}

/** The name after which a page of names begins. Empty for the first page. */
export function nameBefore({ cursor }: PageRequest): string {
  if (cursor === undefined) return '';
  const name = Buffer.from(cursor, 'base64url').toString();
  if (name === '' || cursorOfName(name) !== cursor) throw badCursor(cursor);
  return name;
}

export function limitOf({ limit = PAGE_LIMIT }: PageRequest): number {
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new SluiceError('bad-cursor', `the limit \`${limit}\` is not a whole number above 0`, 'Try 50.');
}

/** Of the rows that were read, one more than the limit, the page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  itemOf: (row: Row) => Item,
  placeAt: (row: Row) => readonly (number | string)[],
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(itemOf),
    next: last === undefined || rows.length <= limit ? null : placeAt(last).join('.'),
  };
}

/** All items of a list, page by page. */
export async function* eachOf<Item>(read: (page: PageRequest) => Promise<Page<Item>>): AsyncGenerator<Item> {
  let page = await read({});
  for (;;) {
    yield* page.items;
    if (page.next === null) return;
    page = await read({ cursor: page.next });
  }
}

export async function allOf<Item>(read: (page: PageRequest) => Promise<Page<Item>>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const item of eachOf(read)) items.push(item);
  return items;
}
