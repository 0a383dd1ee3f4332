/** `sluice backup`: a consistent copy of the database while runs go on. */
import { existsSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { attachmentFileOf, createPrivate, faultOf, memoryFileOf, piiFileOf } from '@sluice-internal/store-sqlite';
import { usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { isAddress } from '@sluice-internal/library/host';
import { demandDatabase, demandOperator } from '../session/store.ts';

export async function backupCommand(cli: Cli, file: string): Promise<void> {
  demandOperator(cli, 'a backup has the runs of all tenants');
  if (isAddress(cli.db))
    throw usage(
      '`backup` copies database files, and this store is in Postgres',
      'Use `pg_dump` or the backup of your server: see docs/deploy/postgres.md.',
    );
  demandDatabase(cli, 'run-not-found', 'there is nothing to back up');
  checkTarget(file, cli.db);
  const files = [[cli.db, file] as const];
  for (const beside of [piiFileOf, attachmentFileOf, memoryFileOf])
    if (existsSync(beside(cli.db))) files.push([beside(cli.db), beside(file)]);
  for (const [from, to] of files) await copy(from, to);
  const copies = files.map(([, to]) => to);
  cli.show({ files: copies }, () => `${cli.db} was copied to ${copies.join(' and ')}`);
}

function checkTarget(file: string, database: string): void {
  if (!existsSync(dirname(resolve(file))))
    throw usage(`there is no folder \`${dirname(file)}\``, 'Create it first, or name a file in another folder.');
  if (!existsSync(file)) return;
  if (statSync(file).isDirectory()) throw usage(`\`${file}\` is a folder`, 'Name a file in it.');
  if (realpathSync(file) === realpathSync(database))
    throw usage('`backup` takes another file than the database itself', 'Name a new file.');
}

/** Errors of SQLite about a file that is not a database, or damaged. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** The copy gets its name when it is complete, so a file of that name is never partial. */
async function copy(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  try {
    rmSync(partial, { force: true });
    createPrivate(partial);
    const db = new DatabaseSync(from, { readOnly: true });
    await backup(db, partial).finally(() => db.close());
    // SQLite would apply the log of an earlier file of this name to the new one.
    for (const log of ['-wal', '-shm']) rmSync(`${to}${log}`, { force: true });
    renameSync(partial, to);
  } catch (error) {
    rmSync(partial, { force: true });
    const isSource = DAMAGED.has(((error as { errcode?: number }).errcode ?? 0) & 0xff);
    throw faultOf(error, isSource ? from : to);
  }
}
