/** Pages of runs, questions, tenants and tombstones. Each page is read through an index, from its cursor on. */
import { cursorOfName, limitOf, nameBefore, pageOf, placeOf } from '@sluice-internal/engine/ports';
import type {
  Index,
  ListedRun,
  OpenQuestion,
  QuestionFilter,
  RunEntry,
  RunFacts,
  RunFilter,
  Tombstone,
} from '@sluice-internal/engine/ports';
import { SLOW_MS } from './database.ts';
import type { Database } from './database.ts';

type Lists = Pick<Index, 'find' | 'list' | 'questions' | 'waiting' | 'tenants'>;
type Removed = Pick<Index, 'tombstones' | 'removed' | 'expired'>;

export function createLists(database: Database): Lists {
  const { query } = database;
  return {
    find: async (run) => {
      const [row] = await query<RunRow>(`${SELECT_RUN} WHERE r.run = $1`, [run]);
      return row === undefined ? null : toEntry(row);
    },
    list: async (filter = {}) => {
      const limit = limitOf(filter);
      const place = placeOf(filter, 1);
      const { sql, values } = listQuery(filter, place, limit + 1);
      const rows = filter.status?.length === 0 ? [] : await query<RunRow>(sql, values, SLOW_MS);
      return pageOf(rows, limit, toListed, ({ id }) => [id]);
    },
    questions: async (filter = {}) => {
      const limit = limitOf(filter);
      const { sql, values } = questionQuery(filter, placeOf(filter, 3), limit + 1);
      const rows = await query<OpenQuestion & { number: number; position: number }>(sql, values);
      return pageOf(
        rows,
        limit,
        ({ id, run, node, askedAt, expiresAt }) => ({ id, run, node, askedAt, expiresAt }),
        ({ askedAt, number, position }) => [askedAt, number, position],
      );
    },
    waiting: async ({ tenant, except }) => {
      const [row] = await query<{ count: number; since: number | null }>(
        `SELECT count(*) AS count, min(updated_at) AS since FROM @runs WHERE status = 'suspended' AND run <> $1
           AND ($2::text IS NULL OR tenant = $2)`,
        [except, tenant ?? null],
      );
      return row ?? { count: 0, since: null };
    },
    tenants: async (page = {}) => {
      const limit = limitOf(page);
      const after = nameBefore(page);
      const rows = await query<{ tenant: string }>(TENANTS, [after, limit + 1]);
      return pageOf(
        rows,
        limit,
        ({ tenant }) => tenant,
        ({ tenant }) => [cursorOfName(tenant)],
      );
    },
  };
}

export function createRemoved(database: Database): Removed {
  const { query } = database;
  return {
    removed: async (run) =>
      (await query<Tombstone>(`${SELECT_TOMBSTONE} FROM @tombstones WHERE run = $1`, [run]))[0] ?? null,
    tombstones: async (page = {}) => {
      const limit = limitOf(page);
      const [after = 0] = placeOf(page, 1) ?? [];
      const rows = await query<Tombstone & { number: number }>(
        `${SELECT_TOMBSTONE}, number FROM @tombstones WHERE number > $1 ORDER BY number LIMIT $2`,
        [after, limit + 1],
      );
      const [store] = await query<{ head: string }>('SELECT tombstones AS head FROM @store');
      return { ...pageOf(rows, limit, tombstoneOf, ({ number }) => [number]), head: store?.head ?? '' };
    },
    expired: async (of, { runs, endedBefore }) => {
      const [scope, values] =
        'flow' in of
          ? ['flow = $1 AND tenant IS NOT DISTINCT FROM $2', [of.flow, of.tenant]]
          : ['notation = $1 AND $2::text IS NULL', [of.notation, null]];
      const found = await query<{ run: string }>(
        `SELECT run FROM (
           SELECT run, started_at, id, updated_at, row_number() OVER (ORDER BY started_at, id) AS place FROM @runs WHERE ${scope} AND ${HAS_ENDED}
         ) ended WHERE place <= (SELECT count(*) FROM @runs WHERE ${scope}) - $3::bigint OR updated_at < $4::bigint ORDER BY started_at, id`,
        [...values, runs ?? null, endedBefore ?? null],
        SLOW_MS,
      );
      return found.map(({ run }) => run);
    },
  };
}

export const HAS_ENDED = `status IN ('completed', 'failed', 'cancelled')`;

