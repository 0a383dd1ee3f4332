/** Stores big values once per run, by hash. Events refer to them. */
import { hash } from 'node:crypto';
import { isRecord, parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { SluiceError } from '../ports/errors.ts';
import type { Blob } from '../ports/ports.ts';

/** In characters of JSON. Smaller values stay in their event. */
const BIG = 4096;

/** The big values of one run. */
export interface Shelf {
  readonly pack: (value: Json) => string;
  readonly unpack: (stored: Json) => Json;
  /** The blobs added since the last call. */
  readonly takeNew: () => readonly Blob[];
  /** The characters of all of them. */
  readonly size: number;
}

export function createShelf(known: readonly Blob[]): Shelf {
  return new RunShelf(known);
}

/** A blob whose body does not have its hash. */
export function changedBlob(blobs: readonly Blob[]): Blob | undefined {
  return blobs.find(({ hash: id, body }) => hash('sha256', body, 'base64url') !== id);
}

const NONE: readonly Blob[] = [];

class RunShelf implements Shelf {
  readonly #bodies = new Map<string, string>();
  #shelved: WeakMap<object, string> | null = null;
  #fresh: Blob[] | null = null;

  size = 0;

  constructor(known: readonly Blob[]) {
    for (const { hash: id, body } of known) this.#keep(id, body);
  }

  #keep(id: string, body: string): void {
    this.#bodies.set(id, body);
    this.size += body.length;
  }

  pack = (value: Json): string => {
    if (typeof value === 'object' && value !== null) return this.#packObject(value);
    const text = JSON.stringify(value);
    return text.length > BIG ? this.#put(text) : text;
  };

  unpack = (stored: Json): Json => {
    if (!isRecord(stored)) return stored;
    // Only an object with exactly one such key is a reference; `$literal` wraps a user value that looks like one.
    const [key, ...others] = Object.keys(stored);
    if (others.length > 0 || (key !== '$literal' && key !== '$blob')) return stored;
    if (key === '$literal') return stored[key] as Json;
    const id = stored[key] as string;
    const body = this.#bodies.get(id);
    if (body === undefined)
      throw new SluiceError(
        'chain-broken',
        `the journal lacks the value ${id} that an event refers to`,
        'Run `sluice audit verify`.',
      );
    return parseJson(body);
  };

  takeNew(): readonly Blob[] {
    const taken = this.#fresh ?? NONE;
    this.#fresh = null;
    return taken;
  }

  /** A big object that several steps pass on is serialised once. */
  #packObject(value: object): string {
    const before = this.#shelved?.get(value);
    if (before !== undefined) return before;
    const text = JSON.stringify(value);
    if (text.length > BIG) {
      const named = this.#put(text);
      (this.#shelved ??= new WeakMap()).set(value, named);
      return named;
    }
    return text.startsWith('{"$blob"') || text.startsWith('{"$literal"') ? `{"$literal":${text}}` : text;
  }

  #put(text: string): string {
    const id = hash('sha256', text, 'base64url');
    if (!this.#bodies.has(id)) {
      this.#keep(id, text);
      (this.#fresh ??= []).push({ hash: id, body: text });
    }
    return `{"$blob":"${id}"}`;
  }
}
