/** Big values are stored once per run, by hash; events name them. */
import { hash } from 'node:crypto';
import type { Json } from '../core/json.ts';
import type { Blob } from './ports.ts';

/** In characters of JSON. Below this a reference saves nothing worth having. */
const BIG = 4096;

/** What one run has put aside so far. */
export interface Shelf {
  readonly pack: (value: Json) => string;
  readonly unpack: (stored: Json) => Json;
  /** The blobs that were new since the last call. */
  readonly takeNew: () => readonly Blob[];
}

export function createShelf(known: readonly Blob[]): Shelf {
  const bodies = new Map(known.map(({ hash: id, body }) => [id, body]));
  const shelved = new WeakMap<object, string>();
  let fresh: Blob[] = [];
  const put = (text: string): string => {
    const id = hash('sha256', text, 'base64url');
    if (!bodies.has(id)) {
      bodies.set(id, text);
      fresh.push({ hash: id, body: text });
    }
    return `{"$blob":"${id}"}`;
  };
  return {
    pack: (value) => {
      const isObject = typeof value === 'object' && value !== null;
      const before = isObject ? shelved.get(value) : undefined;
      if (before !== undefined) return before;
      const text = JSON.stringify(value);
      if (text.length > BIG) {
        const named = put(text);
        if (isObject) shelved.set(value, named);
        return named;
      }
      return isObject && (text.startsWith('{"$blob"') || text.startsWith('{"$literal"')) ? `{"$literal":${text}}` : text;
    },
    unpack: (stored) => {
      if (stored === null || typeof stored !== 'object' || Array.isArray(stored)) return stored;
      if ('$literal' in stored) return stored['$literal'] as Json;
      if (!('$blob' in stored)) return stored;
      const id = stored['$blob'] as string;
      const body = bodies.get(id);
      if (body === undefined) throw new Error(`the value ${id} that an event names is not in the journal`);
      return JSON.parse(body) as Json;
    },
    takeNew: () => {
      const taken = fresh;
      fresh = [];
      return taken;
    },
  };
}
