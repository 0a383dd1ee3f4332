/** Turns errors of `pg` and of the server into errors with a code and a remedy. No message has the password. */
import { SluiceError } from '@sluice-internal/engine/ports';
import type { PostgresAddress } from './address.ts';

type Place = Pick<PostgresAddress, 'shown' | 'schema' | 'sslmode' | 'user' | 'database'>;
interface Fault {
  readonly message: string;
  readonly help: string;
}

/** The statement may be made again: the server has undone all of it. */
export function isUndone(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40001' || code === '40P01';
}

/** The statement itself cannot be stored, whenever it is made. */
export function isDataError(error: unknown): boolean {
  return /^(22|23|54|P0)/.test(codeOf(error));
}

export function faultOf(error: unknown, place: Place): unknown {
  if (!(error instanceof Error) || error instanceof SluiceError) return error;
  const code = codeOf(error);
  if (code === '53100')
    return new SluiceError(
      'disk-full',
      `the disk of ${place.shown} is full; nothing was written`,
      'Free some space.',
      error,
    );
  if (
    code === '54000' ||
    code === '54001' ||
    /invalid string length|out of memory|requested length too large/i.test(error.message)
  )
    return new SluiceError(
      'value-too-large',
      'a value is larger than the journal can store',
      'Pass a path or an address instead of the content.',
      error,
    );
  if (/^(22|23|P0|42[^5])/.test(code) || (code === '' && !isOfConnection(error))) return error;
  const { message, help } = refused(error, code, place) ?? {
    message: `\`${place.shown}\` cannot be reached: ${oneLine(error.message, place)}`,
    help: 'Check the address, and that the server runs.',
  };
  return new SluiceError('journal-unavailable', message, help, error);
}

/** Reasons that a person has to remove. */
function refused(error: Error, code: string, { shown, schema, user, database }: Place): Fault | null {
  if (/does not support SSL/i.test(error.message))
    return {
      message: `\`${shown}\` offers no TLS, and \`sslmode\` demands it`,
      help: 'Switch TLS on in the server, or leave `sslmode` out.',
    };
  if (/certificate|self.signed|altnames/i.test(error.message))
    return {
      message: `the certificate of \`${shown}\` is refused: ${error.message}`,
      help: 'Name the authority in PGSSLROOTCERT, or use `sslmode=require`.',
    };
  return refusedByServer(error, code, { shown, schema, user, database });
}

function refusedByServer(
  error: Error,
  code: string,
  { shown, schema, user, database }: Omit<Place, 'sslmode'>,
): Fault | null {
  const name = user === undefined ? 'the user' : `user \`${user}\``;
  if (code === '28000' && /no encryption|SSL off/i.test(error.message))
    return {
      message: `\`${shown}\` demands TLS`,
      help: 'Add `?sslmode=require` or `?sslmode=verify-full` to the address.',
    };
  if (code === '28P01' || code === '28000' || /password must be a string|SASL/i.test(error.message))
    return {
      message: `\`${shown}\` refuses ${name}: wrong password, or no right to connect`,
      help: 'Check user and password. The password can also be in PGPASSWORD.',
    };
  if (code === '3D000')
    return {
      message: `\`${shown}\`: there is no database \`${database ?? ''}\``,
      help: `Create it: \`createdb ${database ?? 'NAME'}\`.`,
    };
  if (code === '42501')
    return {
      message: `\`${shown}\`: ${name} has no right to make or use the schema \`${schema}\``,
      help: `An administrator runs \`CREATE SCHEMA ${schema} AUTHORIZATION ${user ?? 'USER'}\`.`,
    };
  if (code === '25006')
    return { message: `\`${shown}\` is read-only: it may be a replica`, help: 'Name the primary server.' };
  if (code === '53300')
    return { message: `\`${shown}\` has no free connection`, help: 'Raise `max_connections`, or use PgBouncer.' };
  return null;
}

function isOfConnection(error: Error): boolean {
  return /connection|timeout|terminated|socket|SSL|SASL|certificate|client was closed|ENOTFOUND|password/i.test(
    error.message,
  );
}

function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

function oneLine(message: string, { shown }: Place): string {
  return message === '' ? `no answer from ${shown}` : message.replaceAll(/\s+/g, ' ');
}
