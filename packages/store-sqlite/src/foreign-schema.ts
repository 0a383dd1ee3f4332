/**
 * Compares the triggers, indexes and views of a database with those of the schema. Triggers keep the log append-only; an added one
 * could change or drop what a process writes.
 */
import type { StatementSync } from 'node:sqlite';
import { openDatabase } from './database.ts';
import { SCHEMA } from './schema.ts';

/** Null if all of them equal those of the schema. */
export function changedSchema(statement: StatementSync): string | null {
  expected ??= expectedParts();
  const found = partsIn(statement);
  for (const [name, text] of expected) {
    const actual = found.get(name);
    if (actual === undefined) return `the ${name} was deleted`;
    if (actual !== text) return `the ${name} was changed`;
  }
  for (const name of found.keys()) if (!expected.has(name)) return `the ${name} was added`;
  return null;
}

/** Indexes that belong to a constraint have no text. */
export const SELECT_PARTS =
  "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index', 'view') AND sql IS NOT NULL";

type Parts = ReadonlyMap<string, string>;
let expected: Parts | undefined;

function expectedParts(): Parts {
  const db = openDatabase(':memory:', {});
  try {
    db.exec(SCHEMA);
    const statement = db.prepare(SELECT_PARTS);
    statement.setReturnArrays(true);
    return partsIn(statement);
  } finally {
    db.close();
  }
}

function partsIn(statement: StatementSync): Parts {
  const rows = statement.all() as unknown as [string, string, string][];
  return new Map(rows.map(([type, name, sql]) => [`${type} \`${name}\``, sql.replaceAll(/\s+/g, ' ')]));
}
