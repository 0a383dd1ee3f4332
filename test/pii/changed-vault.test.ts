/** A vault that was changed from outside gives no value of another person. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createVault } from '../../src/effects/pii/vault.ts';
import { openPiiStore } from '../../src/stores/sqlite/pii-store.ts';
import { folder } from '../cli/cli.ts';

const SWAP = (column: string): string =>
  `CREATE TEMP TABLE was AS SELECT token, ${column} AS value FROM tokens;
   UPDATE tokens SET ${column} = CAST(token AS BLOB) WHERE '${column}' = 'sealed';
   UPDATE tokens SET lookup = token WHERE '${column}' = 'lookup';
   UPDATE tokens SET ${column} = (SELECT value FROM was WHERE was.token <> tokens.token)`;

test.each([
  ['the hashes of two values exchanged', SWAP('lookup')],
  ['two sealed values exchanged', SWAP('sealed')],
  ['a sealed value cut to one byte', "UPDATE tokens SET sealed = x'00'"],
  ['a sealed value cut inside its tag', 'UPDATE tokens SET sealed = substr(sealed, 1, 16)'],
  ['a sealed value deleted', "UPDATE tokens SET sealed = x''"],
])('%s', (_, sql) => {
  const path = join(folder({}), 'v.pii');
  const store = openPiiStore(path);
  const vault = createVault(store, randomBytes(32));
  const values = ['ann@x.example', 'eve@x.example'];
  const tokens = values.map((value) => vault.tokenFor('r', 'email', value));
  expect(values.map((value) => vault.tokenFor('r', 'email', value))).toEqual(tokens);
  expect(tokens.map((token) => vault.valueOf('r', token))).toEqual(values);
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
  for (const value of values)
    expect(() => vault.tokenFor('r', 'email', value)).toThrow(expect.objectContaining({ code: 'pii-key' }));
  store.close();
});

test('a mark that a token was passed on counts only with the key, and only for its token', () => {
  const path = join(folder({}), 'v.pii');
  const store = openPiiStore(path);
  const vault = createVault(store, randomBytes(32));
  const [first, second] = ['ann@x.example', 'eve@x.example'].map((value) => vault.tokenFor('r', 'email', value));
  vault.release('r', first ?? '');
  expect([first, second].map((token) => vault.isReleased('r', token ?? ''))).toEqual([true, false]);
  const db = new DatabaseSync(path);
  for (const mark of ["'1'", "''", '(SELECT release FROM tokens WHERE release IS NOT NULL)']) {
    db.exec(`UPDATE tokens SET release = ${mark} WHERE token = '${second}'`);
    expect(vault.isReleased('r', second ?? '')).toBe(false);
  }
  db.exec("UPDATE tokens SET run = 'q'");
  expect(vault.isReleased('q', first ?? '')).toBe(false);
  db.close();
  store.close();
});

test('a vault of an earlier version gets the column', () => {
  const path = join(folder({}), 'v.pii');
  openPiiStore(path).close();
  const db = new DatabaseSync(path);
  db.exec('ALTER TABLE tokens DROP COLUMN release; ALTER TABLE tokens ADD COLUMN released INTEGER NOT NULL DEFAULT 0');
  db.close();
  const store = openPiiStore(path);
  const vault = createVault(store, randomBytes(32));
  const token = vault.tokenFor('r', 'email', 'ann@x.example');
  vault.release('r', token);
  expect(vault.isReleased('r', token)).toBe(true);
  store.close();
});
