/**
 * `npm run chaos:serve -- [--runs 1000] [--readers 1000] [--kills 0]`: a server with many runs and a reader for each. With kills, the
 * server is killed (`kill -9`) while they read, and another one takes its place after a second. Prints what was lost and what came
 * twice, and ends with 1 if that is not nothing.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { parseArgs } from 'node:util';
import { connect, type Client } from '@sluice-internal/client';

/** It runs for some seconds by the clock, without a model. */
const DOCUMENT = `
flow:
  id: steady
  entry: w0
  nodes:
${Array.from({ length: 6 }, (_, index) => `    - { id: w${index}, type: wait, for: WAIT, routes: [{ to: ${index < 5 ? `w${index + 1}` : 'end'} }] }`).join('\n')}
`;
const DOWN_MS = 1000;

interface Server {
  readonly url: string;
  readonly token: string;
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
}
interface Load {
  readonly rssBytes: number;
  readonly cpuMs: number;
}

async function started(folder: string, port: number): Promise<Server> {
  const program = join(import.meta.dirname, '../test/support/served.ts');
  const child = spawn(process.execPath, [program, folder, String(port)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const read: Interface = createInterface({ input: child.stdout });
  const lines = read[Symbol.asyncIterator]();
  const { url, token } = JSON.parse(await next(lines)) as { readonly url: string; readonly token: string };
  return { url, token, child, lines };
}

async function next(lines: AsyncIterator<string>): Promise<string> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error('the server has ended');
  return value;
}

async function loadOf({ child, lines }: Server): Promise<Load> {
  child.stdin?.write('\n');
  return JSON.parse(await next(lines)) as Load;
}

/** The ids of the events of a run in the order in which they came. */
async function read(sluice: Client, run: string): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const event of sluice.run(run).events()) if ('id' in event) seen.push(event.id);
  return seen;
}

async function stored(sluice: Client, run: string, url: string, token: string): Promise<readonly string[]> {
  await sluice.run(run).result();
  const answer = await fetch(`${url}/v1/runs/${run}/events?limit=1000`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { items } = (await answer.json()) as { readonly items: readonly { readonly id: string }[] };
  return items.map(({ id }) => id);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '1000' },
      readers: { type: 'string', default: '1000' },
      kills: { type: 'string', default: '0' },
      wait: { type: 'string', default: '1' },
    },
  });
  const [runs, readers, kills] = [Number(values.runs), Number(values.readers), Number(values.kills)];
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chaos-serve-'));
  writeFileSync(join(folder, 'steady.flow.yaml'), DOCUMENT.replaceAll('WAIT', values.wait));
  let server = await started(folder, 0);
  const { url } = server;
  let reconnects = -readers;
  const sluice = connect(url, {
    token: () => server.token,
    fetch: (to, init) => {
      if (to.includes('/events')) reconnects += 1;
      return fetch(to, init);
    },
  });
  const from = performance.now();
  const ids: string[] = [];
  while (ids.length < runs) {
    const batch = Array.from({ length: Math.min(50, runs - ids.length) }, () => sluice.flow('steady').start({}));
    ids.push(...(await Promise.all(batch)).map(({ id }) => id));
  }
  const startedMs = performance.now() - from;
  const reading = Array.from({ length: readers }, async (_, index) => {
    const run = ids[index % ids.length] ?? '';
    return { run, seen: await read(sluice, run) };
  });
  for (let kill = 0; kill < kills; kill += 1) {
    await pause(1500);
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    await pause(DOWN_MS);
    server = await started(folder, Number(new URL(url).port));
  }
  const all = await Promise.all(reading);
  const ms = performance.now() - from;
  const load = await loadOf(server);
  let [events, lost, doubled] = [0, 0, 0];
  for (const { run, seen } of all) {
    const whole = await stored(sluice, run, url, server.token);
    const came = new Set(seen);
    events += seen.length;
    lost += whole.filter((id) => !came.has(id)).length;
    doubled += seen.length - came.size;
  }
  server.child.stdin?.end();
  await once(server.child, 'exit');
  rmSync(folder, { recursive: true, force: true });
  const figures = {
    ...{ runs, readers, kills, events, lost, doubled, reconnects },
    ...{ startedPerSecond: Math.round(runs / (startedMs / 1000)), seconds: Number((ms / 1000).toFixed(1)) },
    ...{ rssMb: Math.round(load.rssBytes / 1e6), cpuSeconds: Number((load.cpuMs / 1000).toFixed(1)) },
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  return lost === 0 && doubled === 0 && events > 0 ? 0 : 1;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

process.exitCode = await main();
