/**
 * `sluice keys`: the key pairs with which people sign their answers. The private keys lie in the folder of the user and not in the project, where tools of an agent could
 * read them. `SLUICE_KEYS_DIR` names another folder.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SluiceError, privateKeyIn, publicLine, revokeKey } from '@sluice-internal/engine/ports';
import { makeFolder, readText, table, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { currentUser } from '../session/ask-person.ts';
import { demandDatabase, demandOperator, withStore } from '../session/store.ts';
import { withCommandName } from '../table/command-name.ts';
import type { Options } from '../table/command-table.ts';
import { whyUnwritable } from '../view/report-file.ts';

export async function keysAddCommand(cli: Cli, name: string, { out }: Options<'keys add'>): Promise<void> {
  const added = addKey(name, out);
  if (cli.json) cli.printJson(added);
  else {
    cli.screen.printData(`- { id: ${name}, roles: [], key: "${added.key}" }`);
    cli.hint(
      `The private key is in ${added.file}; only you can read it. If it signs answers, put the line above under \`people\`.`,
    );
  }
}

export async function keysListCommand(cli: Cli): Promise<void> {
  const keys = listKeys();
  if (cli.json) cli.printJson(keys);
  else if (keys.length === 0) cli.hint(withCommandName('no keys yet; make one with `sluice keys add NAME`'));
  else cli.screen.print(table(keys.map(({ name, key, file }) => [name, key ?? 'cannot be used', file])));
  for (const each of keys) if (each.key === null) cli.hint(each.problem);
}

/** Answers that the key signed before stay valid. */
export async function keysRevokeCommand(cli: Cli, given: string, { why = '' }: Options<'keys revoke'>): Promise<void> {
  demandOperator(cli, 'a key counts for the runs of all tenants');
  const key = publicKeyOf(given);
  demandDatabase(cli, 'run-not-found', 'there are no runs');
  const act = { at: Date.now(), by: currentUser(), why };
  await withStore(cli, async ({ shared }) => revokeKey(shared, key, act), false);
  cli.show({ key, revoked: true }, () => `no answer is signed with ${key} any more`);
}

function publicKeyOf(given: string): string {
  if (/^ed25519:[\w-]{43}$/.test(given)) return given;
  const own = listKeys().find(({ name }) => name === given)?.key ?? null;
  if (own !== null) return own;
  throw usage(
    `\`${given}\` is neither a public key nor the name of a key of this user`,
    'Write it as in `people`: ed25519:…',
  );
}

interface StoredKey {
  readonly name: string;
  /** The line for `people`. */
  readonly key: string;
  /** The file with the private key. */
  readonly file: string;
}

const ENDING = '.pem';

/** Makes a key pair. An existing key is never replaced. */
function addKey(name: string, out?: string): StoredKey {
  if (!/^[\w.@-]{1,80}$/.test(name))
    throw usage(`\`${name}\` cannot be the name of a key`, 'Use letters, digits, `_`, `-`, `.` and `@`.');
  const file = out ?? fileOf(name);
  if (existsSync(file))
    throw new SluiceError(
      'bad-key-file',
      `the key file \`${file}\` exists`,
      'Choose another name, or delete the file.',
    );
  if (out === undefined) makeFolder('keys', keysDir(), 0o700);
  const { privateKey } = generateKeyPairSync('ed25519');
  writeKey(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return { name, key: publicLine(privateKey), file };
}

/** A file that holds no usable key. */
interface BadKey extends Omit<StoredKey, 'key'> {
  readonly key: null;
  readonly problem: string;
}

function listKeys(): readonly (StoredKey | BadKey)[] {
  const dir = keysDir();
  if (!existsSync(dir)) return [];
  const files = readdirSync(dir).filter((file) => file.endsWith(ENDING));
  return files.sort().map((each) => {
    const file = join(dir, each);
    const name = each.slice(0, -ENDING.length);
    try {
      return { name, key: publicLine(readKeyFile(file)), file };
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      return { name, key: null, file, problem: error.message };
    }
  });
}

/** The private key in a file, or the stored one of this name. */
export function readKey(cli: Cli, given: string): KeyObject {
  const file = existsSync(given) || !existsSync(fileOf(given)) ? given : fileOf(given);
  const key = readKeyFile(file);
  if ((statSync(file).mode & 0o077) !== 0 && process.platform !== 'win32')
    cli.hint(`the private key \`${file}\` can be read by others: run \`chmod 600 ${file}\``);
  return key;
}

function readKeyFile(file: string): KeyObject {
  try {
    return privateKeyIn(readText(file));
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'bad-key-file') throw error;
    throw new SluiceError('bad-key-file', `\`${file}\` cannot be used: ${error.message}`, error.help);
  }
}

function writeKey(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
    chmodSync(file, 0o600);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const problem = `the key file \`${file}\` cannot be written: ${whyUnwritable(file, code, message)}`;
    throw new SluiceError('bad-key-file', problem, 'Name a new file in a folder that exists.', cause);
  }
}

function fileOf(name: string): string {
  return join(keysDir(), `${name}${ENDING}`);
}

function keysDir(): string {
  const config = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config');
  return process.env['SLUICE_KEYS_DIR'] || join(config, 'sluice', 'keys');
}
