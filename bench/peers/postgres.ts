/**
 * A private PostgreSQL cluster on a loopback port with its data in a temporary folder; it ends with this process.
 * PostgreSQL refuses to run as root, so under root it runs as `postgres` or, failing that, as `nobody`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freshDir, removeDir } from '../disk.ts';
import { freePort } from './free-port.ts';

const START_MS = 30_000;
const DEBIAN = '/usr/lib/postgresql';

export interface Postgres {
  url: string;
  dir: string;
  version: string;
  /** Bytes in the log so far. Writes by the processes would count whole segments that are allocated ahead. */
  bytesLogged: () => number;
  checkpoint: () => void;
  close: () => Promise<void>;
}

/** The folder with `initdb`, `postgres` and `psql`, or undefined where PostgreSQL is not installed. */
export function findPostgres(): string | undefined {
  const newest = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : [];
  const candidates = [
    ...newest.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  return candidates.find((dir) => ['initdb', 'postgres', 'psql'].every((tool) => existsSync(join(dir, tool))));
}

export async function startPostgres(bin: string): Promise<Postgres> {
  const user = process.getuid?.() === 0 ? unprivileged() : undefined;
  const root = freshDir('postgres');
  if (user !== undefined) chownSync(root, user.uid, user.gid);
  const dir = join(root, 'data');
  const initdb = ['-D', dir, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(bin, 'initdb'), initdb, { ...user, cwd: root, stdio: ['ignore', 'ignore', 2] });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'max_connections=200', 'log_min_messages=fatal'];
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', dir, '-k', root, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    { ...user, cwd: root, stdio: 'ignore' },
  );
  process.once('exit', () => child.kill('SIGQUIT'));
  const url = `postgresql://bench@127.0.0.1:${port}/postgres`;
  const psql = (sql: string): string =>
    execFileSync(join(bin, 'psql'), ['-XAt', url, '-c', sql], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  await answering(() => psql('SELECT 1'));
  return {
    url,
    dir,
    version: psql('SHOW server_version').trim(),
    bytesLogged: () => Number(psql("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")),
    checkpoint: () => void psql('CHECKPOINT'),
    close: async () => {
      const exited = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGINT')) await exited;
      removeDir(root);
    },
  };
}

function unprivileged(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    const fields = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(readFileSync('/etc/passwd', 'utf8'));
    if (fields !== null) return { uid: Number(fields[1]), gid: Number(fields[2]) };
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody');
}

async function answering(ask: () => void): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    try {
      return ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await setTimeout(100);
    }
  }
}
