/** A role of the database reads the rows of its tenants and no others, whatever it asks. */
import { expect, test } from 'vitest';
import { grantTenant } from '../src/grant.ts';
import { openPostgres } from '../src/open.ts';
import { Chain, ENDED } from '../../testing/src/suite/sample.ts';
import { freshSchema, runSql, sharedPostgres } from '../../../test/support/postgres.ts';

test('row-level security: foreign rows do not exist for a role, and it writes nothing', async () => {
  const url = await sharedPostgres();
  const [schema, role] = [freshSchema(), freshSchema()];
  const store = openPostgres(url(schema));
  await store.leases.renew('w1', 60_000);
  const facts = { seq: 1, steps: 1, inputTokens: 1, outputTokens: 1, costUsd: 1, questions: 1, node: 'a', error: null };
  for (const tenant of ['acme', 'other', null]) {
    const name = tenant ?? 'none';
    const questions = [{ id: `a_${name}`, node: 'a', askedAt: 1, expiresAt: null }];
    const blobs = [{ hash: 'b', body: name }];
    const [chain, ended] = [
      new Chain(`r_${name}`, { hash: `flow-${name}`, text: name }),
      new Chain(`e_${name}`, { hash: `flow-${name}`, text: name }),
    ];
    const first = chain.first(undefined, { tenant });
    await store.journal.commit('w1', [
      { ...first, blobs, details: { facts, questions } },
      ended.first(ENDED, { tenant }),
    ]);
    await store.index.remove([`e_${name}`]);
    await store.mail.post(`r_${name}`, { type: 'cancel', by: 'ann', why: '' });
    await store.attachments.add(`r_${name}`, {
      id: `sha256-${name}`,
      data: Buffer.from(name),
      mediaType: 'image/png',
      name,
      origin: 'input',
    });
    await store.pii.add(`r_${name}`, 'email', 'lookup', 1, { token: '[PII_EMAIL_001]', sealed: Buffer.from(name) });
  }
  await runSql(url('public'), `CREATE ROLE ${role} LOGIN PASSWORD 'a secret'`);
  await grantTenant(url(schema), 'acme', role);
  const as = new URL(url(schema));
  as.username = role;
  const ask = (sql: string) => runSql(as.href, sql);
  const tables = await runSql<{ name: string }>(
    url('public'),
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1',
    [schema],
  );
  const seen: { [table: string]: number } = {};
  for (const { name } of tables) {
    const rows = await ask(`SELECT to_jsonb(t)::text AS row FROM ${schema}.${name} t`).catch(() => null);
    if (rows === null) continue;
    seen[name] = rows.length;
    for (const { row } of rows as { row: string }[]) expect(row, name).not.toMatch(/other|none/);
  }
  expect(seen).toEqual({
    ...{
      runs: 1,
      log: 1,
      blobs: 1,
      snapshots: 0,
      checkpoints: 0,
      run_facts: 1,
      questions: 1,
      mail: 1,
      tombstones: 1,
      flows: 1,
    },
    ...{ attachment_uses: 1, attachments: 1, memory: 0, tenant_roles: 1 },
  });
  for (const sql of [
    `INSERT INTO ${schema}.tenant_roles VALUES ('${role}', 'other')`,
    `UPDATE ${schema}.runs SET tenant = 'acme'`,
    `DELETE FROM ${schema}.mail`,
    `SET row_security = off; SELECT * FROM ${schema}.runs`,
    `SELECT * FROM ${schema}.pii_tokens`,
    `SELECT * FROM ${schema}.shared`,
    `SELECT ${schema}.commit('w1', NULL, 1, '', '[]', '{}', '[]', NULL)`,
    `SELECT ${schema}.claim('w1', '{}', '{}', '{}', 'r_other', NULL, '{}', NULL, 1, 1)`,
  ])
    await expect(ask(sql), sql).rejects.toThrow();
  // The engine itself still sees all.
  expect((await store.index.list()).items).toHaveLength(3);
  expect(await store.journal.broken?.()).toBeNull();
  await expect(grantTenant(url(schema), 'acme', 'nobody_here')).rejects.toMatchObject({ code: 'usage' });
  await expect(grantTenant(url(schema), 'acme', 'sluice')).rejects.toMatchObject({ code: 'usage' });
  await store.close();
});
