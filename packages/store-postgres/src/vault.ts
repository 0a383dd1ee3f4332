/** Sealed values of personal data, in the database of the journal. */
import type { PiiStore } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Database } from './database.ts';

const NUMBER_MAX = 1_000_000_000;

export function createVaultStore({
  query,
  transaction,
}: Pick<Database, 'query'> & { readonly transaction: Database['transaction'] }): PiiStore {
  const one = async <Value>(sql: string, values: readonly unknown[]): Promise<Value | null> => {
    const [row] = await query<{ value: Value | null }>(sql, values);
    return row?.value ?? null;
  };
  return {
    owners: async () => (await query<{ run: RunId }>('SELECT DISTINCT run FROM @pii_tokens')).map(({ run }) => run),
    tokenOf: (run, lookup) =>
      one<string>('SELECT token AS value FROM @pii_tokens WHERE run = $1 AND lookup = $2', [run, lookup]),
    lastNumber: async (run, type) =>
      (await one<number>(
        // A larger number was written by hand, and JavaScript could not count on from it.
        `SELECT least(${NUMBER_MAX}, greatest(coalesce((SELECT last FROM @pii_numbers WHERE run = $1 AND type = $2), 0),
           (SELECT count(*) FROM @pii_tokens WHERE run = $1 AND type = $2)))::bigint AS value`,
        [run, type],
      )) ?? 0,
    add: (run, type, lookup, number, { token, sealed }) =>
      transaction(async (inside) => {
        const [made] = await inside<{ token: string }>(
          `INSERT INTO @pii_tokens (run, token, type, lookup, sealed) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (run, lookup) DO NOTHING RETURNING token`,
          [run, token, type, lookup, Buffer.from(sealed)],
        );
        if (made !== undefined) {
          await inside(
            `INSERT INTO @pii_numbers AS n (run, type, last) VALUES ($1, $2, $3)
             ON CONFLICT (run, type) DO UPDATE SET last = greatest(n.last, excluded.last)`,
            [run, type, number],
          );
          return token;
        }
        // Another process has added it.
        const [added] = await inside<{ token: string }>(
          'SELECT token FROM @pii_tokens WHERE run = $1 AND lookup = $2',
          [run, lookup],
        );
        return added?.token ?? token;
      }),
    find: (run, token) =>
      one<Uint8Array>('SELECT sealed AS value FROM @pii_tokens WHERE run = $1 AND token = $2', [run, token]),
    first: async (run) =>
      (
        await query<{ token: string; sealed: Uint8Array }>(
          'SELECT token, sealed FROM @pii_tokens WHERE run = $1 LIMIT 1',
          [run],
        )
      )[0] ?? null,
    release: async (run, token, mark) =>
      void (await query(
        'UPDATE @pii_tokens SET release = $3 WHERE run = $1 AND token = $2 AND release IS DISTINCT FROM $3',
        [run, token, mark],
      )),
    releaseOf: (run, token) =>
      one<string>('SELECT release AS value FROM @pii_tokens WHERE run = $1 AND token = $2', [run, token]),
    erase: async (run) => (await query('DELETE FROM @pii_tokens WHERE run = $1 RETURNING 1', [run])).length,
    close: async () => undefined,
  };
}
