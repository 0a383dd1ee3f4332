/** A database tool that only reads refuses statements that write, in any disguise that a database would see through. */
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { writingStatement } from '../../src/policy/statements.ts';
import { play } from './play.ts';

test.each([
  'DELETE FROM users',
  'dElEtE\tfrom users',
  '  update t set a = 1',
  '/* x */ delete from t',
  '/*!50000 delete from t */',
  "select 'a -- '; delete from t",
  String.raw`select 'a\'; delete from t --'`,
  'select 1 -- one\n; drop table t',
  'explain analyze delete from t',
  'EXPLAIN (ANALYZE, BUFFERS) UPDATE t SET a = 1',
  "SELECT * FROM t INTO OUTFILE 'x'",
  'select a into newtable from t',
  'WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x',
  'lock table t',
  'set role admin',
  'pragma writable_schema=1',
  'attach database x as y',
  "select setval('s', 1)",
  "COPY t TO PROGRAM 'sh'",
  'insert\u200b into t values (1)',
  'DO $$ begin perform 1; end $$',
  'db.users.deleteMany({})',
  'MATCH (n) DETACH DELETE n',
  'FLUSHALL',
  '{"delete": "users", "deletes": []}',
  '[{"$match": {}}, {"$out": "copy"}]',
  '{"aggregate": "users", "pipeline": [{"$match": {}}, {"$out": "copy"}]}',
])('%s', (sql) => {
  expect(writingStatement({ database: 'main', sql })).not.toBeNull();
});

test('a stage of a pipeline that writes, in arguments that are objects', () => {
  const pipeline: Json[] = [{ $match: { update: true } }, { $merge: { into: 'copy' } }];
  expect(writingStatement({ command: { aggregate: 'users', pipeline } })).toBe('$merge');
  expect(writingStatement({ command: { aggregate: 'users', pipeline: pipeline.slice(0, 1) } })).toBeNull();
});

test.each([
  'select 1',
  "SELECT * FROM log WHERE text = 'delete from users'",
  "select 'it''s; drop table t' from t",
  'select updated_at, "delete" from t -- drop table',
  'select created from t where set_id = 3 and (updated > 1)',
  'EXPLAIN select * from t',
  'db.users.find({ deleted: true })',
  '{"find": "users", "filter": { "update": true }}',
  'update',
  'MATCH (n) RETURN n',
])('reads: %s', (sql) => {
  expect(writingStatement({ database: 'main', sql })).toBeNull();
});

test('the call is not made, and the agent reads the reason', async () => {
  const { dispatched, events } = await play(
    {
      tools: { 'db.query': { description: 'Queries.', category: 'database', effect: 'read' } },
      agents: [{ id: 'bot', instructions: 'Help.', tools: ['db.query'] }],
      flow: { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] }] },
    },
    {
      agents: {
        bot: [{ text: '', tools: [{ name: 'db.query', args: { q: 'explain analyze delete from t' } }] }, 'No.'],
      },
    },
  );
  expect(dispatched).toEqual([]);
  expect(JSON.stringify(events)).toContain('the tool only reads, and this statement writes');
});