interface Text {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Several states are one query each, so that each is read through an index in the order of the list. */
function listQuery(filter: RunFilter, place: readonly number[] | null, rows: number): Text {
  const values: (string | number)[] = [];
  const value = (given: string | number): string => `$${values.push(given)}`;
  const conditions = conditionsOf(filter, place, value);
  const limit = value(rows);
  const states: readonly (string | null)[] = filter.status ?? [null];
  const parts = [...new Set(states)].map((status) => {
    const all = status === null ? conditions : [`r.status = ${value(status)}`, ...conditions];
    return `(${SELECT_RUN}${all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`} ORDER BY r.id DESC LIMIT ${limit})`;
  });
  return { sql: `SELECT * FROM (${parts.join(' UNION ALL ')}) found ORDER BY id DESC LIMIT ${limit}`, values };
}

function conditionsOf(
  filter: RunFilter,
  place: readonly number[] | null,
  value: (given: string | number) => string,
): readonly string[] {
  const { since, until, prefix = '', due, changedSince, changedUntil } = filter;
  const conditions = EQUAL.flatMap((field) => {
    const given = filter[field];
    if (given === null) return [`r."${field}" IS NULL`];
    return given === undefined ? [] : [`r."${field}" = ${value(given)}`];
  });
  const add = (condition: string, given: number | undefined): void => {
    if (given !== undefined) conditions.push(`${condition} ${value(given)}`);
  };
  add('r.started_at >=', since);
  add('r.started_at <', until);
  if (prefix !== '') conditions.push(`r.run >= ${value(prefix)} AND r.run < ${value(`${prefix}\u{10FFFF}`)}`);
  add('r.due <=', due);
  add('r.updated_at >=', changedSince);
  add('r.updated_at <=', changedUntil);
  add('r.id <', place?.[0]);
  return conditions;
}
const EQUAL = ['code', 'flow', 'tenant', 'user', 'thread', 'parent'] as const;

function questionQuery({ run, tenant }: QuestionFilter, place: readonly number[] | null, rows: number): Text {
  const values: (string | number)[] = [];
  const value = (given: string | number): string => `$${values.push(given)}`;
  const conditions: string[] = [];
  if (run !== undefined) conditions.push(`q.run = (SELECT id FROM @runs WHERE run = ${value(run)})`);
  if (tenant === null) conditions.push('q.tenant IS NULL');
  else if (tenant !== undefined) conditions.push(`q.tenant = ${value(tenant)}`);
  if (place !== null) {
    const [askedAt = 0, id = 0, position = 0] = place;
    const [a, b, c] = [value(askedAt), value(id), value(position)];
    conditions.push(
      `q.asked_at <= ${a} AND (q.asked_at < ${a} OR q.run < ${b} OR (q.run = ${b} AND q.position > ${c}))`,
    );
  }
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return {
    sql: `SELECT q.run AS number, r.run, q.position, q.question AS id, q.node, q.asked_at AS "askedAt", q.expires_at AS "expiresAt"
      FROM @questions q JOIN @runs r ON r.id = q.run${where} ORDER BY q.asked_at DESC, q.run DESC, q.position LIMIT ${value(rows)}`,
    values,
  };
}

/** One look-up per tenant, and not one per run. */
const TENANTS = `
  WITH RECURSIVE names (tenant) AS (
    SELECT (SELECT min(tenant) FROM @runs WHERE tenant > $1)
    UNION ALL SELECT (SELECT min(tenant) FROM @runs WHERE tenant > names.tenant) FROM names WHERE names.tenant IS NOT NULL
  ) SELECT tenant FROM names WHERE tenant IS NOT NULL LIMIT $2`;

const SELECT_RUN = `
  SELECT r.id, r.run, r.flow, coalesce(f.hash, '') AS hash, r.notation, r.status, r.code, r.started_at AS "startedAt",
    r.updated_at AS "updatedAt", r.due, w.worker AS owner, r.tenant, r."user", r.thread, r.parent,
    k.seq, k.steps, k.input_tokens AS "inputTokens", k.output_tokens AS "outputTokens", k.cost_micros AS micros, k.questions, k.node,
    k.error, k.message
  FROM @runs r LEFT JOIN @flows f ON f.id = r.graph LEFT JOIN @workers w ON w.id = r.owner LEFT JOIN @run_facts k ON k.run = r.id`;

type RunRow = RunEntry &
  Omit<RunFacts, 'error' | 'costUsd' | 'seq'> & {
    readonly id: number;
    readonly seq: number | null;
    readonly micros: number;
    readonly error: string | null;
    readonly message: string | null;
  };

function toEntry(row: RunRow): RunEntry {
  const { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, thread, parent } =
    row;
  return { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, thread, parent };
}

function toListed(row: RunRow): ListedRun {
  const { seq, steps, inputTokens, outputTokens, micros, questions, node, error: type, message } = row;
  if (seq === null) return { ...toEntry(row), facts: null };
  const error = type === null ? null : { type, message: message ?? '' };
  const costUsd = micros / 1_000_000;
  return { ...toEntry(row), facts: { seq, steps, inputTokens, outputTokens, costUsd, questions, node, error } };
}

function tombstoneOf({ run, events, hash, at, tenant, file, link }: Tombstone): Tombstone {
  return { run, events, hash, at, tenant, file, link };
}

const SELECT_TOMBSTONE = 'SELECT run, events, hash, at, tenant, file, link';
