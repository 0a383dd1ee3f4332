/** A vault that was changed from outside gives no value of another person. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createVault } from '@sluice-internal/pii';
import { openPiiStore } from '@sluice-internal/store-sqlite';
import { openStore } from '@sluice-internal/library/host';
import { vaultBeside } from '../../../library/src/host/world-beside.ts';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';

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
])('%s', async (_, sql) => {
  const path = join(folder({}), 'v.pii');
  const store = openPiiStore(path);
  const vault = createVault(store, randomBytes(32));
  const values = ['ann@x.example', 'eve@x.example'];
  const tokensNow = (): Promise<string[]> => Promise.all(values.map((value) => vault.tokenFor('r', 'email', value)));
  const tokens = await tokensNow();
  expect(await tokensNow()).toEqual(tokens);
  expect(await Promise.all(tokens.map((token) => vault.valueOf('r', token)))).toEqual(values);
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
  for (const value of values)
    await expect(vault.tokenFor('r', 'email', value)).rejects.toThrow(expect.objectContaining({ code: 'pii-key' }));
  await store.close();
});

test('a mark that a token was passed on counts only with the key, and only for its token', async () => {
  const path = join(folder({}), 'v.pii');
  const store = openPiiStore(path);
  const vault = createVault(store, randomBytes(32));
  const [first, second] = await Promise.all(
    ['ann@x.example', 'eve@x.example'].map((value) => vault.tokenFor('r', 'email', value)),
  );
  await vault.release('r', first ?? '');
  const released = [first, second].map((token) => vault.isReleased('r', token ?? ''));
  expect(await Promise.all(released)).toEqual([true, false]);
  const db = new DatabaseSync(path);
  for (const mark of ["'1'", "''", '(SELECT release FROM tokens WHERE release IS NOT NULL)']) {
    db.exec(`UPDATE tokens SET release = ${mark} WHERE token = '${second}'`);
    expect(await vault.isReleased('r', second ?? '')).toBe(false);
  }
  db.exec("UPDATE tokens SET run = 'q'");
  expect(await vault.isReleased('q', first ?? '')).toBe(false);
  db.close();
  await store.close();
});

test.each([
  ['its rows deleted and its counter reset', 'DELETE FROM tokens; DELETE FROM numbers'],
  ['its counter set back', 'DELETE FROM tokens; UPDATE numbers SET last = 0'],
  ['its counter set to the largest number', 'DELETE FROM tokens; UPDATE numbers SET last = 9223372036854775807'],
])('a vault with %s gives no token of the run to another value', async (_, sql) => {
  const journal = join(folder({}), 'runs.db');
  await openStore(journal).close();
  const tokenOf = async (value: string): Promise<string> => {
    const open = vaultBeside(journal);
    const token = await open(undefined, undefined).tokenFor('r', 'email', value);
    await open.close();
    return token;
  };
  expect(await tokenOf('ann@x.example')).toBe('[PII_EMAIL_001]');
  expect(await tokenOf('bob@x.example')).toBe('[PII_EMAIL_002]');
  const db = new DatabaseSync(`${journal}.pii`);
  db.exec(sql);
  db.close();
  expect(await tokenOf('eve@x.example')).toBe('[PII_EMAIL_003]');
  expect(await tokenOf('eve@x.example')).toBe('[PII_EMAIL_003]');
  expect(await tokenOf('kim@x.example')).toBe('[PII_EMAIL_004]');
});

test('a vault file that was deleted gives no token of the run to another value', async () => {
  const cwd = folder({
    'f.yaml': `pii: {}
agents: [ { id: a } ]
flow:
  id: f
  entry: n
  nodes:
    - { id: n, type: agent, agent: a, input: { m: "{{event.payload}}" }, routes: [ { to: gate } ] }
    - { id: gate, type: approval, message: Go?, choices: [approve, reject], routes: [ { to: last } ] }
    - { id: last, type: agent, agent: a, input: { m: "{{event.payload}}" } }
`,
    's.yaml': 'agents: { a: [ Hello., Bye. ] }\n',
  });
  const start = ['run', 'f.yaml', '--script', 's.yaml', '--run', 'r1', '--input', '{"m":"ann@x.example"}', '--json'];
  const { waiting } = JSON.parse((await sluice(start, { cwd })).stdout) as { waiting: { id: string }[] };
  for (const end of ['', '-wal', '-shm']) rmSync(join(cwd, `.sluice/sluice.db.pii${end}`), { force: true });
  const answer = ['answer', waiting[0]?.id ?? '', 'approve', '--text', 'from eve@x.example', '--script', 's.yaml'];
  const done = await sluice(answer, { cwd });
  expect(done.status, done.stderr).toBe(0);
  expect((await sluice(['trace', 'r1', '--json'], { cwd })).stdout).toContain('from [PII_EMAIL_002]');
});
