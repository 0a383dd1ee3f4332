/**
 * Compares the rows of a store with the chains of heads. A run is compared with its own last entry before it is continued; the audit
 * compares all of them, in one moment of the database.
 */
import { hashShared, linkAct, linkTombstone } from '@sluice-internal/engine/journal';
import { hashMail } from '@sluice-internal/engine/ports';
import type { Journal, OperatorAct, Tombstone } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SLOW_MS } from './database.ts';
import type { Database, Query } from './database.ts';
import { FUNCTIONS } from './functions.ts';
import { Folded, hashHead } from './heads.ts';
import type { HeadRow } from './heads.ts';
import { inSchema } from './in-schema.ts';
import { TABLES } from './schema.ts';
import { hashRows } from './segments.ts';
import type { FactsRow, QuestionRow } from './segments.ts';

const PAGE = 2000;

export interface Audit {
  readonly broken: NonNullable<Journal['broken']>;
  /** The reason why the store was changed from outside, or what its chains record. In a transaction of the caller. */
  readonly fold: (query: Query) => Promise<string | Folded>;
}

export function createAudit(database: Database): Audit {
  const fold = (query: Query): Promise<string | Folded> => foldAll(query, database);
  return {
    fold,
    broken: async (run) => {
      if (run !== undefined) return brokenRun(database, run);
      const found = await database.transaction(async (query) => {
        await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
        return fold(query);
      }, SLOW_MS);
      return typeof found === 'string' ? found : null;
    },
  };
}

interface RunRow {
  readonly id: number;
  readonly run: RunId;
  readonly isListed: boolean | null;
  readonly details: string;
  readonly name: RunId | null;
  readonly events: number | null;
  readonly head: string | null;
  readonly signed: number | null;
  readonly listing: string | null;
  readonly chain: number | null;
  readonly number: number | null;
  readonly storedEvents: number | null;
  readonly storedHead: string | null;
  readonly facts: FactsRow | null;
  readonly questions: readonly QuestionRow[] | null;
  readonly areOwn: boolean;
  readonly checkpoints: number;
}

const SELECT_RUN = `
  SELECT r.id, r.run, e.listing = @listing((SELECT id FROM @store), r, f.hash) AS "isListed", r.details,
    e.name, e.events, e.head, e.signed, e.listing, e.chain, e.number, last.events AS "storedEvents", last.hash AS "storedHead",
    (SELECT json_build_array(seq, steps, input_tokens, output_tokens, cost_micros, questions, node, error, message)
      FROM @run_facts WHERE run = r.id) AS facts,
    (SELECT json_agg(json_build_array(position, question, node, asked_at, expires_at) ORDER BY position) FROM @questions WHERE run = r.id)
      AS questions,
    NOT EXISTS (SELECT 1 FROM @questions q WHERE q.run = r.id AND q.tenant IS DISTINCT FROM r.tenant) AS "areOwn",
    (SELECT count(*) FROM @checkpoints WHERE run = r.id) AS checkpoints
  FROM @runs r LEFT JOIN @flows f ON f.id = r.graph LEFT JOIN @ends e ON e.run = r.id
    LEFT JOIN LATERAL (SELECT l.after + l.count AS events, l.hash FROM @log l WHERE l.run = r.id ORDER BY l.after DESC LIMIT 1) last ON true`;

/** The reason why the row of a run, or its end, is not as it was stored. */
function brokenRow(row: RunRow): string | null {
  const { name, run, isListed, details, facts, questions, areOwn, events, head, storedEvents, storedHead } = row;
  const shown = hashRows(facts, questions ?? []);
  if (name !== run || isListed !== true || shown !== details || !areOwn)
    return 'its entry in the list of runs was changed';
  const [stored, ended] = [storedEvents ?? 0, events ?? 0];
  if (stored < ended) return `its journal ends with event ${stored}, but ${ended} events were stored`;
  if (stored !== ended || storedHead !== head) return `event ${stored} is not the last one that was stored`;
  return null;
}

/** True if the run is as it was stored, and its last entry in the chains of heads names it. */
export async function isIntact(query: Query, store: string, run: RunId): Promise<boolean> {
  const [row] = await query<RunRow>(`${SELECT_RUN} WHERE r.run = $1`, [run]);
  return row !== undefined && brokenRow(row) === null && (await isNamed(query, store, row));
}

async function isNamed(query: Query, store: string, row: RunRow): Promise<boolean> {
  const [entry] = await query<HeadRow>(
    'SELECT chain, number, body, hash FROM @heads WHERE chain = $1 AND number = $2',
    [row.chain, row.number],
  );
  if (entry === undefined || hashHead(store, entry.chain, entry.number, entry.body) !== entry.hash) return false;
  const { id, name, events, head, signed, listing } = row;
  const listed = JSON.stringify([id, name, events, head, signed, listing]);
  const moved = `[${id},${events},${JSON.stringify(head)},${signed}]`;
  return entry.body.includes(listed) || entry.body.includes(moved);
}

