/** Reads where a store lies: a path, or an address whose scheme names the kind of store. */
import { nearest } from '@sluice-internal/compile/source';
import { SluiceError } from '@sluice-internal/engine/ports';
import { isPostgresAddress, readAddress } from '@sluice-internal/store-postgres';

const SCHEMES = ['sqlite', 'postgres'];
/** One letter and a colon is a drive. */
const ADDRESS = /^([a-z][a-z\d+.-]+):(?:\/\/)?/i;
const EXAMPLE =
  'Name a file, as `runs.db`, or a Postgres database, as `postgres://USER@HOST/DATABASE`. A path with a colon begins with `./`.';

/** True for a store on a server. Throws if its address is wrong. */
export function isAddress(location: string): boolean {
  if (!isPostgresAddress(location)) return false;
  readAddress(location);
  return true;
}

/** The path of the database file; undefined for `:memory:` and for a store on a server. */
export function fileAt(location: string): string | undefined {
  if (isAddress(location)) return undefined;
  const [, scheme] = ADDRESS.exec(location) ?? [];
  if (scheme === undefined) return named(location, location);
  if (scheme.toLowerCase() === 'sqlite') return fileOfAddress(location);
  const near = nearest(scheme.toLowerCase(), SCHEMES);
  throw wrong(location, near === undefined ? EXAMPLE : `Did you mean \`${near}:\`? ${EXAMPLE}`);
}

/** `sqlite:runs.db` and `sqlite:///data/runs.db`. */
function fileOfAddress(location: string): string | undefined {
  const rest = location.slice('sqlite:'.length);
  if (/[?#]/.test(rest)) throw wrong(location, 'An address of a file has no parameters.');
  if (rest.startsWith('//') && !rest.startsWith('///'))
    throw wrong(location, 'A path follows: `sqlite:runs.db`, or `sqlite:///data/runs.db` from the root.');
  try {
    return named(decodeURIComponent(rest.replace(/^\/\/\//, '/')), location);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw wrong(location, 'A percent sign in an address is written `%25`.');
  }
}

function named(path: string, location: string): string | undefined {
  if (path.trim() === '') throw wrong(location, EXAMPLE);
  return path === ':memory:' ? undefined : path;
}

/** An address can have a password, which no message shows. */
export function withoutPassword(location: string): string {
  if (isPostgresAddress(location)) return shownAddress(location);
  return location.replace(/^([a-z][a-z\d+.-]*:\/\/)[^/]*@/i, '$1…@').replace(/\?.*$/s, '?…');
}

function shownAddress(location: string): string {
  try {
    return readAddress(location).shown;
  } catch {
    return 'postgres://…';
  }
}

function wrong(location: string, help: string): SluiceError {
  return new SluiceError('journal-unavailable', `there is no store for \`${withoutPassword(location)}\``, help);
}
