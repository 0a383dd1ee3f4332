/** `sluice serve` and `sluice tokens` as commands. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const command = join(root, 'bin/sluice.js');
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-command-'));
  open.push(() => rmSync(dir, { recursive: true, force: true }));
  cpSync(join(root, 'examples/refund.flow.yaml'), join(dir, 'refund.flow.yaml'));
  cpSync(join(root, 'examples/refund-served.script.yaml'), join(dir, 'refund-served.script.yaml'));
  return dir;
}

function sluice(dir: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], { cwd: dir, encoding: 'utf8' });
  return { status, stdout, stderr };
}

async function serving(dir: string, ...more: readonly string[]) {
  const child = spawn(process.execPath, [command, 'serve', '.', '--port', '0', '--json', ...more], { cwd: dir });
  const exited = once(child, 'exit');
  open.push(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let log = '';
  child.stderr.on('data', (part: Buffer) => (log += part.toString()));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url, tokenFile } = JSON.parse(line.toString()) as { readonly url: string; readonly tokenFile: string };
  return { child, exited, url, tokenFile, log: () => log };
}

test('the first line is the address and the file of the token; SIGTERM ends it with 0 and removes the file', async () => {
  const dir = folder();
  const { child, exited, url, tokenFile, log } = await serving(dir);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
  const token = readFileSync(tokenFile, 'utf8').trim();
  const ask = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  expect((await ask('/v1/runs?q=secret')).status).toBe(200);
  await expect.poll(log).toMatch(/"path":"\/v1\/runs","status":200/);
  expect(log()).toMatch(/^open http:\/\/s-[0-9a-f]{12}\.localhost:\d+\/#code=\S+\n {2}or http:\/\/127\.0\.0\.1/);
  expect(log()).not.toContain(token);
  expect(log()).not.toContain('q=secret');
  const program = spawnSync(process.execPath, [join(root, 'examples/refund-client.ts')], {
    ...{ cwd: dir, encoding: 'utf8' as const },
    env: { ...process.env, SLUICE_TOKEN: token, SLUICE_URL: url },
  });
  expect(program.stdout, program.stderr).toContain("receipt: 're_7f3a'");
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  expect(existsSync(tokenFile)).toBe(false);
});

test('a second server on the port says so, and a configuration is checked without serving', async () => {
  const dir = folder();
  const { url } = await serving(dir);
  const { port } = new URL(url);
  const second = sluice(dir, 'serve', '.', '--port', port);
  expect([second.status, second.stderr]).toEqual([1, expect.stringContaining('another process listens there')]);
  expect(sluice(dir, 'serve', '.', '--port', '0', '--check-config').status).toBe(0);
  for (const [args, text] of [
    [['serve', 'none'], 'there is no folder'],
    [['serve', '.', '--port', '99999'], 'is no port'],
    [['serve', '.', '--host', '0.0.0.0'], 'nobody has to log in'],
    [['serve', '.', '--oidc', 'nonsense'], 'is no address'],
    [['serve', '.', '--oidc-client', 'x'], 'has no issuer'],
    [['serve', '.', '--as', 'zoe'], 'no served flow knows'],
  ] as const) {
    const { status, stderr } = sluice(dir, ...args);
    expect([status === 0, stderr], args.join(' ')).toEqual([false, expect.stringContaining(text)]);
  }
});

test('two files with one id are both named', () => {
  const dir = folder();
  writeFileSync(join(dir, 'again.yaml'), readFileSync(join(dir, 'refund.flow.yaml'), 'utf8'));
  const { status, stderr } = sluice(dir, 'serve', '.', '--port', '0');
  expect([status, stderr]).toEqual([2, expect.stringMatching(/again\.yaml.*refund\.flow\.yaml.*support_refund/s)]);
});

test('tokens are made, listed without their secrets, and revoked', () => {
  const dir = folder();
  const made = sluice(dir, 'tokens', 'add', 'shop', '--access', 'operator,viewer', '--days', '90', '--json');
  const { token, ...rest } = JSON.parse(made.stdout) as { readonly token: string; readonly access: unknown };
  expect(token).toMatch(/^slk_[\w-]{43}$/);
  expect(rest).toMatchObject({ name: 'shop', access: ['operator', 'viewer'], person: null, tenant: null });
  const listed = sluice(dir, 'tokens', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'shop', usedAt: null }]);
  expect(listed.stdout).not.toMatch(/slk_|hash/);
  expect(readFileSync(join(dir, '.sluice/sluice.db')).includes(token)).toBe(false);
  expect(sluice(dir, 'tokens', 'add', 'shop', '--access', 'viewer').stderr).toContain('token-exists');
  expect(sluice(dir, 'tokens', 'add', 'local', '--access', 'viewer').stderr).toContain('bad-token');
  expect(sluice(dir, 'tokens', 'add', 'x', '--access', 'root').stderr).toContain('there is no access `root`');
  expect(sluice(dir, 'tokens', 'revoke', 'shop').status).toBe(0);
  expect(sluice(dir, 'tokens', 'revoke', 'shop').stderr).toContain('token-not-found');
});
