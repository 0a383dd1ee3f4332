/** A flow that calls the world over HTTP runs from the command line, for whom it was allowed to call. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { folder, report, sluice } from './cli.ts';

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
