/** The life of a refund, as the page of the guide prints it: two terminals, `sluice` and `curl`. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const open: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

/** The blocks of shell commands of a section. */
function blocksOf(section: string): readonly string[] {
  const page = readFileSync(join(root, 'docs/guide/serving.md'), 'utf8');
  const [, text = ''] = new RegExp(`^## ${section}\n(.*?)^(?:## |A second start)`, 'ms').exec(page) ?? [];
  return [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('the printed commands start a refund, approve it and read its receipts', async () => {
  const [serve = '', story = ''] = blocksOf('The life of a refund');
  expect(serve.trim()).toBe('sluice serve examples');
  const dir = mkdtempSync(join(tmpdir(), 'sluice-guide-'));
  open.push(() => rmSync(dir, { recursive: true, force: true }));
  cpSync(join(root, 'examples'), join(dir, 'examples'), { recursive: true });
  mkdirSync(join(dir, 'bin'));
  const command = join(dir, 'bin/sluice');
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'bin/sluice.js')}" "$@"\n`);
  chmodSync(command, 0o755);
  const env = { ...process.env, PATH: `${join(dir, 'bin')}${delimiter}${process.env['PATH'] ?? ''}` };
  // Another server of this machine may have the port of the page.
  const port = String(await freePort());
  const server = spawn('sh', ['-c', `exec ${serve.trim()} --port ${port}`], { cwd: dir, env });
  open.push(async () => {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
  });
  const [said] = (await once(server.stdout, 'data')) as [Buffer];
  expect(said.toString()).toContain(`serving examples at http://127.0.0.1:${port}`);
  // All that the commands print comes together: with this line each answer begins a new one.
  const script = story.replaceAll('4747', port).replaceAll(/^curl(?:.*\\\n)*.*$/gm, '$&\necho');
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', script], { cwd: dir, env });
  const lines = stdout.split('\n').filter((line) => line !== '');
  const json = (index: number): unknown => JSON.parse(lines.at(index) ?? '');
  expect(json(0)).toMatchObject({ id: 'support_refund', file: 'refund.flow.yaml', ok: true });
  expect(json(1)).toEqual({ state: 'answered', missing: 0 });
  expect(json(2)).toMatchObject({
    ...{ flow: 'support_refund', state: 'completed', code: 'SUCCESS', changed: true },
    receipts: [{ tool: 'payments.refund', status: 'committed', approvedBy: 'local' }],
  });
  expect(lines.slice(3, -1).join('\n')).toMatch(
    /^retry: 1000\nid: 1\.0\nevent: run\.event\n[^]*event: done\ndata: ""$/,
  );
  expect(json(-1)).toMatchObject({ ok: true, broken: null });
}, 60_000);
