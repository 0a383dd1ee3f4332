/** Before the tests: a folder for the Postgres server that they share. The first test that needs it starts it; it is stopped here. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopShared } from '../support/postgres.ts';

export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-postgres-'));
  // Another user runs the server.
  chmodSync(folder, 0o755);
  process.env['SLUICE_TEST_POSTGRES'] = folder;
  return () => stopShared(folder);
}
