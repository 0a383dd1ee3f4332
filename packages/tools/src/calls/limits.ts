/**
 * Limits for a process and its descendants. The operating system limits each process (CPU time, memory, file size, number
 * of processes). A watch compares the sums over all processes with the limits and kills the group if one is exceeded.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { lstat, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { availableParallelism, release } from 'node:os';
import type { ResourceLimits } from './tool.ts';

export type Limits = { readonly [limit in keyof ResourceLimits]-?: number };

const MIB = 1024 * 1024;
export const DEFAULT_LIMITS: Limits = {
  cpuSeconds: 300,
  memoryMax: 512 * MIB,
  processesMax: 256,
  fileMax: 256 * MIB,
  diskMax: 1024 * MIB,
};
/** Address space that programs such as `node` reserve as writable and never touch. */
const RESERVED = 768 * MIB;
const DESCRIPTORS_MAX = 4096;
const WATCH_MS = 100;
/** A walk over the work directory takes at most a twentieth of the time. */
const WALK_SHARE = 20;
const WALK_MS = 1_000;

/** Unless the CPU time is set, a process can use every processor for the whole time of the call. */
export function limitsOf(given: ResourceLimits = {}, timeoutMs = 0): Limits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  const cpuSeconds = Math.max(DEFAULT_LIMITS.cpuSeconds, (timeoutMs / 1000) * availableParallelism());
  return { ...DEFAULT_LIMITS, cpuSeconds, ...(Object.fromEntries(set) as ResourceLimits) };
}

/**
 * The arguments that start `command` under its limits and close all descriptors above 2. `shell` is bash or sh. A limit of
 * Infinity is not set.
 */
export function limited(shell: string, limits: Limits, command: readonly string[]): string[] {
  const isBash = shell.endsWith('bash');
  const settings = [
    ['-c', 0],
    ['-t', Math.ceil(limits.cpuSeconds)],
    ['-d', Math.ceil((limits.memoryMax + RESERVED) / 1024)],
    ['-f', Math.ceil(limits.fileMax / (isBash ? 1024 : 512))],
    // Buffers of sockets and pipes are memory that belongs to no process.
    ['-n', DESCRIPTORS_MAX],
    ...(isBash && COUNTS_PER_NAMESPACE ? ([['-u', Math.ceil(limits.processesMax)]] as const) : []),
  ] as const;
  const lines = settings
    .filter(([, value]) => Number.isFinite(value))
    .map(([flag, value]) => `ulimit ${flag} ${value} 2>/dev/null`);
  return [
    shell,
    '-c',
    [...lines, ...(isBash ? [CLOSE_DESCRIPTORS] : []), 'exec "$@"'].join('\n'),
    'sluice',
    ...command,
  ];
}

const CLOSE_DESCRIPTORS =
  'for fd in /proc/self/fd/*; do fd=${fd##*/}; if [[ $fd -gt 2 ]]; then eval "exec $fd>&-"; fi; done';

/** Older kernels count all processes of the user, so the limit would depend on unrelated programs. */
const COUNTS_PER_NAMESPACE = ((): boolean => {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return process.platform === 'linux' && (major > 5 || (major === 5 && minor >= 14));
})();

/** Watches the descendants of the process `pid()` and the folder `dir`. Calls `exceeded` once, with a sentence. Returns a function that stops. */
export function watch(
  pid: () => number | null,
  dir: string | null,
  limits: Limits,
  exceeded: (message: string) => void,
): () => void {
  let stopped = false;
  const stop = (): void => {
    stopped = true;
    clearTimeout(timer);
  };
  const report = (message: string | null): void => {
    if (message === null || stopped) return;
    stop();
    exceeded(message);
  };
  const disk = dir === null ? null : new DiskWatch(dir, limits.diskMax);
  const look = async (): Promise<void> => {
    const root = pid();
    if (root !== null) report(usageProblem(root, limits));
    if (!stopped && disk !== null) report(await disk.problem());
    if (!stopped) timer = setTimeout(() => void look(), WATCH_MS).unref();
  };
  let timer = setTimeout(() => void look(), WATCH_MS).unref();
  return stop;
}

function usageProblem(root: number, { processesMax, memoryMax }: Limits): string | null {
  let tasks = 0;
  let own = 0;
  const sharing: { readonly pid: number; readonly shared: number }[] = [];
  const queue = [root];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    const status = readProc(`/proc/${pid}/status`);
    tasks += Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    own += kibibytes(status, 'RssAnon') ?? 0;
    const shared = kibibytes(status, 'RssShmem') ?? 0;
    if (shared > 0) sharing.push({ pid, shared });
    if (tasks > processesMax) return `it had more than ${processesMax} processes and threads`;
    if (own > memoryMax) return `it used more than ${mebibytes(memoryMax)} of memory`;
    queue.push(...childrenOf(pid));
  }
  if (own + sharing.reduce((sum, { shared }) => sum + shared, 0) <= memoryMax) return null;
  const pids = sharing.map(({ pid }) => pid);
  // When a process ends, its part counts for the others. So the smaller of two measurements is taken.
  const shared = Math.min(sharedBy(pids), sharedBy(pids));
  return own + shared > memoryMax ? `it used more than ${mebibytes(memoryMax)} of memory` : null;
}

/** Several processes can hold the same memory. Then each counts its part. This takes longer than the sums of `status`. */
function sharedBy(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const part = kibibytes(readProc(`/proc/${pid}/smaps_rollup`), 'Pss_Shmem');
    return sum + (part ?? kibibytes(readProc(`/proc/${pid}/status`), 'RssShmem') ?? 0);
  }, 0);
}

/** A figure of a file of /proc, in bytes. */
function kibibytes(text: string, name: string): number | null {
  const [, amount] = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * 1024;
}

export function childrenOf(pid: number): number[] {
  return entriesOf(`/proc/${pid}/task`).flatMap((task) =>
    readProc(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** Adds up files that were created or changed since the start. It walks the folder only if disk space was used. */
class DiskWatch {
  readonly #dir: string;
  readonly #max: number;
  readonly #since = Date.now();
  #free: number | null = null;
  #next = 0;

  constructor(dir: string, max: number) {
    this.#dir = dir;
    this.#max = max;
  }

  async problem(): Promise<string | null> {
    const stats = await statfs(this.#dir).catch(() => null);
    if (stats === null || !Number.isFinite(this.#max)) return null;
    const free = stats.bavail * stats.bsize;
    this.#free ??= free;
    if (this.#free - free < this.#max / 4 || performance.now() < this.#next) return null;
    const started = performance.now();
    const written = await this.#written(this.#dir);
    const tookMs = performance.now() - started;
    this.#next = performance.now() + Math.max(tookMs * WALK_SHARE, written > this.#max / 2 ? 0 : WALK_MS);
    return written > this.#max ? `it wrote more than ${mebibytes(this.#max)} to the work directory` : null;
  }

  async #written(dir: string): Promise<number> {
    let sum = 0;
    for (const entry of await readdir(dir, { withFileTypes: true }).catch(() => [])) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) sum += await this.#written(path);
      else if (entry.isFile()) {
        const stat = await lstat(path).catch(() => null);
        if (stat !== null && stat.ctimeMs >= this.#since) sum += stat.blocks * 512;
      }
      if (sum > this.#max) break;
    }
    return sum;
  }
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** The text of a file of /proc. Empty if it does not exist or cannot be read, as after the end of a process. */
export function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

export function entriesOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