async function brokenRun(database: Database, run: RunId): Promise<string | null> {
  const { query } = database;
  const [row] = await query<RunRow & { actsEnd: string; acts: string; values: number; shared: number }>(
    `${SELECT_RUN} WHERE r.run = $1`,
    [run],
  );
  const broken = await brokenRecords(query);
  if (broken !== null) return broken;
  if (row === undefined) return brokenAbsence(query, run);
  const changed = brokenRow(row);
  if (changed !== null) return changed;
  if (row.checkpoints !== row.signed)
    return `it has ${row.checkpoints} signed checkpoints, but ${row.signed} were stored`;
  return (await isNamed(query, database.id, row))
    ? null
    : 'its last entry in the chains of heads was changed or deleted';
}

/** Acts of operators and shared values, on which every run depends. A changed value counts as absent. */
async function brokenRecords(query: Query): Promise<string | null> {
  const [row] = await query<{ acts: boolean; shared: boolean }>(
    `SELECT acts = coalesce((SELECT link FROM @acts ORDER BY number DESC LIMIT 1), '') AS acts,
       shared = (SELECT count(*) FROM @shared) AS shared FROM @store`,
  );
  if (row?.acts !== true) return 'an act of an operator was added or deleted at the end';
  return row.shared ? null : 'a shared value was changed, added or deleted';
}

/** A run without a row has never been here, or was removed. */
async function brokenAbsence(query: Query, run: RunId): Promise<string | null> {
  const [row] = await query<{ same: boolean | null }>(
    `SELECT t.id = e.run AND t.events = e.events AND t.hash = e.head AS same
     FROM @ends e LEFT JOIN @tombstones t ON t.run = e.name WHERE e.name = $1`,
    [run],
  );
  return row === undefined || row.same === true ? null : 'its rows, or its tombstone, were changed or deleted';
}

async function foldAll(query: Query, database: Database): Promise<string | Folded> {
  const folded = new Folded(database.id);
  if (!(await foldHeads(query, folded))) return CHANGED;
  return (
    (await brokenEnds(query, folded)) ??
    (await brokenList(query, folded)) ??
    (await brokenTombstones(query, folded)) ??
    (await brokenMail(query, database.id, folded)) ??
    (await brokenActs(query, folded)) ??
    (await brokenShared(query, database.id, folded)) ??
    (await changedSchema(query, database.address.schema)) ??
    folded
  );
}
const CHANGED = 'the chains of heads were changed';

async function foldHeads(query: Query, folded: Folded): Promise<boolean> {
  const [cut] = await query<HeadRow>(
    `SELECT chain, number, body, hash FROM @heads WHERE number = 1 AND body LIKE '%,"cut":[%' LIMIT 1`,
  );
  if (cut !== undefined && !folded.takeRow(cut)) return false;
  let [chain, number] = [-1, -1];
  for (;;) {
    const rows = await query<HeadRow>(
      'SELECT chain, number, body, hash FROM @heads WHERE (chain, number) > ($1, $2) ORDER BY chain, number LIMIT $3',
      [chain, number, PAGE],
    );
    for (const row of rows) {
      [chain, number] = [row.chain, row.number];
      if (row.chain === cut?.chain && row.number === cut.number) continue;
      if (!folded.takeRow(row)) return false;
    }
    if (rows.length < PAGE) return true;
  }
}

/** All rows of a table with a numbered key, page by page. */
async function* pagesOf<Row extends object>(
  query: Query,
  sql: string,
  key: string,
  of: (row: Row) => number,
): AsyncGenerator<Row> {
  for (let last = -1; ;) {
    const rows = await query<Row>(`${sql} WHERE ${key} > $1 ORDER BY ${key} LIMIT $2`, [last, PAGE]);
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < PAGE) return;
    last = of(end);
  }
}

interface EndRow {
  readonly run: number;
  readonly name: RunId;
  readonly events: number;
  readonly head: string;
  readonly signed: number;
  readonly listing: string;
  readonly place: string;
}

async function brokenEnds(query: Query, { runs }: Folded): Promise<string | null> {
  let count = 0;
  const sql = `SELECT run, name, events, head, signed, listing, chain || '.' || number AS place FROM @ends`;
  for await (const row of pagesOf<EndRow>(query, sql, 'run', ({ run }) => run)) {
    const found = runs.get(row.run);
    const own = [row.name, row.events, row.head, row.signed, row.listing];
    const recorded = [found?.name, found?.events, found?.head, found?.signed, found?.listing];
    if (!own.every((value, index) => value === recorded[index]) || found?.places.has(row.place) !== true)
      return `run \`${found?.name ?? row.name}\`: its end differs from the chains of heads`;
    count += 1;
  }
  return count < runs.size ? 'the end of a run was deleted' : null;
}

