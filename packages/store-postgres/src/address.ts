/** The address of a Postgres store: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&sslmode=MODE`. */
import { readFileSync } from 'node:fs';
import { SluiceError } from '@sluice-internal/engine/ports';

export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly schema: string;
  readonly sslmode: SslMode;
  /** Without the password. */
  readonly shown: string;
}

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

const PARAMETERS = ['schema', 'sslmode'];
const FORM = 'Write it as `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`.';
/** Postgres cuts longer names off. */
const NAME_MAX = 63;

export function isPostgresAddress(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}

/** Throws one clear line, which never has the password. */
export function readAddress(location: string): PostgresAddress {
  const url = urlOf(location);
  const shown = shownAs(url);
  const wrong = (why: string, help = FORM): SluiceError =>
    new SluiceError('journal-unavailable', `\`${shown}\` is not the address of a database: ${why}`, help);
  if (url.hostname === '') throw wrong('it names no host');
  for (const name of url.searchParams.keys())
    if (!PARAMETERS.includes(name)) throw wrong(`\`${name}\` is not a parameter`, 'Known are `schema` and `sslmode`.');
  const [database = '', ...rest] = url.pathname.replace(/^\//, '').split('/');
  if (rest.length > 0) throw wrong('a database has one name');
  const schema = url.searchParams.get('schema') ?? 'sluice';
  if (!isName(schema))
    throw wrong(
      `the schema is \`${schema}\``,
      `A name has letters, digits and \`_\`, and at most ${NAME_MAX} of them.`,
    );
  const sslmode = url.searchParams.get('sslmode') ?? 'disable';
  if (!isMode(sslmode)) throw wrong(`\`sslmode\` is \`${sslmode}\``, `It is one of ${SSL_MODES.join(', ')}.`);
  return {
    host: decoded(url.hostname.replace(/^\[(.*)\]$/, '$1'), wrong),
    port: url.port === '' ? 5432 : Number(url.port),
    user: decoded(url.username, wrong) || undefined,
    password: decoded(url.password, wrong) || process.env['PGPASSWORD'] || undefined,
    database: decoded(database, wrong) || undefined,
    schema,
    sslmode,
    shown,
  };
}

/** What `pg` takes. The certificate of the authority is that of `PGSSLROOTCERT`, or those that Node knows. */
export function sslOf({ sslmode }: Pick<PostgresAddress, 'sslmode'>): false | object {
  if (sslmode === 'disable') return false;
  if (sslmode === 'require') return { rejectUnauthorized: false };
  const file = process.env['PGSSLROOTCERT'] ?? '';
  const ca = file === '' ? {} : { ca: readFileSync(file, 'utf8') };
  return sslmode === 'verify-full' ? { ...ca } : { ...ca, checkServerIdentity: () => undefined };
}

function urlOf(location: string): URL {
  try {
    return new URL(location);
  } catch {
    const shown = location.replace(/\/\/.*@/s, '//…@').replace(/\?.*$/s, '?…');
    throw new SluiceError('journal-unavailable', `\`${shown}\` is not the address of a database`, FORM);
  }
}

function shownAs(url: URL): string {
  const user = url.username === '' ? '' : `${url.username}@`;
  const schema = url.searchParams.get('schema');
  return `postgres://${user}${url.host}${url.pathname}${schema === null ? '' : `?schema=${schema}`}`;
}

function decoded(text: string, wrong: (why: string, help: string) => SluiceError): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('a percent sign stands alone', 'A percent sign in an address is written `%25`.');
  }
}

function isName(text: string): boolean {
  return /^[a-z_][a-z0-9_]*$/i.test(text) && text.length <= NAME_MAX && !/^pg_/i.test(text);
}

function isMode(text: string): text is SslMode {
  return SSL_MODES.some((mode) => mode === text);
}
