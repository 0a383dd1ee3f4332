/**
 * A worker of the fault campaign: `worker.ts ADDRESS LOG LEASE_MS SHIFT_MS`. It continues all runs of the database. Its tools write a line
 * to a log outside of the database before they return. `SHIFT_MS` moves its clock. It drains on SIGTERM, and prints why it stops otherwise.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEngine, openPostgres } from '@sluice-internal/library';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import { EFFECTS } from './flow.ts';

const [address = '', log = '', leaseMs = '2000', shiftMs = '0'] = process.argv.slice(2);
const real = Date.now;
Date.now = () => real() + Number(shiftMs);

const effect =
  (name: string): ToolFunction =>
  async (_, { idempotencyKey, run }) => {
    appendFileSync(log, `${run} ${name} ${idempotencyKey}\n`);
    await sleep(50 + Math.random() * 100);
    return 'done';
  };

const engine = createEngine({
  journal: openPostgres(address, { pollMs: 300 }),
  tools: Object.fromEntries(EFFECTS.map((name) => [name, effect(name)])),
  leaseMs: Number(leaseMs),
  onNotice: () => undefined,
  onFault: (error) => void process.stdout.write(`FAULT ${error.message}\n`),
});
process.on('SIGTERM', () => {
  void (async () => {
    await engine.drain(5_000);
    await engine.close();
    process.exit(0);
  })();
});
// Only the runs keep it alive otherwise.
setInterval(() => undefined, 1000);
process.stdout.write('ready\n');
