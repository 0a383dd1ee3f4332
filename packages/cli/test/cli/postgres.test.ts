/** The commands on a store in Postgres, and `sluice worker` beside them. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openPostgres } from '@sluice-internal/store-postgres';
import { createEngine } from '@sluice-internal/library';
import { freshSchema, sharedPostgres } from '../../../../test/support/postgres.ts';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const BIN = join(import.meta.dirname, '../../../../bin/sluice.js');
const FLOW = `
flow:
  id: order
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Go on?", routes: [{ to: done }] }
    - { id: done, type: terminal, output: "shipped" }
`;

const workers: ChildProcess[] = [];
afterEach(() => {
  for (const worker of workers.splice(0)) worker.kill('SIGKILL');
});

interface Worker {
  readonly first: { readonly ready: boolean; readonly health: string };
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
}

async function startWorker(db: string, ...args: string[]): Promise<Worker> {
  const child = spawn(process.execPath, [BIN, '--json', '--db', db, 'worker', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  workers.push(child);
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const first = await new Promise<string>((resolve) =>
    child.stdout.once('data', (text: Buffer) => resolve(text.toString())),
  );
  return { first: JSON.parse(first.split('\n')[0] ?? '') as Worker['first'], child, ended };
}

async function place(): Promise<{ readonly db: string; readonly cwd: string }> {
  const cwd = folder();
  writeFileSync(join(cwd, 'order.flow.yaml'), FLOW);
  return { db: (await sharedPostgres())(freshSchema()), cwd };
}

test('run, approvals, answer, runs, show, audit verify, export and replay on one database; no output has the password', async () => {
  const { db, cwd } = await place();
  const said: string[] = [];
  const call = async (...args: string[]) => {
    const { stdout, stderr, status } = await sluice(['--db', db, ...args], { cwd });
    said.push(stdout, stderr);
    return { stdout, status };
  };
  expect((await call('--json', 'run', 'order.flow.yaml', '--run', 'r_1')).status).toBe(3);
  const [question] = JSON.parse((await call('--json', 'approvals')).stdout) as { id: string }[];
  expect((await call('answer', question?.id ?? '', 'approve', '--as', 'anna')).status).toBe(0);
  expect(JSON.parse((await call('--json', 'runs')).stdout)).toMatchObject([{ run: 'r_1', code: 'SUCCESS' }]);
  expect((await call('audit', 'verify')).status).toBe(0);
  expect((await call('replay', 'r_1')).status).toBe(0);
  expect((await call('audit', 'export', 'r_1', '--out', 'r_1.json')).status).toBe(0);
  // An export verifies anywhere, and can be restored nowhere but in its own store.
  expect((await sluice(['audit', 'verify', 'r_1.json'], { cwd })).status).toBe(0);
  expect(readFileSync(join(cwd, 'r_1.json'), 'utf8')).not.toContain('secret');
  expect((await call('backup', 'copy.db')).status).toBe(2);
  expect((await call('show', 'r_none')).status).not.toBe(0);
  expect((await call('trace', 'r_1', '--prompts')).status).toBe(0);
  expect((await call('erase', 'r_1')).status).toBe(0);
  expect((await call('prune', '--keep', '0')).status).toBe(0);
  expect((await call('audit', 'verify')).status).toBe(0);
  expect((await call('doctor')).stdout).toContain('database server');
  expect(said.join('\n')).not.toMatch(/a(%20| )secret/);
});

test('a worker says that it is ready, answers for its health, continues what others leave, and drains on SIGTERM', async () => {
  const { db, cwd } = await place();
  const worker = await startWorker(db, '--concurrency', '5', '--drain', '5');
  expect(worker.first.ready).toBe(true);
  const health = await fetch(worker.first.health);
  expect([health.status, await health.json()]).toEqual([
    200,
    expect.objectContaining({ ok: true, store: 'reached', lease: true }),
  ]);
  expect((await fetch(worker.first.health, { method: 'POST' })).status).toBe(405);
  const waits = await sluice(['--db', db, '--json', 'run', 'order.flow.yaml', '--run', 'r_1'], { cwd });
  expect(waits.status).toBe(3);
  // A message alone: the process that posts it does not continue the run.
  const store = openPostgres(db);
  await store.mail.post('r_1', { type: 'cancel', by: 'ann', why: 'not needed' });
  await expect.poll(async () => (await store.index.find('r_1'))?.status).toBe('cancelled');
  await store.close();
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});

test('a worker lets a call in flight finish before it exits, and another one goes on behind it', async () => {
  const { db } = await place();
  const started: string[] = [];
  const { promise: inFlight, resolve } = Promise.withResolvers<void>();
  const make = (name: string) =>
    createEngine({
      journal: openPostgres(db, { pollMs: 100 }),
      model: async () => {
        started.push(name);
        resolve();
        await new Promise((done) => setTimeout(done, 300));
        return 'done';
      },
    });
  const { compile } = await import('@sluice-internal/library');
  const { flow } = compile({
    agents: [{ id: 'a', instructions: 'Work.' }],
    flow: {
      id: 'two',
      entry: 'one',
      nodes: [
        { id: 'one', type: 'agent', agent: 'a', routes: [{ to: 'two' }] },
        { id: 'two', type: 'agent', agent: 'a', routes: [{ to: 'last' }] },
        { id: 'last', type: 'terminal', output: 'both' },
      ],
    },
  });
  if (flow === undefined) throw new Error('the flow does not compile');
  const first = make('first');
  const run = await first.start(flow, { input: 'go' });
  await inFlight;
  await first.drain(5_000);
  expect(started).toEqual(['first']);
  const events: string[] = [];
  for await (const { type } of first.events(run, { live: false })) events.push(type);
  // The result of the call in flight is stored, and the next call is requested and not made.
  expect(events.filter((type) => type === 'effect.settled')).toHaveLength(1);
  await first.close();
  const second = make('second');
  await expect.poll(async () => (await second.get(run)).state).toBe('completed');
  expect(started).toEqual(['first', 'second']);
  await second.close();
});

test('`tenants grant` is for Postgres, and a worker plays no script', async () => {
  const { cwd } = await place();
  expect((await sluice(['--db', 'runs.db', 'tenants', 'grant', 'acme', 'reader'], { cwd })).stderr).toContain(
    'store in Postgres',
  );
  expect((await sluice(['--db', 'runs.db', 'worker', '--script', 'x.yaml'], { cwd })).stderr).toContain(
    'plays no script',
  );
});
