/** The keys of the journal: from the environment, from a file, or from a command, which can ask a key service. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { SluiceError } from './errors.ts';
import { codecOf, journalKeys } from './seal.ts';
import type { Codec } from './seal.ts';

const VARIABLE = 'SLUICE_JOURNAL_KEY';
const COMMAND_MS = 30_000;

/** The codec of this process. A file and a command are read once. */
export function codecOfProcess(): Codec {
  const given = process.env[VARIABLE] ?? '';
  const known = codecs.get(given);
  if (known !== undefined) return known;
  const codec = codecOf(journalKeys(textOf(given.trim())));
  codecs.set(given, codec);
  return codec;
}
const codecs = new Map<string, Codec>();

function textOf(given: string): string {
  const text = given.startsWith('file:')
    ? inFile(given.slice(5))
    : given.startsWith('command:')
      ? by(given.slice(8))
      : given;
  // An empty file is a mistake, and not a wish to store everything as it is.
  if (text.trim() !== '' || given === '') return text;
  throw new SluiceError('journal-key', `${VARIABLE} names a place that has no key`, HELP);
}

function inFile(path: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    if (process.platform === 'win32' || (statSync(path).mode & 0o077) === 0) return text;
  } catch (cause) {
    throw new SluiceError(
      'journal-key',
      `the key file \`${path}\` cannot be read: ${(cause as Error).message}`,
      HELP,
      cause,
    );
  }
  throw new SluiceError('journal-key', `the key file \`${path}\` can be read by others`, `Run \`chmod 600 ${path}\`.`);
}

/** The output is not part of an error: it may be a key. */
function by(command: string): string {
  try {
    return execFileSync('/bin/sh', ['-c', command], {
      encoding: 'utf8',
      timeout: COMMAND_MS,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } catch (cause) {
    const { status, signal } = cause as { readonly status?: number | null; readonly signal?: string | null };
    const why =
      typeof status === 'number' ? `it ended with status ${status}` : `it was ended by ${signal ?? 'the system'}`;
    throw new SluiceError('journal-key', `the command of ${VARIABLE} gave no key: ${why}`, HELP);
  }
}

const HELP = `Set ${VARIABLE} to keys in base64, to \`file:PATH\` or to \`command:COMMAND\`.`;
