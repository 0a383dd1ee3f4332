/**
 * The fingerprint of a value. A list's is built from the fingerprint of its front part and its last element, and
 * remembered, so that a conversation that grows by one message costs one step to fingerprint again, not its whole length.
 */
import type { Json } from './json.ts';

const remembered = new WeakMap<readonly Json[], string>();

export function digest(value: Json, hash: (text: string) => string): string {
  return hash(plain(value, hash));
}

/** Says that `next` is `previous` with one more element, so that its fingerprint need not start from nothing. */
export function rememberAppend(previous: Json, next: Json, hash: (text: string) => string): void {
  if (!Array.isArray(previous) || !Array.isArray(next)) return;
  const front = remembered.get(previous);
  if (front !== undefined) remembered.set(next, hash(front + plain(next[next.length - 1] ?? null, hash)));
}

function plain(value: Json, hash: (text: string) => string): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${listDigest(value, hash)}]`;
  let text = '{';
  for (const key of Object.keys(value).sort()) text += `${JSON.stringify(key)}:${plain(value[key] as Json, hash)},`;
  return `${text}}`;
}

function listDigest(list: readonly Json[], hash: (text: string) => string): string {
  const known = remembered.get(list);
  if (known !== undefined) return known;
  let digest = '';
  for (const item of list) digest = hash(digest + plain(item, hash));
  remembered.set(list, digest);
  return digest;
}
