/** The ids of runs. */
import { randomUUID } from 'node:crypto';
import type { RunId } from '../../ir/events.ts';
import { SluiceError } from '../errors.ts';

export const RUN_ID = /^[A-Za-z0-9_-]{1,80}$/;

export function checkRunId(run: RunId): void {
  if (!RUN_ID.test(run))
    throw new SluiceError('bad-run-id', `\`${run}\` is not a run id`, 'use up to 80 letters, digits, `_` and `-`');
}

/** Ids sort by time of creation and are short enough to type. */
export function newRunId(): RunId {
  return `r_${Date.now().toString(36)}${randomHex()}`;
}

/** 32 random bits. `randomUUID` draws from a pool, which is faster than a system call each time. */
export function randomHex(): string {
  return randomUUID().slice(0, 8);
}
