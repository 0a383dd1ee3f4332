/** A flow that calls the world over HTTP runs from the command line, for whom it was allowed to call. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { folder, report } from './cli.ts';
import { sluice } from './in-process.ts';

test.each(['localhost:8931', 'http://localhost', '[::1]:80', 'a.example/x', ''])(
  '`--allow-host %s` is no host, and is told before anything runs',
  async (host) => {
    const { status, stderr } = await sluice(['resume', '--allow-host', host], { cwd: folder() });
    expect([status, stderr]).toEqual([2, expect.stringContaining('Name the host alone')]);
  },
);

test.each(['localhost', '*', '*.example.org', '::1', '[::1]'])('`--allow-host %s` names a host', async (host) => {
  const { stderr } = await sluice(['resume', 'r_none', '--allow-host', host], { cwd: folder() });
  expect(stderr).not.toContain('--allow-host');
});

test('`http.get` calls the hosts that were named, and no other', async () => {
  const server = createServer((_, response) => response.end('{"news": "none"}'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const cwd = folder({
    'a.yaml': `flow:
  id: news
  entry: get
  nodes:
    - { id: get, type: tool, tool: http.get, params: { url: "http://127.0.0.1:${port}/" } }
`,
  });
  const denied = await sluice(['run', 'a.yaml', '--json'], { cwd });
  expect([denied.status, report(denied)]).toMatchObject([
    1,
    { error: { type: 'HostError' }, code: 'PERMISSION_DENIED' },
  ]);
  const allowed = await sluice(['run', 'a.yaml', '--allow-host', '127.0.0.1', '--json'], { cwd });
  expect([allowed.status, report(allowed)]).toMatchObject([0, { code: 'SUCCESS' }]);
  expect(JSON.stringify(report(allowed).output)).toContain('none');
});

test.each([
  ['memory', '`--shell-limit memory` takes a size or `none`, not an empty value'],
  ['memory=lots', 'not `lots`'],
  ['cpu=2G', '`--shell-limit cpu` takes a whole number'],
  ['cpu=0', 'not `0`'],
  ['memroy=2G', 'Did you mean `memory`?'],
])('`--shell-limit %s` is refused', async (limit, words) => {
  const { status, stderr } = await sluice(['resume', '--shell-limit', limit], { cwd: folder() });
  expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
});

test('`--shell-limit` sets the limits of a shell command', async () => {
  const cwd = folder({
    'a.yaml':
      'flow: { id: a, entry: n, nodes: [ { id: n, type: tool, tool: shell_run, params: { command: "ulimit -f" } } ] }',
  });
  const { stdout } = await sluice(['run', 'a.yaml', '--json', '--shell-limit', 'file=1M', 'cpu=none'], { cwd });
  expect((JSON.parse(stdout) as { output: { stdout: string } }).output.stdout.trim()).toBe('1024');
});
