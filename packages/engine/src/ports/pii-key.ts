/** The key of the vault: from the environment, from the file that a document names, or made beside the journal. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { SluiceError } from './errors.ts';
import type { Store } from './ports.ts';

const KEY_BYTES = 32;
const HELP =
  'Make one with `openssl rand -base64 32`, and set it in SLUICE_PII_KEY or in a file named by `pii.key_file`.';

export interface KeyOptions {
  /** The path of the journal. Absent: the store is no file. */
  readonly journal?: string | undefined;
  /** Several machines would read different files. */
  readonly reach?: Store['reach'];
  /** The file that the document names. */
  readonly keyFile?: string | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
}

export function piiKey({ journal, reach, keyFile, onNotice }: KeyOptions): Uint8Array {
  const given = process.env['SLUICE_PII_KEY'];
  if (given !== undefined && given !== '') return decoded(given, 'SLUICE_PII_KEY');
  if (reach === 'network')
    throw new SluiceError(
      'pii-key',
      'the key for personal data must come from the environment, because several machines use this database',
      'Make one with `openssl rand -base64 32`, and set it in SLUICE_PII_KEY on each machine.',
    );
  if (keyFile !== undefined) {
    if (!existsSync(keyFile)) throw new SluiceError('pii-key', `there is no key file \`${keyFile}\``, HELP);
    return decoded(readFileSync(keyFile, 'utf8'), `\`${keyFile}\``);
  }
  if (journal === undefined) throw new SluiceError('pii-key', 'there is no key for personal data', HELP);
  const own = defaultKeyFile(journal);
  if (!existsSync(own)) makeKey(own, onNotice);
  return decoded(readFileSync(own, 'utf8'), `\`${own}\``);
}

function defaultKeyFile(journal: string): string {
  const folder = dirname(journal);
  return basename(folder) === '.sluice' ? join(folder, 'pii.key') : join(folder, '.sluice', 'pii.key');
}

/** One level, as for the journal. `recursive` of Node never returns if the system refuses the place, as in `/proc/none`. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function makeKey(path: string, onNotice: KeyOptions['onNotice']): void {
  for (const folder of [dirname(dirname(path)), dirname(path)]) makeFolder(folder);
  try {
    writeFileSync(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // Another process may have made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return;
  }
  chmodSync(path, 0o600);
  onNotice?.(`a key for personal data was made: ${path}. Keep a copy: without it, no value can be restored.`);
}

function decoded(text: string, where: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new SluiceError('pii-key', `${where} does not hold 32 bytes in base64`, HELP);
}
