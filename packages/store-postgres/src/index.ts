/** What other packages use of `store-postgres`. */
export { isPostgresAddress, readAddress } from './address.ts';
export { grantTenant } from './grant.ts';
export { openPostgres } from './open.ts';
export type { PostgresOptions, PostgresStore } from './open.ts';
