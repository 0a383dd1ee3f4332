/**
 * Tokens and the values that they stand for. A value is sealed with AES-256-GCM and stored apart from the journal; a keyed hash finds
 * the token of a value that was seen before. Only the token enters the journal.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { PiiStore, SealedToken } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';

export interface Vault {
  tokenFor(run: RunId, type: string, value: string): Promise<string>;
  /** Null if the run has no such token. */
  valueOf(run: RunId, token: string): Promise<string | null>;
  /** Throws if a stored value of the run cannot be read with this key. */
  check(run: RunId): Promise<void>;
  release(run: RunId, token: string): Promise<void>;
  isReleased(run: RunId, token: string): Promise<boolean>;
}

/**
 * Takes the next number of a type from a counter that does not lie in the vault. `last` is the number that
 * the vault knows.
 */
export type TakeNumber = (run: RunId, type: string, last: number) => Promise<number>;

export const TOKEN = /\[PII_[A-Z][A-Z0-9_]*_\d{3,}\]/g;
/** The type of text that only looks like a token. */
export const LOOKALIKE = 'text';
type Use = 'seal' | 'find' | 'release';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Without `takeNumber`, the vault counts by itself. */
export function createVault(store: PiiStore, key: Uint8Array, takeNumber?: TakeNumber): Vault {
  // Most runs have no personal data, so each key is derived when it is needed.
  const keys = new Map<Use, Buffer>();
  const keyTo = (use: Use): Buffer => {
    let derived = keys.get(use);
    if (derived === undefined)
      keys.set(use, (derived = Buffer.from(hkdfSync('sha256', key, '', `sluice pii ${use}`, KEY_BYTES))));
    return derived;
  };
  // A mark that was set without the key, or moved from another token, does not count.
  const markOf = (run: RunId, token: string): string =>
    createHmac('sha256', keyTo('release'))
      .update(JSON.stringify([run, token]))
      .digest('base64url');
  const valueOf = async (run: RunId, token: string): Promise<string | null> => {
    const sealed = await store.find(run, token);
    return sealed === null ? null : unseal(keyTo('seal'), `${run} ${token}`, sealed);
  };
  const makeToken = async (run: RunId, type: string, value: string): Promise<string> => {
    const lookup = createHmac('sha256', keyTo('find'))
      .update(JSON.stringify([run, type, value]))
      .digest('base64url');
    const token = (await store.tokenOf(run, lookup)) ?? (await addToken(run, type, lookup, value));
    // A hash that was moved to another token would give the value of another person.
    if ((await valueOf(run, token)) !== value) throw unreadable();
    return token;
  };
  const addToken = async (run: RunId, type: string, lookup: string, value: string): Promise<string> => {
    const last = await store.lastNumber(run, type);
    const number = takeNumber === undefined ? last + 1 : await takeNumber(run, type, last);
    const token = tokenOf(type, number);
    const made: SealedToken = { token, sealed: seal(keyTo('seal'), `${run} ${token}`, value) };
    return store.add(run, type, lookup, number, made);
  };
  // One after another, so that a value takes one number and the numbers follow the text.
  let latest: Promise<unknown> = Promise.resolve();
  return {
    tokenFor: (run, type, value) => {
      const made = latest.then(() => makeToken(run, type, value));
      latest = made.catch(() => undefined);
      return made;
    },
    valueOf,
    check: async (run) => {
      const first = (await store.first?.(run)) ?? null;
      if (first !== null) unseal(keyTo('seal'), `${run} ${first.token}`, first.sealed);
    },
    release: (run, token) => store.release(run, token, markOf(run, token)),
    isReleased: async (run, token) => (await store.releaseOf(run, token)) === markOf(run, token),
  };
}

/** The place is bound to the value: a sealed value that is moved to another token or run cannot be read. */
function seal(key: Uint8Array, place: string, value: string): Uint8Array {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place));
  const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

function unseal(key: Uint8Array, place: string, sealed: Uint8Array): string {
  const bytes = Buffer.from(sealed);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw unreadable(cause);
  }
}

function unreadable(cause?: unknown): SluiceError {
  return new SluiceError(
    'pii-key',
    'a stored value of personal data cannot be read: the key is another one, or the value was changed',
    'Set SLUICE_PII_KEY or `pii.key_file` to the key with which the run started.',
    cause,
  );
}

function tokenOf(type: string, number: number): string {
  return `[PII_${type.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_${String(number).padStart(3, '0')}]`;
}
