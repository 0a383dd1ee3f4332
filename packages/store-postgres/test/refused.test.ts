/** What a database lacks is one clear line with a remedy, and never a password. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { SluiceError } from '@sluice-internal/engine/ports';
import { openPostgres } from '../src/open.ts';
import type { PostgresOptions } from '../src/open.ts';
import { freshSchema, runSql, sharedPostgres } from '../../../test/support/postgres.ts';

const SECRET = 'a%20secret';
let url: (schema: string) => string;
beforeAll(async () => {
  url = await sharedPostgres();
});

async function refusal(address: string, options: PostgresOptions = {}): Promise<SluiceError> {
  const error = await opened(address, options).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SluiceError);
  const { message, help = '' } = error as SluiceError;
  expect(`${message}${help}`).not.toMatch(/secret|\n/);
  expect(help).not.toBe('');
  return error as SluiceError;
}

async function opened(address: string, options: PostgresOptions): Promise<void> {
  const store = openPostgres(address, options);
  try {
    await store.ready();
  } finally {
    await store.close();
  }
}

const changed = (change: (address: URL) => void): string => {
  const address = new URL(url(freshSchema()));
  change(address);
  return address.href;
};

describe('an address', () => {
  test.each([
    ['postgres://h/d?schema=a-b', 'the schema is `a-b`'],
    ['postgres://h/d?schema=pg_x', 'the schema is `pg_x`'],
    [`postgres://u:${SECRET}@h/d?application_name=x`, '`application_name` is not a parameter'],
    [`postgres://u:${SECRET}@h/d?sslmode=maybe`, '`sslmode` is `maybe`'],
    [`postgres://u:${SECRET}@h/d/e`, 'a database has one name'],
    [`postgres://u:${SECRET}@h:port/d`, 'not the address of a database'],
    ['postgres:///d', 'it names no host'],
  ])('%s is refused', async (address, why) => {
    expect(await refusal(address)).toMatchObject({
      code: 'journal-unavailable',
      message: expect.stringContaining(why) as string,
    });
  });
});

test('a journal key is refused: nothing would be sealed', async () => {
  vi.stubEnv('SLUICE_JOURNAL_KEY', randomBytes(32).toString('base64'));
  try {
    const found = await refusal(url(freshSchema()));
    expect(found).toMatchObject({ code: 'journal-key', message: expect.stringContaining('does not seal') as string });
    expect(found.help).toMatch(/Unset SLUICE_JOURNAL_KEY/);
  } finally {
    vi.unstubAllEnvs();
  }
});

describe('a database', () => {
  test('that is not there', async () => {
    const found = await refusal(changed((address) => (address.port = '1')));
    expect(found).toMatchObject({
      code: 'journal-unavailable',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  test('with another password, and without one', async () => {
    for (const password of ['another-secret', ''])
      expect((await refusal(changed((address) => (address.password = password)))).message).toMatch(
        /refuses user `sluice`/,
      );
  });

  test('with another name', async () => {
    expect((await refusal(changed((address) => (address.pathname = '/none')))).message).toMatch(
      /there is no database `none`/,
    );
  });

  test('of a server without TLS', async () => {
    expect((await refusal(changed((address) => address.searchParams.set('sslmode', 'require')))).message).toMatch(
      /offers no TLS/,
    );
  });

  test('of another kind of server', async () => {
    const server = createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect((await refusal(changed((address) => (address.port = String(port))))).code).toBe('journal-unavailable');
    server.close();
  });

  test('in which the user may make no schema', async () => {
    const role = freshSchema();
    await runSql(url('public'), `CREATE ROLE ${role} LOGIN PASSWORD 'a secret'`);
    expect((await refusal(changed((address) => (address.username = role)))).message).toMatch(
      /has no right to make or use the schema/,
    );
  });

  test('with tables of another program', async () => {
    const schema = freshSchema();
    await runSql(url('public'), `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.customers (id int)`);
    expect(await refusal(url(schema))).toMatchObject({ code: 'journal-damaged' });
  });

  test('that confirms commits before they are on the disk', async () => {
    const role = freshSchema();
    await runSql(url('public'), `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'a secret'`);
    await runSql(url('public'), `ALTER ROLE ${role} SET synchronous_commit = off`);
    expect(await refusal(changed((address) => (address.username = role)))).toMatchObject({ code: 'journal-unsafe' });
  });

  test('without a store, if nothing may be made', async () => {
    const schema = freshSchema();
    expect((await refusal(url(schema), { readOnly: true })).message).toMatch(/there is no store in the schema/);
    expect(await runSql(url('public'), 'SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).toEqual([]);
  });
});

describe('another version of the schema', () => {
  async function withVersion(version: number, reads: number, writes: number): Promise<string> {
    const schema = freshSchema();
    const store = openPostgres(url(schema));
    await store.ready();
    await store.close();
    await runSql(
      url('public'),
      `UPDATE ${schema}.store_version SET version = ${version}, reads = ${reads}, writes = ${writes}`,
    );
    return schema;
  }

  test('a newer one that this release cannot write is refused before anything is written, and can be read', async () => {
    const schema = await withVersion(2, 1, 2);
    expect(await refusal(url(schema))).toMatchObject({ code: 'journal-newer' });
    const auditor = openPostgres(url(schema), { readOnly: true });
    await auditor.ready();
    expect(await auditor.index.list()).toEqual({ items: [], next: null });
    await auditor.close();
    expect(await runSql(url('public'), `SELECT count(*)::int AS n FROM ${schema}.heads`)).toEqual([{ n: 0 }]);
  });

  test('a newer one that this release can write is used', async () => {
    const store = openPostgres(url(await withVersion(2, 1, 1)));
    await store.ready();
    expect(await store.leases.renew('w1', 10_000)).not.toBeNull();
    await store.close();
  });

  test('one that this release cannot even read, and one from before the first release', async () => {
    const schema = await withVersion(3, 3, 3);
    expect(await refusal(url(schema), { readOnly: true })).toMatchObject({ code: 'journal-newer' });
    expect(await refusal(url(await withVersion(0, 0, 0)))).toMatchObject({ code: 'journal-older' });
  });

  test('ten processes make one schema', async () => {
    const schema = freshSchema();
    const stores = Array.from({ length: 10 }, () => openPostgres(url(schema)));
    await Promise.all(stores.map((store) => store.ready()));
    expect(new Set(stores.map(({ id }) => id)).size).toBe(1);
    for (const store of stores) await store.close();
  });
});
