/**
 * The fingerprint of a value. The fingerprint of a list is made from that of its front part and its last element, and is
 * cached. So a conversation that grows by one message needs one step, not its whole length.
 */
import type { Json } from '../expr/json.ts';
import { sortedKeys } from '../expr/sorted-keys.ts';

type List = readonly Json[];
const remembered = new WeakMap<List, string>();
/** Lists that are another list with one more element; kept only until their fingerprint is known. */
const grownFrom = new WeakMap<List, List>();

export function digest(value: Json, hash: (text: string) => string): string {
  return hash(plain(value, hash));
}

/** Records that `longer` is `list` with one more element. Only matters for lists that already have a fingerprint. */
export function rememberGrowth(list: List, longer: List): void {
  if (remembered.has(list) || grownFrom.has(list)) grownFrom.set(longer, list);
}

function plain(value: Json, hash: (text: string) => string): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${listDigest(value, hash)}]`;
  let text = '{';
  for (const key of sortedKeys(value)) text += `${JSON.stringify(key)}:${plain(value[key] as Json, hash)},`;
  return `${text}}`;
}

function listDigest(list: List, hash: (text: string) => string): string {
  const known = remembered.get(list);
  if (known !== undefined) return known;
  const front = knownFront(list);
  let digest = front === undefined ? '' : (remembered.get(front) as string);
  for (let index = front?.length ?? 0; index < list.length; index++)
    digest = hash(digest + plain(list[index] as Json, hash));
  remembered.set(list, digest);
  grownFrom.delete(list);
  return digest;
}

/** The longest front part of this list whose fingerprint is known. */
function knownFront(list: List): List | undefined {
  let front = grownFrom.get(list);
  while (front !== undefined && !remembered.has(front)) front = grownFrom.get(front);
  return front;
}
