import { PostgresServer } from './postgres.ts';
import { openPostgres } from '../../packages/store-postgres/src/open.ts';
const s = await PostgresServer.start();
const store = openPostgres(s.url('abc'));
try { await store.ready?.(); console.log(store.id); } catch (e) { console.log('ERR', e); }
try { console.log(await store.leases.renew('w1', 10000)); } catch (e) { console.log('ERR', e); }
await store.close();
await s.stop();
