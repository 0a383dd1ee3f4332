/** Signed checkpoints, acts of operators, shared values, and heads that are posted: what each attack changes, and what finds it. */
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { createSigner } from '@sluice-internal/engine/journal';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const FLOW =
  'flow: { id: f, entry: n, nodes: [ { id: n, type: agent, agent: a, input: { user_message: "{{event.payload.q}}" } } ] }\nagents: [ { id: a } ]\n';
const SCRIPT = 'agents: { a: [ { text: "one" } ] }\n';

function newKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

/** A project with a signing key in its environment, and runs. */
async function signed(pem: string, runs: { readonly [run: string]: string } = { r1: 'x' }): Promise<string> {
  const cwd = folder({ 'f.yaml': FLOW, 's.yaml': SCRIPT });
  for (const [run, q] of Object.entries(runs)) {
    const args = ['run', 'f.yaml', '--script', 's.yaml', '--run', run, '--input', JSON.stringify({ q })];
    const ran = await sluice(args, { cwd, env: pem === '' ? {} : { SLUICE_SIGNING_KEY: pem } });
    expect(ran.status, ran.stderr).toBe(0);
  }
  return cwd;
}

const dbOf = (cwd: string): string => join(cwd, '.sluice/sluice.db');

function change(cwd: string, sql: string): void {
  const db = new DatabaseSync(dbOf(cwd));
  for (const { name } of db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).all())
    db.exec(`DROP TRIGGER ${String(name)}`);
  db.exec(sql);
  db.close();
}

async function verify(cwd: string, ...more: string[]): Promise<{ status: number | null; text: string }> {
  const { status, stdout, stderr } = await sluice(['audit', 'verify', ...more], { cwd });
  return { status, text: `${stdout}${stderr}` };
}

describe('signed checkpoints', () => {
  test('hold, and are in the export', async () => {
    const pem = newKey();
    const { key } = createSigner(pem);
    const cwd = await signed(pem);
    expect((await verify(cwd, '--json')).text).toMatch(/"checkpoints": [1-9]/);
    expect((await verify(cwd, '--key', key)).status).toBe(0);
    await sluice(['audit', 'export', 'r1', '--out', 'r1.json'], { cwd });
    expect((await verify(cwd, 'r1.json', '--key', key)).status).toBe(0);
    const text = readFileSync(join(cwd, 'r1.json'), 'utf8');
    expect(text).not.toContain('PRIVATE');
    const other = createSigner(newKey()).key;
    expect(await verify(cwd, 'r1.json', '--key', other)).toEqual({
      status: 1,
      text: expect.stringContaining('another key'),
    });
    writeFileSync(join(cwd, 'bad.json'), text.replace(/"signature": "../, '"signature": "AA'));
    expect((await verify(cwd, 'bad.json')).text).toContain('does not hold');
  });

  test('find a database that was rewritten with a valid chain', async () => {
    const pem = newKey();
    const { key } = createSigner(pem);
    const cwd = await signed(pem);
    const thief = newKey();
    for (const forger of ['', thief]) {
      const forged = await signed(forger, { r1: 'changed' });
      for (const end of ['-wal', '-shm']) rmSync(`${dbOf(cwd)}${end}`, { force: true });
      copyFileSync(dbOf(forged), dbOf(cwd));
      expect((await verify(cwd)).status).toBe(0);
      const found = await verify(cwd, '--key', key);
      expect([found.status, found.text]).toEqual([1, expect.stringMatching(/no signed checkpoint|another key/)]);
    }
  });

  test.each([
    [
      'of another run',
      `UPDATE checkpoints SET signature = (SELECT signature FROM checkpoints ORDER BY run DESC LIMIT 1)`,
    ],
    ['of another event', 'UPDATE checkpoints SET seq = seq - 1'],
    ['with another head', `UPDATE checkpoints SET head = 'x'`],
    ['at another time', 'UPDATE checkpoints SET at = at + 1'],
    ['of another store', `UPDATE store SET id = 'x'`],
    ['removed', 'DELETE FROM checkpoints'],
  ])('a checkpoint %s is found', async (_, sql) => {
    const pem = newKey();
    const cwd = await signed(pem, { r1: 'x', r2: 'y' });
    change(cwd, sql);
    expect((await verify(cwd, '--key', createSigner(pem).key)).status).toBe(1);
  });

  test('need a key that is one, and that others cannot read', async () => {
    const cwd = folder({ 'f.yaml': FLOW, 's.yaml': SCRIPT, 'k.pem': newKey(), 'no.pem': 'nothing' });
    chmodSync(join(cwd, 'k.pem'), 0o644);
    chmodSync(join(cwd, 'no.pem'), 0o600);
    const run = (key: string) =>
      sluice(['run', 'f.yaml', '--script', 's.yaml'], { cwd, env: { SLUICE_SIGNING_KEY: key } });
    for (const key of ['k.pem', 'no.pem', 'missing.pem'])
      expect((await run(key)).stderr, key).toContain('error[bad-signing-key]');
    chmodSync(join(cwd, 'k.pem'), 0o600);
    expect((await run('k.pem')).status).toBe(0);
    expect((await verify(cwd, '--key', 'ed25519:short')).text).toContain('error[bad-signing-key]');
  });
});

describe('acts and shared values', () => {
  test.each([
    `UPDATE acts SET who = 'eve' WHERE number = 1`,
    'DELETE FROM acts WHERE number = 1',
    'DELETE FROM acts WHERE number = 2',
    'DELETE FROM acts',
    `INSERT INTO acts (at, who, what, key, why, link) SELECT at, who, what, key, why, link FROM acts LIMIT 1`,
    `UPDATE shared SET value = '{"status":"closed"}'`,
    `UPDATE shared SET key = 'breaker:other@model'`,
  ])('%s is found', async (sql) => {
    const cwd = await signed('');
    for (const name of ['open', 'close'])
      await sluice(['breakers', name, 'a@openai/gpt-5-mini', '--as', 'ann', '--why', 'test'], { cwd });
    expect((await verify(cwd)).status).toBe(0);
    change(cwd, sql);
    expect((await verify(cwd)).status).toBe(1);
  });
});

test('heads are posted to a webhook, and a receiver that fails is an error', async () => {
  const cwd = await signed('');
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(request.url === '/ok' ? 204 : 500).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = (path: string) => sluice(['audit', 'heads', '--webhook', `${url}${path}`], { cwd });
  expect((await send('/ok')).status).toBe(0);
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ format: 'sluice-heads/1', runs: [{ run: 'r1' }] });
  const failed = await send('/down');
  server.close();
  expect([failed.status, failed.stderr]).toEqual([1, expect.stringContaining('error[not-delivered]')]);
  const unreachable = await sluice(['audit', 'heads', '--webhook', 'http://127.0.0.1:1/'], { cwd });
  expect(unreachable.stderr).toContain('fetch failed (bad port)');
  expect((await sluice(['audit', 'heads'], { cwd })).status).toBe(2);
});
