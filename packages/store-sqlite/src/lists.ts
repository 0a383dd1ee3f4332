/** Pages of runs, questions, tenants and tombstones. Each page is read through an index, from its cursor on. */
import type { StatementSync } from 'node:sqlite';
import { cursorOfName, keyIdOf, limitOf, nameBefore, pageOf, placeOf } from '@sluice-internal/engine/ports';
import type {
  Codec,
  Index,
  ListedRun,
  OpenQuestion,
  QuestionFilter,
  RunEntry,
  RunFacts,
  RunFilter,
  Tombstone,
} from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';
import { openedFacts, toFacts } from './facts-row.ts';
import type { FactsRow } from './facts-row.ts';
import { placeOfMessage } from './places.ts';

type Lists = Pick<Index, 'find' | 'list' | 'questions' | 'waiting' | 'tenants'>;

export function createLists(connection: Connection, store: string): Lists {
  const { codec, prepare } = connection;
  const toListed = (row: RunRow): ListedRun => ({ ...toEntry(row), facts: factsOf(row, codec, store) });
  const one = prepare(`${SELECT_RUN} WHERE runs.run = ?`);
  const tenants = prepare(TENANTS);
  const statement = statementsOf(prepare);
  return {
    find: async (run) =>
      connection.read(() => {
        const row = one.get(run) as unknown as RunRow | undefined;
        return row === undefined ? null : toEntry(row);
      }),
    list: async (filter = {}) => {
      const limit = limitOf(filter);
      const { sql, values } = queryOf(filter, placeOf(filter, 1));
      return connection.read(() => {
        const rows = filter.status?.length === 0 ? [] : statement(sql).all(...values, limit + 1);
        return pageOf(rows as unknown as RunRow[], limit, toListed, ([id]) => [id]);
      });
    },
    questions: async (filter = {}) => {
      const limit = limitOf(filter);
      const { sql, values } = questionQuery(filter, placeOf(filter, 3));
      return connection.read(() => {
        const rows = statement(sql).all(...values, limit + 1) as unknown as QuestionRow[];
        return pageOf(rows, limit, toQuestion, ([id, , position, , , askedAt]) => [askedAt, id, position]);
      });
    },
    waiting: async ({ tenant, except }) =>
      connection.read(() => {
        const whose = tenant === undefined ? '' : ' AND tenant = ?';
        const sql = `SELECT count(*), min(updated_at) FROM runs WHERE status = 'suspended' AND run <> ?${whose}`;
        const values = tenant === undefined ? [except] : [except, tenant];
        const [count, since] = statement(sql).get(...values) as unknown as [number, number | null];
        return { count, since };
      }),
    tenants: async (page = {}) => {
      const limit = limitOf(page);
      const after = nameBefore(page);
      return connection.read(() => {
        const rows = tenants.all(after, limit + 1) as unknown as [string][];
        return pageOf(
          rows,
          limit,
          ([tenant]) => tenant,
          ([tenant]) => [cursorOfName(tenant)],
        );
      });
    },
  };
}

export function createTombstones(connection: Connection): Pick<Index, 'tombstones' | 'removed'> {
  const { prepare } = connection;
  const one = prepare(`${SELECT_TOMBSTONE} WHERE run = ?`);
  const some = prepare(`${SELECT_TOMBSTONE} WHERE number > ? ORDER BY number LIMIT ?`);
  const readHead = prepare('SELECT tombstones FROM store');
  return {
    removed: async (run) =>
      connection.read(() => {
        const row = one.get(run) as unknown as TombstoneRow | undefined;
        return row === undefined ? null : toTombstone(row);
      }),
    tombstones: async (page = {}) => {
      const limit = limitOf(page);
      const [after = 0] = placeOf(page, 1) ?? [];
      return connection.read(() => {
        const [head] = readHead.get() as unknown as [string];
        const rows = some.all(after, limit + 1) as unknown as TombstoneRow[];
        return { ...pageOf(rows, limit, toTombstone, ([number]) => [number]), head };
      });
    },
  };
}

function statementsOf(prepare: Connection['prepare']): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    const statement = prepared.get(sql) ?? prepare(sql);
    prepared.set(sql, statement);
    return statement;
  };
}

