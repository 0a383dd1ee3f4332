/** Changes rows of a database behind the engine's back, and lists what an audit finds. */
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { openSqlite } from '@sluice-internal/library';
import { audit } from '@sluice-internal/engine/audit';

export function change(path: string, ...statements: readonly string[]): void {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`);
  const each = statements.flatMap((text) => text.split(';')).filter((sql) => sql.trim() !== '');
  for (const sql of each) expect([sql, db.prepare(sql).run().changes]).not.toEqual([sql, 0]);
  for (const { sql } of triggers) db.exec(String(sql));
  db.close();
}

export async function findings(path: string): Promise<readonly string[]> {
  const store = openSqlite(path);
  try {
    const found = [await store.journal.broken?.()];
    for (const entry of (await store.index.list()).items)
      found.push((await audit(store.journal, entry.run, entry)).broken?.message);
    return found.filter((each) => typeof each === 'string');
  } finally {
    await store.close();
  }
}
