/** The ids of runs. */
import { randomBytes } from 'node:crypto';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from './errors.ts';

export const RUN_ID = /^[A-Za-z0-9_-]{1,80}$/;

export function checkRunId(run: RunId): void {
  if (!RUN_ID.test(run))
    throw new SluiceError('bad-run-id', `\`${run}\` is not a run id`, 'Use up to 80 letters, digits, `_` and `-`.');
}

/** Ids sort by time of creation and are short enough to type. */
export function newRunId(): RunId {
  return `r_${Date.now().toString(36)}${randomHex()}`;
}

/** 32 random bits. They come from a pool, which is faster than a system call each time. */
export function randomHex(): string {
  if (used === pool.length) {
    pool = randomBytes(4096);
    used = 0;
  }
  used += 4;
  return pool.toString('hex', used - 4, used);
}
let pool: Buffer = Buffer.alloc(0);
let used = 0;
