/** Long-term memory in the database of the journal. Every query has the owner in its condition; an entry of another owner is a violation. */
import {
  MemoryViolation,
  guardedMemory,
  isOperator,
  isVisible,
  mayAccess,
  memoryBody,
  memoryEntry,
  ownerKey,
  similarity,
  textOf,
  wordsOf,
} from '@sluice-internal/engine/ports';
import type { MemoryCaller, MemoryEntry, MemoryQuery, MemoryStore, OnViolation } from '@sluice-internal/engine/ports';
import type { Database } from './database.ts';

interface Row {
  readonly id: string;
  readonly owner: string;
  readonly run: string;
  readonly state: string;
  readonly expiresAt: number;
  readonly body: string;
  readonly vector: string | null;
}
type Value = string | number | boolean | readonly string[] | null;

const COLUMNS = 'id, owner, run, state, expires_at AS "expiresAt", body, vector';
const WORDS_MAX = 50;

export function createMemory({ query }: Pick<Database, 'query'>, onViolation: OnViolation | undefined): MemoryStore {
  const violation = (caller: MemoryCaller, operation: string, id: string): MemoryViolation => {
    const found = new MemoryViolation(caller, operation, id);
    onViolation?.(found);
    return found;
  };
  /** Null if there is no entry with this id. Throws if the caller may not use it. */
  const accessed = async (caller: MemoryCaller, operation: string, id: string): Promise<MemoryEntry | null> => {
    const [row] = await query<Row>(`SELECT ${COLUMNS} FROM @memory WHERE id = $1`, [id]);
    if (row === undefined) return null;
    const entry = memoryEntry(row);
    if (mayAccess(caller, entry.owner)) return entry;
    throw violation(caller, operation, id);
  };
  const erase = async (condition: string, values: readonly Value[]): Promise<number> =>
    (await query(`DELETE FROM @memory WHERE ${condition} RETURNING 1`, values)).length;
  return guardedMemory<MemoryStore>({
    add: async (caller, entry, vector) => {
      if (!mayAccess(caller, entry.owner)) throw violation(caller, 'write', entry.id);
      const { id, owner, run, state, at, expiresAt } = entry;
      const words = wordsOf(`${textOf(entry.goal)}\n${textOf(entry.answer)}`);
      const stored = vector === undefined ? null : JSON.stringify(vector);
      const added = await query(
        `INSERT INTO @memory (id, owner, tenant, run, state, at, expires_at, body, words, vector)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, array_to_tsvector($9::text[]), $10) ON CONFLICT (id) DO NOTHING RETURNING 1`,
        [
          ...[id, ownerKey(owner), owner.tenant, run, state, at, expiresAt],
          memoryBody(entry),
          words.map(indexed),
          stored,
        ],
      );
      return added.length > 0 ? entry : ((await accessed(caller, 'write', id)) ?? entry);
    },
    get: async (caller, id, now) => {
      const entry = await accessed(caller, 'read', id);
      return entry !== null && isVisible(caller, entry, now) ? entry : null;
    },
    find: (caller, given) => find(query, caller, given),
    quarantined: async (caller, limit) => {
      const { sql, values } = ownedBy(caller);
      const which = `${sql} AND state = 'quarantined' ORDER BY at DESC, number DESC LIMIT $2`;
      return (await query<Row>(`SELECT ${COLUMNS} FROM @memory WHERE ${which}`, [...values, limit])).map(memoryEntry);
    },
    release: async (caller, id, at) => {
      const entry = await accessed(caller, 'release', id);
      if (entry === null || entry.state === 'active') return entry;
      const released: MemoryEntry = { ...entry, state: 'active', released: { by: caller.operator, at } };
      await query("UPDATE @memory SET state = 'active', body = $2 WHERE id = $1", [id, memoryBody(released)]);
      return released;
    },
    forget: async (caller, id) => (await accessed(caller, 'forget', id)) !== null && (await erase('id = $1', [id])) > 0,
    eraseRuns: (runs) => erase('run = ANY ($1)', [runs]),
    eraseExpired: (now) => erase('expires_at <= $1', [now]),
    close: async () => undefined,
  });
}

/** Entries that fit come first, then the newest. */
async function find(
  query: Database['query'],
  caller: MemoryCaller,
  given: MemoryQuery,
): Promise<readonly MemoryEntry[]> {
  const { text = '', vector, limit = Number.MAX_SAFE_INTEGER, only = false, now } = given;
  const { sql, values } = ownedBy(caller);
  const visible = isOperator(caller) ? sql : `${sql} AND state = 'active' AND expires_at > ${Math.floor(now)}`;
  const byWords = async (): Promise<readonly MemoryEntry[]> => {
    const words = wordsOf(text).slice(0, WORDS_MAX).map(indexed);
    if (words.length === 0) return [];
    const asked = words.map((word) => `'${word.replaceAll("'", "''")}'`).join(' | ');
    const rows = await query<Row>(
      `SELECT ${COLUMNS} FROM @memory WHERE words @@ $2::tsquery AND ${visible} ORDER BY ts_rank(words, $2::tsquery) DESC, at DESC LIMIT $3`,
      [...values, asked, limit],
    );
    return rows.map(memoryEntry);
  };
  const byVector = async (wanted: readonly number[]): Promise<readonly MemoryEntry[]> =>
    (await query<Row>(`SELECT ${COLUMNS} FROM @memory WHERE ${visible} AND vector IS NOT NULL`, values))
      .map((row) => ({
        entry: memoryEntry(row),
        score: similarity(wanted, JSON.parse(row.vector ?? '[]') as number[]),
      }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .map(({ entry }) => entry);
  const fitting = vector === undefined ? await byWords() : await byVector(vector);
  const isOffered = (entry: MemoryEntry): boolean => isOperator(caller) || entry.state === 'active';
  if (only) return fitting.slice(0, limit).filter(isOffered);
  const latest = await query<Row>(
    `SELECT ${COLUMNS} FROM @memory WHERE ${visible} ORDER BY at DESC, number DESC LIMIT $2`,
    [...values, limit],
  );
  const seen = new Set(fitting.map(({ id }) => id));
  const others = latest.map(memoryEntry).filter(({ id }) => !seen.has(id));
  return [...fitting, ...others].slice(0, limit).filter(isOffered);
}

/** Always one value, so that the numbers of the others are known. */
function ownedBy(caller: MemoryCaller): { readonly sql: string; readonly values: readonly Value[] } {
  if (!isOperator(caller)) return { sql: 'owner = $1', values: [ownerKey(caller)] };
  if (caller.tenant === undefined) return { sql: '$1::boolean', values: [true] };
  return { sql: 'tenant = $1', values: [caller.tenant] };
}

/** A word without its accents, as the index of SQLite has it. */
function indexed(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '').slice(0, 500);
}
