/** `sluice tenants grant`: row-level security for people with SQL. */
import { SluiceError } from '@sluice-internal/engine/ports';
import { oneLine } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { checkTenant, grantTenant, isAddress } from '@sluice-internal/library/host';
import { demandOperator } from '../session/store.ts';

export async function tenantsGrantCommand(cli: Cli, tenant: string, role: string): Promise<void> {
  demandOperator(cli, 'a tenant cannot give rights in the database');
  checkTenant(tenant);
  if (!isAddress(cli.db))
    throw new SluiceError(
      'usage',
      '`tenants grant` is for a store in Postgres: everyone who can open a file reads all of it',
      'Name the database: --db postgres://USER@HOST/DATABASE.',
    );
  await grantTenant(cli.db, tenant, role);
  cli.show({ tenant, role }, () => `the role ${oneLine(role)} reads the rows of tenant ${oneLine(tenant)}`);
}
