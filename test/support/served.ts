/**
 * A server as a process of its own, without limits for its callers: `node test/support/served.ts FOLDER PORT`. Prints its address and its
 * token as a line of JSON, and then a line with its memory and its processor time for each line that it reads.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { serve } from '@sluice-internal/server';

const [, , folder = '.', port = '0'] = process.argv;
const MANY = 1_000_000;
const serving = await serve({
  ...{ folders: [folder], db: join(folder, '.sluice/sluice.db'), port: Number(port) },
  limits: { burst: MANY, perSecond: MANY, streamsPerCaller: MANY, streams: MANY },
  onNotice: (message) => void process.stderr.write(`${message}\n`),
});
let rssBytes = 0;
setInterval(() => (rssBytes = Math.max(rssBytes, process.memoryUsage.rss())), 100).unref();
const token = readFileSync(serving.tokenFile ?? '', 'utf8').trim();
process.stdout.write(`${JSON.stringify({ url: serving.url, token })}\n`);
for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  process.stdout.write(`${JSON.stringify({ rssBytes, cpuMs: (user + system) / 1000 })}\n`);
}
await serving.close();
