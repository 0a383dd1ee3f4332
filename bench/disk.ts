/**
 * Where measurements keep their files and what they cost there. The folder lies beside the sources and not in the
 * system's temporary folder, which may be in memory and would make every fsync free; SLUICE_BENCH_DIR moves it.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const live = new Set<string>();

export function freshDir(label: string): string {
  const root = process.env['SLUICE_BENCH_DIR'] ?? join(import.meta.dirname, '..', '.sluice', 'bench');
  mkdirSync(root, { recursive: true });
  const dir = mkdtempSync(join(root, `${label}-`));
  hookExit();
  live.add(dir);
  return dir;
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
  live.delete(dir);
}

export async function withDir<T>(label: string, work: (dir: string) => Promise<T>): Promise<T> {
  const dir = freshDir(label);
  try {
    return await work(dir);
  } finally {
    removeDir(dir);
  }
}

/** Size of all files below a folder. Files that vanish while we look, such as a log being rotated, count as nothing. */
export function bytesOnDisk(dir: string): number {
  let total = 0;
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const stat = statSync(join(dir, name), { throwIfNoEntry: false });
    if (stat?.isFile()) total += stat.size;
  }
  return total;
}

/** Bytes that these processes have sent to storage so far, as Linux counts them; undefined elsewhere. */
export function bytesWritten(pids: readonly number[]): number | undefined {
  let total = 0;
  for (const pid of pids) {
    const text = readOrNothing(`/proc/${pid}/io`);
    const count = /^write_bytes: (\d+)$/m.exec(text)?.[1];
    if (count === undefined) return undefined;
    total += Number(count);
  }
  return total;
}

/** Resident memory of other processes, for contestants whose state lives in a server; zero where it is not to be had. */
export function bytesResident(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => /^VmRSS:\s+(\d+) kB$/m.exec(readOrNothing(`/proc/${pid}/status`))?.[1] ?? '0');
  return kilobytes.reduce((sum, text) => sum + Number(text) * 1024, 0);
}

let hooked = false;

/** A measurement that throws or is interrupted must not leave its files behind. */
function hookExit(): void {
  if (hooked) return;
  hooked = true;
  process.once('exit', () => live.forEach(removeDir));
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
