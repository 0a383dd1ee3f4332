/**
 * Rights for people with SQL. A role reads the rows of its tenants, and nothing else: row-level security holds for every statement, and
 * needs no setting of a session. The engine itself is the owner of the schema and sees all rows; its guard is the view of a tenant.
 */
import { SluiceError } from '@sluice-internal/engine/ports';
import { readAddress } from './address.ts';
import { Database } from './database.ts';

/** How the rows of a table belong to a tenant. */
const OWN = 'tenant IN (SELECT t.tenant FROM @tenant_roles t WHERE t.role = current_user)';
const OF_RUN = 'run IN (SELECT r.id FROM @runs r)';
const OF_NAME = 'run IN (SELECT r.run FROM @runs r)';
const POLICIES: { readonly [table: string]: string } = {
  tenant_roles: 'role = current_user',
  runs: OWN,
  tombstones: OWN,
  memory: OWN,
  questions: OWN,
  log: OF_RUN,
  blobs: OF_RUN,
  snapshots: OF_RUN,
  checkpoints: OF_RUN,
  run_facts: OF_RUN,
  mail: OF_RUN,
  flows: 'id IN (SELECT r.graph FROM @runs r)',
  attachment_uses: OF_NAME,
  attachments: 'id IN (SELECT u.id FROM @attachment_uses u)',
};

/** Lets a role of the database read the rows of a tenant. */
export async function grantTenant(address: string, tenant: string, role: string): Promise<void> {
  const database = new Database(readAddress(address), false, () => undefined);
  const quoted = `"${role.replaceAll('"', '""')}"`;
  try {
    await database.transaction(async (query) => {
      await demandRole(query, role);
      const { schema } = database.address;
      await query(`GRANT USAGE ON SCHEMA "${schema}" TO ${quoted}`);
      for (const [table, using] of Object.entries(POLICIES)) {
        await query(`ALTER TABLE @${table} ENABLE ROW LEVEL SECURITY`);
        await query(`DROP POLICY IF EXISTS tenants ON @${table}`);
        await query(`CREATE POLICY tenants ON @${table} FOR SELECT USING (${using})`);
        await query(`GRANT SELECT ON @${table} TO ${quoted}`);
      }
      await query('INSERT INTO @tenant_roles (role, tenant) VALUES ($1, $2) ON CONFLICT DO NOTHING', [role, tenant]);
    });
  } finally {
    await database.close();
  }
}

/** A role that owns the tables, or that passes by row-level security, would see all tenants. */
async function demandRole(query: Database['query'], role: string): Promise<void> {
  const [found] = await query<{ all: boolean }>(
    `SELECT rolsuper OR rolbypassrls OR pg_has_role(oid, current_user::regrole, 'MEMBER') AS all FROM pg_roles WHERE rolname = $1`,
    [role],
  );
  if (found === undefined)
    throw new SluiceError('usage', `the database has no role \`${role}\``, `Create it: \`CREATE ROLE ${role} LOGIN\`.`);
  if (found.all)
    throw new SluiceError(
      'usage',
      `the role \`${role}\` sees the rows of all tenants already`,
      'Name a role without these rights.',
    );
}
