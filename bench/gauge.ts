/** Gauges that contestants share, so that all of them take the same reading in the same way. */
import { setImmediate } from 'node:timers/promises';
import { bytesWritten } from './disk.ts';

export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Time and bytes sent to storage. Let the work close what it opened, so that deferred writes are counted too. */
export async function metered(
  work: () => unknown,
  pids: () => readonly number[] = () => [process.pid],
): Promise<{ ms: number; bytes?: number }> {
  const before = bytesWritten(pids());
  const ms = await timed(work);
  const after = bytesWritten(pids());
  return before === undefined || after === undefined ? { ms } : { ms, bytes: after - before };
}

/** Live memory of this process after a full collection. Needs `--expose-gc`. */
export async function liveHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('memory can only be measured under --expose-gc');
  for (let pass = 0; pass < 3; pass += 1) {
    await setImmediate();
    globalThis.gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Text that compresses about as well as ordinary JSON does: half of it random. The same for every call. */
export function payload(bytes: number): string {
  let state = 42;
  let text = '';
  while (text.length < bytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${state.toString(36).padStart(7, '0')},"key":`;
  }
  return text.slice(0, bytes);
}
