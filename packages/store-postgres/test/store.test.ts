/** The store in Postgres keeps every promise of a store, on the server of each kind that is there. */
import { afterAll, test } from 'vitest';
import type { Store } from '@sluice-internal/engine/ports';
import { journalSuite } from '../../testing/src/journal-suite.ts';
import { openPostgres } from '../src/open.ts';
import type { PostgresOptions } from '../src/open.ts';
import { debianPrograms, freshSchema, PostgresServer, sharedPostgres } from '../../../test/support/postgres.ts';
import { Proxy } from '../../../test/support/proxy.ts';

const addresses = new WeakMap<Store, string>();
async function open(address: string, options: PostgresOptions): Promise<Store> {
  const store = openPostgres(address, options);
  addresses.set(store, address);
  await store.ready?.();
  return store;
}
const again = (store: Store, given: PostgresOptions): Promise<Store> => open(addresses.get(store) ?? '', given);

const proxies = new Map<string, Proxy>();
let through: Promise<Proxy> | null = null;
afterAll(async () => {
  await (await through)?.close();
});

/** The tests run one after the other, so they share the proxy. */
async function proxied(address: string): Promise<string> {
  const url = new URL(address);
  const proxy = await (through ??= Proxy.to(Number(url.port)));
  url.port = String(proxy.port);
  proxies.set(url.href, proxy);
  return url.href;
}

journalSuite(
  { test },
  'postgres',
  async (given) => open(await proxied((await sharedPostgres())(freshSchema())), given),
  {
    again,
    cut: (store) => {
      const proxy = proxies.get(addresses.get(store) ?? '');
      proxy?.cut();
      return () => proxy?.mend();
    },
  },
);

// An older server of the system, if there is one.
const [older] = debianPrograms();
if (older !== undefined) {
  let server: Promise<PostgresServer> | null = null;
  afterAll(async () => (await server)?.stop());
  const place = async (given: PostgresOptions): Promise<Store> =>
    open((await (server ??= PostgresServer.start({ programs: older }))).url(freshSchema()), given);
  journalSuite({ test }, `postgres of Debian`, place, { again });
}
