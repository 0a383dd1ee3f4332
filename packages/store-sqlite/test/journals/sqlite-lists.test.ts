/** Lists read no more rows than their page has, however many runs there are. */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/index.ts';
import { queryOf, questionQuery } from '../../src/lists.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

type Query = ReturnType<typeof queryOf>;

async function planOf({ sql, values }: Query): Promise<readonly string[]> {
  const path = freshPath();
  await openSqlite(path).close();
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values, 1);
  db.close();
  return rows.map(({ detail }) => String(detail));
}

const PLACE = [7];
const RUN_QUERIES: readonly [name: string, query: Query, index: string][] = [
  ['all runs', queryOf({}, null), 'SCAN runs'],
  ['a later page', queryOf({}, PLACE), 'SEARCH runs USING INTEGER PRIMARY KEY (rowid<?)'],
  ['one state', queryOf({ status: ['suspended'] }, PLACE), 'runs_by_status (status=? AND rowid<?)'],
  ['several states', queryOf({ status: ['running', 'suspended'] }, null), 'runs_by_status (status=?)'],
  ['a flow', queryOf({ flow: 'f' }, PLACE), 'runs_by_flow (flow=? AND rowid<?)'],
  ['a code', queryOf({ code: 'TIMEOUT' }, null), 'runs_by_code (code=?)'],
  ['a tenant', queryOf({ tenant: 'acme' }, null), 'runs_by_tenant (tenant=?)'],
  ['a user', queryOf({ user: 'ann' }, null), 'runs_by_user (user=?)'],
  ['a thread', queryOf({ thread: 't' }, null), 'runs_by_thread (thread=?)'],
  ['a time', queryOf({ since: 5 }, null), 'first USING COVERING INDEX runs_by_start (started_at>?)'],
];

test.each(RUN_QUERIES)('a list of %s is read through its index, in the order of the list', async (_, query, index) => {
  const plan = await planOf(query);
  expect(plan.join('\n')).toContain(index);
  expect(plan.filter((line) => line.includes('TEMP B-TREE'))).toEqual([]);
});

test('runs that changed in a time are found by that time', async () => {
  const query = queryOf({ status: ['suspended'], tenant: null, changedSince: 1, changedUntil: 2 }, null);
  expect((await planOf(query)).join('\n')).toContain('runs_by_change (status=? AND updated_at>? AND updated_at<?)');
});

test('open questions are read through an index, in the order of the list', async () => {
  for (const [query, index] of [
    [questionQuery({}, null), 'questions_by_time'],
    [questionQuery({}, [1, 2, 3]), 'questions_by_time (asked_at<?)'],
    [questionQuery({ tenant: 'acme' }, null), 'questions_by_tenant (tenant=?)'],
    [questionQuery({ tenant: 'acme' }, [1, 2, 3]), 'questions_by_tenant (tenant=? AND asked_at<?)'],
  ] as const) {
    const plan = await planOf(query);
    expect(plan.join('\n')).toContain(index);
    expect(plan.filter((line) => line.includes('TEMP B-TREE'))).toEqual([]);
  }
});