async function brokenList(query: Query, { runs, gone }: Folded): Promise<string | null> {
  let count = 0;
  for await (const row of pagesOf<RunRow>(query, SELECT_RUN, 'r.id', ({ id }) => id)) {
    const changed = gone.has(row.id) ? 'it was removed, and is listed' : brokenRow(row);
    if (changed !== null) return `run \`${row.run}\`: ${changed}`;
    if (row.checkpoints !== row.signed)
      return `run \`${row.run}\`: it has ${row.checkpoints} signed checkpoints, but ${row.signed} were stored`;
    count += 1;
  }
  return count + gone.size === runs.size ? null : LISTS;
}
const LISTS = 'the list of runs does not add up: a run or the tombstone of one was changed, added or deleted';

async function brokenTombstones(query: Query, { gone }: Folded): Promise<string | null> {
  const rows = await query<Tombstone & { id: number }>(
    'SELECT id, run, events, hash, at, tenant, file, link FROM @tombstones ORDER BY number',
  );
  const [store] = await query<{ tombstones: string }>('SELECT tombstones FROM @store');
  let last = '';
  for (const { id, link, ...tombstone } of rows) {
    last = linkTombstone(last, tombstone);
    if (last !== link || gone.get(id) !== link) return LISTS;
  }
  return rows.length === gone.size && last === store?.tombstones ? null : LISTS;
}

async function brokenMail(query: Query, store: string, { posted, done }: Folded): Promise<string | null> {
  const rows = await query<{ id: number; run: RunId | null; fact: string; hash: string; place: string }>(
    `SELECT m.id, r.run, m.fact, m.hash, m.chain || '.' || m.number AS place FROM @mail m LEFT JOIN @runs r ON r.id = m.run`,
  );
  const areSame = rows.every(({ id, run, fact, hash, place }) => {
    const [recorded, at] = posted.get(id) ?? [];
    return run !== null && hashMail(store, run, fact) === hash && recorded === hash && at === place && !done.has(id);
  });
  const open = [...posted.keys()].filter((id) => !done.has(id)).length;
  return areSame && rows.length === open ? null : 'a message between processes was changed, added or deleted';
}

async function brokenActs(query: Query, folded: Folded): Promise<string | null> {
  const acts = await query<OperatorAct>('SELECT at, who AS by, what, key, why, link FROM @acts ORDER BY number');
  const [store] = await query<{ acts: string }>('SELECT acts FROM @store');
  let last = '';
  for (const { link, ...act } of acts) {
    last = linkAct(last, act);
    if (last !== link || !folded.acts.has(link)) return ACTS;
  }
  return acts.length === folded.acts.size && last === store?.acts ? null : ACTS;
}
const ACTS = 'an act of an operator was changed, added or deleted';

async function brokenShared(query: Query, store: string, { shared }: Folded): Promise<string | null> {
  const rows = await query<{ key: string; value: string; hash: string; changes: number }>(
    'SELECT key, value, hash, changes FROM @shared',
  );
  const [kept] = await query<{ shared: number }>('SELECT shared FROM @store');
  const areSame = rows.every(({ key, value, hash, changes }) => {
    const recorded = shared.get(key);
    return hashShared(store, key, value) === hash && recorded?.[0] === hash && recorded[1] === changes;
  });
  return areSame && rows.length === shared.size && rows.length === kept?.shared
    ? null
    : 'a shared value was changed, added or deleted';
}

/** The functions and triggers are those of this release. */
async function changedSchema(query: Query, schema: string): Promise<string | null> {
  const own = inSchema(TABLES + FUNCTIONS, schema);
  const bodies = new Set([...own.matchAll(/AS \$\$(.*?)\$\$/gs)].map(([, body]) => body ?? ''));
  const triggers = new Set([...own.matchAll(/CREATE TRIGGER (\w+)/g)].map(([, name]) => name ?? ''));
  const functions = await query<{ name: string; body: string }>(
    'SELECT proname AS name, prosrc AS body FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = $1',
    [schema],
  );
  const found = await query<{ name: string; enabled: string }>(
    `SELECT tgname AS name, tgenabled AS enabled FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = $1 AND NOT tgisinternal`,
    [schema],
  );
  const changed = functions.find(({ body }) => !bodies.has(body));
  if (changed !== undefined || functions.length !== bodies.size)
    return `the functions of the schema were changed${changed === undefined ? '' : `: ${changed.name}`}`;
  const areOwn =
    found.length === triggers.size && found.every(({ name, enabled }) => triggers.has(name) && enabled === 'O');
  return areOwn ? null : 'the triggers of the schema were changed';
}