interface Query {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/**
 * Several states are one query each, merged by SQLite, so that each is read through an index in the order of the list and no query
 * reads more rows than the page has.
 */
export function queryOf(filter: RunFilter, place: readonly number[] | null): Query {
  const conditions = conditionsOf(filter, place);
  const states: readonly (string | null)[] = filter.status ?? [null];
  // The runs that changed in a time are found by that time, and then sorted.
  const order = filter.changedSince === undefined || states.length > 1 ? 'id' : '+runs.id';
  const parts = states.map((status) => {
    const all = status === null ? conditions : [{ sql: 'runs.status = ?', values: [status] }, ...conditions];
    const where = all.length === 0 ? '' : ` WHERE ${all.map(({ sql }) => sql).join(' AND ')}`;
    return { sql: `${SELECT_RUN}${where}`, values: all.flatMap(({ values }) => values) };
  });
  return {
    sql: `${parts.map(({ sql }) => sql).join(' UNION ALL ')} ORDER BY ${order} DESC LIMIT ?`,
    values: parts.flatMap(({ values }) => values),
  };
}

function conditionsOf(filter: RunFilter, place: readonly number[] | null): readonly Query[] {
  const { since, until, prefix = '', due, changedSince, changedUntil } = filter;
  const conditions: Query[] = EQUAL.flatMap((field) => {
    const value = filter[field];
    if (value === null) return [{ sql: `runs.${field} IS NULL`, values: [] }];
    return value === undefined ? [] : [{ sql: `runs.${field} = ?`, values: [value] }];
  });
  const add = (sql: string, ...values: readonly (string | number)[]): void => void conditions.push({ sql, values });
  // The first run of this time ends the search, because a list is read in the order of ids.
  if (since !== undefined) {
    add('runs.started_at >= ?', since);
    add('runs.id >= (SELECT min(+id) FROM runs AS first WHERE first.started_at >= ?)', since);
  }
  if (until !== undefined) add('runs.started_at < ?', until);
  if (prefix !== '') add('runs.run >= ? AND runs.run < ?', prefix, `${prefix}\u{10FFFF}`);
  if (due !== undefined) add('runs.due <= ?', due);
  if (changedSince !== undefined) add('runs.updated_at >= ?', changedSince);
  if (changedUntil !== undefined) add('runs.updated_at <= ?', changedUntil);
  const [id = 0] = place ?? [];
  if (place !== null) add('runs.id < ?', id);
  return conditions;
}
const EQUAL = ['code', 'flow', 'tenant', 'user', 'thread', 'parent'] as const;

export function questionQuery({ run, tenant }: QuestionFilter, place: readonly number[] | null): Query {
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  if (run !== undefined) {
    conditions.push('questions.run = (SELECT id FROM runs WHERE run = ?)');
    values.push(run);
  }
  if (tenant === null) conditions.push('questions.tenant IS NULL');
  else if (tenant !== undefined) {
    conditions.push('questions.tenant = ?');
    values.push(tenant);
  }
  if (place !== null) {
    const [askedAt = 0, id = 0, position = 0] = place;
    conditions.push(`questions.asked_at <= ? AND (questions.asked_at < ? OR questions.run < ?
      OR (questions.run = ? AND questions.position > ?))`);
    values.push(askedAt, askedAt, id, id, position);
  }
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return {
    sql: `${SELECT_QUESTION}${where} ORDER BY questions.asked_at DESC, questions.run DESC, questions.position LIMIT ?`,
    values,
  };
}

/** One look-up per tenant, and not one per run. */
const TENANTS = `
  WITH RECURSIVE names (tenant) AS (
    SELECT (SELECT min(tenant) FROM runs WHERE tenant > ?)
    UNION ALL SELECT (SELECT min(tenant) FROM runs WHERE tenant > names.tenant) FROM names WHERE names.tenant IS NOT NULL
  ) SELECT tenant FROM names WHERE tenant IS NOT NULL LIMIT ?`;

const SELECT_RUN = `
  SELECT runs.id AS id, runs.run, runs.flow, coalesce(flows.hash, ''), runs.notation, runs.status, runs.code,
    runs.started_at, runs.updated_at, runs.due, workers.worker, runs.tenant, runs.user, runs.thread, runs.parent,
    facts.seq, facts.steps, facts.input_tokens, facts.output_tokens, facts.cost_micros, facts.questions, facts.node,
    facts.error, facts.message
  FROM runs LEFT JOIN flows ON flows.id = runs.graph LEFT JOIN workers ON workers.id = runs.owner
    LEFT JOIN run_facts AS facts ON facts.run = runs.id`;

type RunRow = readonly [
  id: number,
  run: string,
  flow: string,
  hash: string,
  notation: string,
  status: RunEntry['status'],
  code: RunEntry['code'],
  startedAt: number,
  updatedAt: number,
  due: number | null,
  owner: string | null,
  tenant: string | null,
  user: string | null,
  thread: string | null,
  parent: string | null,
  ...facts: FactsRow,
];

function toEntry([, run, flow, hash, notation, status, code, ...rest]: RunRow): RunEntry {
  const [startedAt, updatedAt, due, owner, tenant, user, thread, parent] = rest;
  return { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, thread, parent };
}

/** Without the key, lists have everything but the message of an error. */
function factsOf(row: RunRow, codec: Codec, store: string): RunFacts | null {
  const stored = row.slice(15) as unknown as FactsRow;
  const opened = openedFacts(codec, placeOfMessage(store, row[1]), stored);
  const facts = toFacts(opened ?? stored);
  if (opened !== null || facts === null || facts.error === null) return facts;
  return { ...facts, error: { ...facts.error, message: `sealed with the key ${keyIdOf(facts.error.message)}` } };
}

const SELECT_QUESTION = `
  SELECT questions.run, runs.run, questions.position, questions.question, questions.node, questions.asked_at, questions.expires_at
  FROM questions JOIN runs ON runs.id = questions.run`;

type QuestionRow = readonly [
  id: number,
  run: string,
  position: number,
  question: string,
  node: string,
  askedAt: number,
  expiresAt: number | null,
];

function toQuestion([, run, , id, node, askedAt, expiresAt]: QuestionRow): OpenQuestion {
  return { id, run, node, askedAt, expiresAt };
}

const SELECT_TOMBSTONE = 'SELECT number, run, events, hash, at, tenant, file, link FROM tombstones';
type TombstoneRow = readonly [
  number: number,
  run: string,
  events: number,
  hash: string,
  at: number,
  tenant: string | null,
  file: string | null,
  link: string,
];

function toTombstone([, run, events, hash, at, tenant, file, link]: TombstoneRow): Tombstone {
  return { run, events, hash, at, tenant, file, link };
}
