/** Parses option values. Errors name the option and the value it takes. */
import { isIP } from 'node:net';
import { checkedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { didYouMean } from '@sluice-internal/compile/source';
import { SluiceError, refuseEmpty } from '@sluice-internal/engine/ports';
import { createFolder, systemFolderAt } from '@sluice-internal/platform';
import type { ResourceLimits } from '@sluice-internal/tools/calls';
import { fileAt, isAddress, withoutPassword } from '../host/location.ts';
import { usage } from './context.ts';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export function readJson(option: string, given: string | undefined): Json | undefined {
  if (given === undefined) return undefined;
  try {
    return checkedJson(given);
  } catch (error) {
    throw usage(
      `\`${option}\` takes JSON: ${error instanceof Error ? error.message : 'not valid JSON'}`,
      `Quote it for the shell: ${option} '{"amount": 20}'`,
    );
  }
}

const NUMBER_HELP = 'Write digits, such as 5.';

export function readNumber(option: string, given: string | undefined, least = 0, most = Infinity): number | undefined {
  if (given === undefined) return undefined;
  const value = Number(given);
  // `Number` also reads hexadecimal, and an empty text as 0.
  if (!DECIMAL.test(given) || !Number.isFinite(value) || value < least)
    throw usage(`\`${option}\` takes a number of at least ${least}, not \`${given}\``, NUMBER_HELP);
  if (value > most) throw usage(`\`${option}\` takes a number of at most ${most}, not \`${given}\``, NUMBER_HELP);
  return value;
}

const DECIMAL = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

export function readWhole(option: string, given: string | undefined, least = 0, most = Infinity): number | undefined {
  const value = readNumber(option, given, least, most);
  if (value !== undefined && !Number.isSafeInteger(value))
    throw usage(`\`${option}\` takes a whole number, not \`${given}\``, NUMBER_HELP);
  return value;
}

/** An instant in the future: a date and time with its zone. */
export function readInstant(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const at = INSTANT.test(given) && isDay(given) ? Date.parse(given) : NaN;
  if (Number.isNaN(at))
    throw usage(
      `\`${option}\` takes a date and time with a zone, not \`${given}\``,
      `Write it as ISO 8601: ${option} 2026-12-01T09:00:00Z`,
    );
  if (at <= Date.now()) throw usage(`\`${option}\` has passed: \`${given}\``, 'Name a time in the future.');
  return at;
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** Creates the work directory before the run starts, so that tools do not fail one by one. */
/** An empty name of a tenant, such as that of an unset variable of the shell, would give more access than was meant. */
export function refuseEmptyOptions(options: object, isGiven: (option: string) => boolean): void {
  refuseEmpty('sluice', Object.fromEntries(Object.entries(options).filter(([name]) => isGiven(name))), 'usage');
}

export function readWorkDir(given: string | undefined): void {
  if (given === undefined) return;
  const system = given === '' ? null : systemFolderAt(given);
  // A place that cannot be made has its own error.
  if (system !== null && (system !== '/proc' || existsSync(given)))
    throw usage(
      `\`--work-dir\` is the folder that agents write in, and \`${given}\` ${system === resolve(given) ? 'is' : 'is in or contains'} a folder of the system: \`${system}\``,
      'Name a folder of its own for the run, or omit the option.',
    );
  makeFolder('--work-dir', given);
}

/** Refuses a host with a port or a scheme, because it would match no request. */
export function readHosts(given: readonly string[] = []): void {
  const wrong = given.find(
    (host) => isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0 && (host === '' || /[\s:/?#@]/.test(host)),
  );
  if (wrong !== undefined)
    throw usage(
      `\`--allow-host\` takes the name of a host, not ${wrong === '' ? 'an empty one' : `\`${wrong}\``}`,
      'Name the host alone, without scheme, port or path: --allow-host api.example.com',
    );
}

/** Reads `memory=2G cpu=60`. Sizes are in bytes, or end with K, M or G; `none` means no limit. */
export function readShellLimits(given: readonly string[] = []): ResourceLimits {
  return Object.fromEntries(given.map(shellLimit));
}

function shellLimit(text: string): [string, number] {
  const [name = '', ...rest] = text.split('=');
  const value = rest.join('=');
  const limit = SHELL_LIMITS[name];
  if (limit === undefined) {
    const known = Object.keys(SHELL_LIMITS);
    const help = didYouMean(name, known, `Known are ${known.join(', ')}.`);
    throw usage(`\`--shell-limit\` does not know \`${name}\``, help);
  }
  const [, digits, unit = ''] = /^(\d+)([KMG]?)$/i.exec(value) ?? [];
  const amount = value === 'none' ? Infinity : Number(digits) * (SIZE_UNITS[unit.toUpperCase()] ?? NaN);
  if (!(amount > 0) || (unit !== '' && !limit.isSize)) {
    const form = limit.isSize ? 'a size' : 'a whole number';
    throw usage(
      `\`--shell-limit ${name}\` takes ${form} or \`none\`, not ${value === '' ? 'an empty value' : `\`${value}\``}`,
      `Write it as ${name}=${limit.isSize ? '512M' : '60'}.`,
    );
  }
  return [limit.key, amount];
}

const SHELL_LIMITS: { readonly [name: string]: { readonly key: keyof ResourceLimits; readonly isSize: boolean } } = {
  cpu: { key: 'cpuSeconds', isSize: false },
  memory: { key: 'memoryMax', isSize: true },
  processes: { key: 'processesMax', isSize: false },
  file: { key: 'fileMax', isSize: true },
  disk: { key: 'diskMax', isSize: true },
};
const SIZE_UNITS: { readonly [unit: string]: number } = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };

/** The address of a database, or the path of its file. Refuses a store in memory, because other commands could not find its runs. */
export function readDatabase(given: string): string {
  const refused = (help: string): Error =>
    usage(
      `\`--db\` takes the path of a file or the address of a database, not ${given.trim() === '' ? 'an empty name' : `\`${withoutPassword(given)}\``}`,
      help,
    );
  let file: string | undefined;
  try {
    if (isAddress(given)) return given;
    file = fileAt(given);
  } catch (error) {
    throw error instanceof SluiceError ? refused(error.help ?? '') : error;
  }
  if (file === undefined)
    throw refused('Runs are kept on disk, so that another command can continue them: --db runs.db');
  return file;
}

/** Creates a folder. `who` is the option or command that the message names. */
export function makeFolder(who: string, path: string, mode?: number): void {
  if (path === '') throw usage(`\`${who}\` takes a folder, not an empty name`, HELP);
  let there = resolve(path);
  while (!existsSync(there)) there = dirname(there);
  if (!statSync(there).isDirectory())
    throw usage(`\`${who}\` takes a folder, and \`${there === resolve(path) ? path : there}\` is a file`, HELP);
  try {
    createFolder(path, mode);
  } catch (error) {
    const { code, message, path: folder = path } = error as NodeJS.ErrnoException;
    if (KNOWN_ELSEWHERE.has(code)) throw error;
    throw usage(`\`${who}\` takes a folder, but \`${folder}\` cannot be created: ${message}`, HELP);
  }
}

const HELP = 'Name a folder that exists or can be created, or omit the option.';

/** Errors that the caller reports in its own words. */
const KNOWN_ELSEWHERE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC']);

const UNITS: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** An ISO date, or a span back from now such as `7d`, `12h` or `30m`. */
export function readSince(given: string | undefined, now: number, option = '--since'): number | undefined {
  if (given === undefined) return undefined;
  const span = /^(\d+)([mhdw])$/.exec(given);
  if (span !== null) return now - Number(span[1]) * (UNITS[span[2] as string] as number);
  const at = isDay(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(at))
    throw usage(
      `\`${option}\` takes a time, not \`${given}\``,
      'Write a date such as 2026-11-01, or a span such as 7d, 12h or 30m.',
    );
  return at;
}

/** True if the text begins with a day of the calendar. `Date.parse` reads February 31 as March 3. */
function isDay(given: string): boolean {
  const day = given.slice(0, 10);
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}
