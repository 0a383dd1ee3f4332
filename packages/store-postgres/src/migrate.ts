/** Makes the schema of a store on its first use, and checks it on every other. Several processes may do so at once. */
import type { ClientBase } from 'pg';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { PostgresAddress } from './address.ts';
import { inSchema } from './in-schema.ts';
import { FUNCTIONS } from './functions.ts';
import { TABLES, VERSION } from './schema.ts';

/** Of the server. */
const SERVER_MIN = 140_000;
const LOCK = 7_306_354;

interface Options {
  /** Makes nothing. */
  readonly readOnly: boolean;
  readonly onNotice: (message: string) => void;
}

/** The id of the store. */
export async function migrate(client: ClientBase, address: PostgresAddress, options: Options): Promise<string> {
  await demandServer(client, address, options);
  const found = await versionOf(client, address);
  if (found === null) {
    if (options.readOnly) throw noStore(address);
    await makeTables(client, address);
  } else demandVersion(found, address, options.readOnly);
  if (!options.readOnly) await raiseBase(client, address);
  const { rows } = await client.query<{ id: string }>(inSchema('SELECT id FROM @store', address.schema));
  const [row] = rows;
  if (row !== undefined) return row.id;
  throw new SluiceError(
    'journal-damaged',
    `\`${address.shown}\` has no id: its row was deleted`,
    'Restore it from a backup.',
  );
}

interface Version {
  readonly version: number;
  readonly reads: number;
  readonly writes: number;
}

/** A server that confirms a commit before it is on the disk would lose decisions whose effects were made. */
async function demandServer(client: ClientBase, { shown }: PostgresAddress, { onNotice }: Options): Promise<void> {
  const { rows } = await client.query<{
    version: number;
    commit: string;
    fsync: string;
    replica: boolean;
    name: string;
  }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('synchronous_commit') AS commit,
       current_setting('fsync') AS fsync, pg_is_in_recovery() AS replica, current_setting('server_version') AS name`,
  );
  const [row] = rows;
  if (row === undefined) return;
  if (row.version < SERVER_MIN)
    throw new SluiceError(
      'journal-unavailable',
      `\`${shown}\` runs Postgres ${row.name}; Sluice needs 14 or later`,
      'Upgrade the server.',
    );
  if (row.replica)
    throw new SluiceError(
      'journal-unavailable',
      `\`${shown}\` is a replica, and takes no writes`,
      'Name the primary server.',
    );
  if (row.commit === 'off')
    throw new SluiceError(
      'journal-unsafe',
      `\`${shown}\` has \`synchronous_commit = off\`: it confirms commits that a crash can lose`,
      'Set it to `on` for this user: `ALTER ROLE NAME SET synchronous_commit = on`.',
    );
  if (row.fsync === 'off')
    onNotice(`\`${shown}\` has \`fsync = off\`: a crash of its machine can lose commits. This is for tests only.`);
}

async function versionOf(client: ClientBase, { schema, shown }: PostgresAddress): Promise<Version | null> {
  const { rows: found } = await client.query<{ tables: number; own: boolean }>(
    `SELECT count(*)::int AS tables, coalesce(bool_or(relname = 'store_version'), false) AS own
     FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relkind IN ('r', 'v', 'm', 'p')`,
    [schema],
  );
  const { tables = 0, own = false } = found[0] ?? {};
  if (!own && tables > 0)
    throw new SluiceError(
      'journal-damaged',
      `the schema \`${schema}\` of \`${shown}\` has tables of another program`,
      'Name another schema: `?schema=NAME`.',
    );
  if (!own) return null;
  const { rows } = await client.query<Version>(inSchema('SELECT version, reads, writes FROM @store_version', schema));
  const [row] = rows;
  if (row !== undefined) return row;
  throw new SluiceError(
    'journal-damaged',
    `\`${shown}\` has no version: its row was deleted`,
    'Restore it from a backup.',
  );
}

/** Refuses before anything is written. */
function demandVersion({ version, reads, writes }: Version, { shown }: PostgresAddress, readOnly: boolean): void {
  const [needed, does] = readOnly ? [reads, 'reads'] : [writes, 'writes'];
  if (needed > VERSION)
    throw new SluiceError(
      'journal-newer',
      `\`${shown}\` has schema version ${version}; this release ${does} version ${VERSION}`,
      'Use the release that made it, or a later one.',
    );
  if (version < VERSION)
    throw new SluiceError(
      'journal-older',
      `\`${shown}\` has schema version ${version}, from before the first release; this release ${does} version ${VERSION}`,
      'Name another schema: `?schema=NAME`.',
    );
}

/** One process makes the tables; the others wait for it and find them. */
async function makeTables(client: ClientBase, address: PostgresAddress): Promise<void> {
  const { schema } = address;
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, schema]);
    if ((await versionOf(client, address)) === null) {
      const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
      if (rows.length === 0) await client.query(`CREATE SCHEMA "${schema}"`);
      await client.query(inSchema(TABLES + FUNCTIONS, schema));
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Numbers of transactions start over on another server, and places of changes must not. */
async function raiseBase(client: ClientBase, { schema }: PostgresAddress): Promise<void> {
  await client.query(
    inSchema(
      `UPDATE @store SET base = x.last + 1 FROM (SELECT max(place) AS last FROM @log) x
       WHERE x.last >= base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint * 4096`,
      schema,
    ),
  );
}

function noStore({ shown, schema }: PostgresAddress): SluiceError {
  return new SluiceError(
    'journal-unavailable',
    `there is no store in the schema \`${schema}\` of \`${shown}\` yet`,
    'Check the address; `sluice run` and `sluice worker` make it.',
  );
}
