/**
 * The key with which a server vouches for logins, and the keys that this process trusts: both from the environment or from the file
 * `server.key` beside a local database. Never from the database, which every process that answers can write.
 */
import { chmodSync, closeSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { publicKeyText } from '@sluice-internal/engine/journal';
import { SluiceError, newServerKey, serverKey } from '@sluice-internal/engine/ports';
import type { EngineOptions, ServerKey, Store } from '@sluice-internal/engine/ports';

const VARIABLE = 'SLUICE_SERVER_KEY';
const TRUSTED = 'SLUICE_TRUSTED_SERVERS';

interface ServerKeysOptions {
  /** A private key as PKCS8 PEM, or the path of its file. Default: `SLUICE_SERVER_KEY`. */
  readonly given?: string | undefined;
  /** The database file, if it is one on this machine. */
  readonly file?: string | undefined;
  readonly reach?: Store['reach'];
  readonly onNotice?: EngineOptions['onNotice'];
}

export class ServerKeys {
  readonly #options: ServerKeysOptions;
  readonly #listed: readonly string[];
  #own: ServerKey | null = null;
  #saidOf: string | null = null;

  constructor(options: ServerKeysOptions) {
    this.#options = options;
    const listed = (process.env[TRUSTED] ?? '').split(/[\s,]+/).filter((each) => each !== '');
    this.#listed = listed.map(publicKeyText);
    const given = options.given ?? process.env[VARIABLE] ?? '';
    if (given !== '') this.#own = serverKey(given.includes('-----BEGIN') ? given : readKey(given));
  }

  /** The public keys that this process trusts now. */
  readonly trusted = (): readonly string[] => {
    const beside = this.#own === null ? this.#trustedBeside() : this.#own.key;
    return beside === null ? this.#listed : [...this.#listed, beside];
  };

  /** The key of this server. It is made on the first use beside a local database. */
  readonly own = (): ServerKey => (this.#own ??= serverKey(this.#beside()));

  #beside(): string {
    const { file, reach, onNotice } = this.#options;
    // Nobody else can open the store, so the key lives as long as it does.
    if (file === undefined && reach === 'process') return newServerKey();
    if (file === undefined)
      throw new SluiceError(
        'bad-key-file',
        'this engine has no key of a server, so it cannot vouch for the login of a person',
        `Set \`${VARIABLE}\`, and \`${TRUSTED}\` for the other processes of the database.`,
      );
    const path = keyFileOf(file);
    if (makeKey(path))
      onNotice?.(
        `a key was made with which this server vouches for logins: ${path}. Only processes of this user can read it.`,
        'key',
      );
    return readKey(path);
  }

  /** The process may read the key of a server that runs beside it. */
  #trustedBeside(): string | null {
    const { file, onNotice } = this.#options;
    if (file === undefined) return null;
    try {
      return serverKey(readKey(keyFileOf(file))).key;
    } catch (error) {
      const { message } = error as Error;
      if (!isAbsent(error) && this.#saidOf !== message) onNotice?.(`${message}; it is not trusted`, 'attack');
      this.#saidOf = message;
      return null;
    }
  }
}

function keyFileOf(journal: string): string {
  return join(dirname(journal), 'server.key');
}

/** False if the file is there. */
function makeKey(path: string): boolean {
  try {
    writeFileSync(path, newServerKey(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw unreadable(path, error);
  }
  chmodSync(path, 0o600);
  return true;
}

/** A file that another user owns or can read would let that user vouch for everybody. */
function readKey(path: string): string {
  let handle: number;
  try {
    handle = openSync(path, 'r');
  } catch (error) {
    throw unreadable(path, error);
  }
  try {
    const { mode, uid } = fstatSync(handle);
    if ((mode & 0o077) === 0 && (process.getuid === undefined || uid === process.getuid()))
      return readFileSync(handle, 'utf8');
  } finally {
    closeSync(handle);
  }
  throw new SluiceError(
    'bad-key-file',
    `the key of the server \`${path}\` belongs to another user, or other users can read it`,
    'Give it to the user of this process, and run `chmod 600` on it.',
  );
}

function unreadable(path: string, cause: unknown): SluiceError {
  const message = `the key of the server \`${path}\` cannot be read: ${(cause as Error).message}`;
  return new SluiceError('bad-key-file', message, `Name the file in \`${VARIABLE}\`.`, cause);
}

function isAbsent(error: unknown): boolean {
  return (error as { cause?: NodeJS.ErrnoException }).cause?.code === 'ENOENT';
}
