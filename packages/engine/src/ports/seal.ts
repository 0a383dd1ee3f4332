/**
 * Encryption at rest. A store seals the texts that hold what runs read and wrote, with AES-256-GCM. The id of the key stands in the
 * row, so that several keys can be in use while one follows another. A seal covers the place of the value: a row that was moved
 * elsewhere cannot be opened. Hashes are those of the plain text, so that a new key changes none of them.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { SluiceError } from './errors.ts';

/**
 * Where a value lies. It is part of what a seal covers.
 * @example
 * const place: Place = { store: 's_1', table: 'log', run: 'r_1', seq: 4 };
 */
export interface Place {
  /** The id of the store; empty for files beside it. */
  readonly store: string;
  readonly table: string;
  readonly run: string;
  /** The number of the event before it, or what else names the value within its run. */
  readonly seq: number | string;
}

/**
 * How a store keeps texts and files: sealed with a key, or as they are.
 * @example
 * const codec: Codec = codecOf(journalKeys(process.env['MY_KEYS'] ?? ''));
 * const store = openSqlite('./runs.db', { codec });
 */
export interface Codec {
  /** The id of the key that seals new values; null if they are stored as they are. */
  readonly key: string | null;
  seal(text: string, place: Place): string;
  /** The plain text. Throws `journal-key` without its key. A sealed text that was changed is returned as it is: no hash fits it. */
  open(stored: string, place: Place): string;
  sealBytes(data: Uint8Array, place: Place): Uint8Array;
  openBytes(stored: Uint8Array, place: Place): Uint8Array;
  /** False if the stored text is sealed with a key that this codec does not have. */
  has(stored: string): boolean;
}

/**
 * A key of the journal with its id.
 * @example
 * const ids = journalKeys(process.env['SLUICE_JOURNAL_KEY'] ?? '').map(({ id }: JournalKey) => id);
 */
export interface JournalKey {
  /** Derived from the key: two keys never have the same. */
  readonly id: string;
  readonly secret: Uint8Array;
}

const SECRET_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED = /^sealed:(k_[0-9a-f]{12}):/;
/** The mark of a plain text that begins like a sealed one. */
const PLAIN = 'plain:';
const HEADER_BYTES = 'sealed:k_000000000000:'.length;

/**
 * Seals with the first key, and opens with all of them. Without a key, values are stored as they are.
 * @example
 * const store = openSqlite('./runs.db', { codec: codecOf(journalKeys(process.env['MY_KEYS'] ?? '')) });
 */
export function codecOf(keys: readonly JournalKey[]): Codec {
  const [first] = keys;
  const byId = new Map(keys.map((each) => [each.id, each.secret]));
  const secretOf = (id: string): Uint8Array => {
    const secret = byId.get(id);
    if (secret === undefined) throw keyMissing(id, [...byId.keys()]);
    return secret;
  };
  return {
    key: first?.id ?? null,
    seal: (text, place) => {
      if (first === undefined) return SEALED.test(text) || text.startsWith(PLAIN) ? `${PLAIN}${text}` : text;
      return `sealed:${first.id}:${sealed(first.secret, Buffer.from(text), place).toString('base64')}`;
    },
    open: (stored, place) => {
      if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
      const id = keyIdOf(stored);
      if (id === null) return stored;
      const opened = unsealed(secretOf(id), Buffer.from(stored.slice(HEADER_BYTES), 'base64'), place);
      return opened === null ? stored : opened.toString();
    },
    sealBytes: (data, place) =>
      first === undefined
        ? data
        : Buffer.concat([Buffer.from(`sealed:${first.id}:`), sealed(first.secret, data, place)]),
    openBytes: (stored, place) => {
      const id = keyIdOf(Buffer.from(stored.subarray(0, HEADER_BYTES)).toString('latin1'));
      return id === null ? stored : (unsealed(secretOf(id), stored.subarray(HEADER_BYTES), place) ?? stored);
    },
    has: (stored) => {
      const id = keyIdOf(stored);
      return id === null || byId.has(id);
    },
  };
}

/** Stores everything as it is. */
export const NO_CODEC: Codec = codecOf([]);

/** The id of the key of a sealed text; null for a plain one. */
export function keyIdOf(stored: string): string | null {
  return SEALED.exec(stored)?.[1] ?? null;
}

/** The value sealed with the key of the codec; null if it is so already. Throws if it cannot be opened. */
export function resealed(codec: Codec, stored: string, place: Place): string | null {
  const id = keyIdOf(stored);
  if (id === codec.key) return null;
  const plain = codec.open(stored, place);
  if (id !== null && plain === stored)
    throw new SluiceError(
      'chain-broken',
      `a row of \`${place.table}\` of run \`${place.run}\` cannot be opened: it was changed`,
      'Run `sluice audit verify`.',
    );
  return codec.seal(plain, place);
}

/** As `resealed`, for files. */
export function resealedBytes(codec: Codec, stored: Uint8Array, place: Place): Uint8Array | null {
  const id = keyIdOf(Buffer.from(stored.subarray(0, HEADER_BYTES)).toString('latin1'));
  return id === codec.key ? null : codec.sealBytes(codec.openBytes(stored, place), place);
}

function sealed(secret: Uint8Array, data: Uint8Array, place: Place): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(textOf(place));
  return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
}

/** Null if it was changed, or lies in another place. */
function unsealed(secret: Uint8Array, data: Uint8Array, place: Place): Buffer | null {
  if (data.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', secret, data.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  }).setAAD(textOf(place));
  decipher.setAuthTag(data.subarray(data.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}

function textOf({ store, table, run, seq }: Place): Buffer {
  return Buffer.from(JSON.stringify([store, table, run, seq]));
}

function journalKey(secret: Uint8Array): JournalKey {
  return {
    id: `k_${hash('sha256', Buffer.concat([Buffer.from('sluice journal key\n'), secret]), 'hex').slice(0, 12)}`,
    secret,
  };
}

/**
 * Keys in base64, separated by commas or white space. The first one seals; the others open what they have sealed.
 * @example
 * const [newest] = journalKeys(process.env['MY_KEYS'] ?? '', 'MY_KEYS');
 */
export function journalKeys(text: string, where = 'SLUICE_JOURNAL_KEY'): readonly JournalKey[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  return parts.map((part) => {
    const secret = Buffer.from(part, 'base64');
    if (secret.length === SECRET_BYTES && /^[A-Za-z0-9+/_-]{43}=?$/.test(part)) return journalKey(secret);
    throw new SluiceError(
      'journal-key',
      `${where} has a part that is not a key: a key is 32 bytes in base64`,
      'Make one with `openssl rand -base64 32`.',
    );
  });
}

function keyMissing(id: string, known: readonly string[]): SluiceError {
  const needs = `this needs the journal key \`${id}\``;
  const set = known.map((each) => `\`${each}\``).join(', ');
  return new SluiceError(
    'journal-key',
    known.length === 0 ? `${needs}, and no key is set` : `${needs}, and the keys that are set are ${set}`,
    'Set SLUICE_JOURNAL_KEY to the key with which it was stored.',
    undefined,
    { key: id },
  );
}
