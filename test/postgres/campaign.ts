/**
 * Faults against workers that share a Postgres server, with runs in flight. After each round every run has ended as it would have without
 * the fault, every effect was made under one key, no worker has stopped by itself, and the audit of the database holds.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEngine, openPostgres } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { audit } from '@sluice-internal/engine/audit';
import { SluiceError, allOf } from '@sluice-internal/engine/ports';
import { createChance } from '../crash/chance.ts';
import type { Chance } from '../crash/chance.ts';
import { PostgresServer } from '../support/postgres.ts';
import { Proxy } from '../support/proxy.ts';
import { EFFECTS, campaignFlow } from './flow.ts';

export const FAULTS = ['worker', 'server', 'both', 'pause', 'silence', 'cut', 'clock', 'deploy'] as const;
export type Fault = (typeof FAULTS)[number];

export interface Round {
  readonly violations: readonly string[];
  readonly figures: { readonly [name: string]: number };
}

const LEASE_MS = 2_000;
const SHIFTS = [0, 15_000, -15_000, 3_600_000, -3_600_000];
const END_MS = 180_000;

interface Campaign {
  readonly server: PostgresServer;
  /** All workers connect through it. */
  readonly proxy: Proxy;
  close(): Promise<void>;
}

export async function openCampaign({ fsync = true }: { readonly fsync?: boolean } = {}): Promise<Campaign> {
  const server = await PostgresServer.start({ fsync });
  const proxy = await Proxy.to(server.port);
  return {
    server,
    proxy,
    close: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

export async function playRound(
  { server, proxy }: Campaign,
  seed: number,
  { faults, runs, workers, pauseMs }: { faults: readonly Fault[]; runs: number; workers: number; pauseMs: number },
): Promise<Round> {
  const chance = createChance(seed);
  const schema = `round_${seed}_${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-campaign-'));
  const log = join(folder, 'effects');
  writeFileSync(log, '');
  const direct = server.url(schema);
  const from = performance.now();
  const crew = new Crew(server.url(schema, { port: proxy.port }), log);
  let kills = 0;
  try {
    const started = await startRuns(direct, runs);
    for (let index = 0; index < workers; index++) await crew.add(chance.oneOf(SHIFTS));
    const answering = answerAll(direct, started);
    for (const fault of faults) {
      await sleep(200 + chance.below(600));
      kills += await strike(fault, { server, proxy, crew, chance, pauseMs });
    }
    await answering;
    const states = await untilEnded(direct, started);
    const violations = [
      ...crew.complaints(),
      ...states,
      ...effectsIn(log, started),
      ...(await audited(direct, started)),
    ];
    const lines = linesOf(log);
    const repeated = lines.length - new Set(lines).size;
    return {
      violations,
      figures: { runs, kills, effects: lines.length - repeated, repeated, ms: Math.round(performance.now() - from) },
    };
  } finally {
    await crew.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Scene {
  readonly server: PostgresServer;
  readonly proxy: Proxy;
  readonly crew: Crew;
  readonly chance: Chance;
  readonly pauseMs: number;
}

/** Returns the number of processes that were killed. */
async function strike(fault: Fault, { server, proxy, crew, chance, pauseMs }: Scene): Promise<number> {
  switch (fault) {
    case 'worker':
      crew.kill(chance);
      await crew.add(chance.oneOf(SHIFTS));
      return 1;
    case 'server':
      await server.kill();
      await sleep(chance.below(500));
      await server.run();
      return 1;
    case 'both':
      crew.kill(chance);
      await server.kill();
      await server.run();
      await crew.add(chance.oneOf(SHIFTS));
      return 2;
    case 'pause':
      await crew.pause(chance, LEASE_MS + 1500 + chance.below(1000));
      return 0;
    case 'silence':
      proxy.silence();
      await sleep(pauseMs);
      proxy.mend();
      return 0;
    case 'cut':
      proxy.cut();
      await sleep(chance.below(pauseMs));
      proxy.mend();
      return 0;
    case 'clock':
      await crew.add(chance.oneOf([3_600_000, -3_600_000]));
      crew.kill(chance);
      return 1;
    case 'deploy':
      await crew.replaceAll(chance);
      return 0;
  }
}

/** Starts the runs and leaves them to the workers. Half of them after a deploy of a changed flow. */
async function startRuns(address: string, count: number): Promise<readonly string[]> {
  const store = openPostgres(address);
  const engine = createEngine({
    journal: store,
    pickUp: false,
    performer: { perform: () => new Promise(() => undefined) },
  });
  const flows = [campaignFlow(1), campaignFlow(2)] as readonly CompiledFlow[];
  const runs = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      engine.start(flows[index < count / 2 ? 0 : 1] as CompiledFlow, {
        run: `r_${index}`,
        input: { amount: index, asks: index % 2 === 0 },
      }),
    ),
  );
  await engine.close();
  return runs;
}

/** A person who answers every question, whatever the state of the server is. */
async function answerAll(address: string, runs: readonly string[]): Promise<void> {
  const asked = runs.filter((_, index) => index % 2 === 0).length;
  const done = new Set<string>();
  for (const until = Date.now() + END_MS; done.size < asked && Date.now() < until; await sleep(200)) {
    const engine = createEngine({
      journal: openPostgres(address, { pollMs: 300 }),
      pickUp: false,
      leaseMs: LEASE_MS,
      performer: { perform: () => new Promise(() => undefined) },
    });
    try {
      for (const { id } of await engine.approvals()) {
        await engine.answer(id, { choice: 'yes', by: 'ann' }).catch((error: unknown) => {
          if (!(error instanceof SluiceError) || !SETTLED.has(error.code)) throw error;
        });
        done.add(id);
      }
      const open = await engine.list({ status: ['pending', 'running', 'suspended'] });
      if (open.length === 0) return;
    } catch {
      // The server is away. The person tries again.
    } finally {
      await engine.close().catch(() => undefined);
    }
  }
}
const SETTLED: ReadonlySet<string> = new Set([
  'approval-closed',
  'already-answered',
  'run-ended',
  'approval-not-found',
]);

/** What did not end, or not as it should. */
async function untilEnded(address: string, runs: readonly string[]): Promise<readonly string[]> {
  const store = openPostgres(address);
  try {
    for (const until = Date.now() + END_MS; Date.now() < until; await sleep(200)) {
      const open = await store.index.list({ status: ['pending', 'running', 'suspended'], limit: 1 }).catch(() => null);
      if (open !== null && open.items.length === 0) break;
    }
    const all = await allOf((page) => store.index.list(page));
    const ended = new Map(all.map(({ run, status, code }) => [run, `${status} ${code ?? ''}`]));
    return runs
      .filter((run) => ended.get(run) !== 'completed SUCCESS')
      .map((run) => `${run} is ${ended.get(run) ?? 'lost'}`);
  } finally {
    await store.close();
  }
}

function linesOf(log: string): readonly string[] {
  return readFileSync(log, 'utf8').split('\n').filter(Boolean);
}

/** Each effect of each run under exactly one key. */
function effectsIn(log: string, runs: readonly string[]): readonly string[] {
  const keys = new Map<string, Set<string>>();
  for (const line of linesOf(log)) {
    const [run = '', name = '', key = ''] = line.split(' ');
    const place = `${run} ${name}`;
    keys.set(place, (keys.get(place) ?? new Set()).add(key));
  }
  return runs.flatMap((run) =>
    EFFECTS.flatMap((name) => {
      const made = keys.get(`${run} ${name}`)?.size ?? 0;
      return made === 1 ? [] : [`${run}: ${name} was made under ${made} keys`];
    }),
  );
}

async function audited(address: string, runs: readonly string[]): Promise<readonly string[]> {
  const store = openPostgres(address);
  try {
    const broken = (await store.journal.broken?.()) ?? null;
    const problems = broken === null ? [] : [`the audit says: ${broken}`];
    for (const run of runs) {
      const { ok, broken: why } = await audit(store.journal, run);
      if (!ok) problems.push(`${run}: ${JSON.stringify(why)}`);
    }
    return problems;
  } finally {
    await store.close();
  }
}

class Crew {
  readonly #address: string;
  readonly #log: string;
  readonly #workers = new Set<ChildProcess>();
  readonly #complaints: string[] = [];

  constructor(address: string, log: string) {
    this.#address = address;
    this.#log = log;
  }

  async add(shiftMs: number): Promise<void> {
    const program = join(import.meta.dirname, 'worker.ts');
    const child = spawn(process.execPath, [program, this.#address, this.#log, String(LEASE_MS), String(shiftMs)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#workers.add(child);
    let said = '';
    const hear = (text: Buffer): void => {
      said += text.toString();
      if (said.includes('FAULT')) this.#complaints.push(said.trim());
    };
    child.stderr.on('data', hear);
    child.on('exit', (code, signal) => {
      if (this.#workers.delete(child)) this.#complaints.push(`a worker ended by itself: ${code ?? signal} ${said}`);
    });
    await new Promise<void>((resolve) =>
      child.stdout.on('data', (text: Buffer) => {
        hear(text);
        if (said.includes('ready')) resolve();
      }),
    );
  }

  kill(chance: Chance): void {
    const child = chance.oneOf([...this.#workers]);
    this.#workers.delete(child);
    child.kill('SIGKILL');
  }

  async pause(chance: Chance, ms: number): Promise<void> {
    const child = chance.oneOf([...this.#workers]);
    child.kill('SIGSTOP');
    await sleep(ms);
    child.kill('SIGCONT');
  }

  /** A new worker for each old one, which drains. */
  async replaceAll(chance: Chance): Promise<void> {
    for (const child of [...this.#workers]) {
      await this.add(chance.oneOf(SHIFTS));
      this.#workers.delete(child);
      const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) this.#complaints.push(`a worker that drained ended with ${code}`);
    }
  }

  complaints(): readonly string[] {
    return this.#complaints;
  }

  async stop(): Promise<void> {
    const ended = [...this.#workers].map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#workers) {
      this.#workers.delete(child);
      child.kill('SIGKILL');
    }
    await Promise.all(ended);
  }
}
