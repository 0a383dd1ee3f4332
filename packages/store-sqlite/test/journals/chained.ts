/** Checks that what was loaded is a whole chain without gaps, and says where it ends. */
import { expect } from 'vitest';
import { genesis, link } from '@sluice-internal/engine/journal';
import type { StoredRun } from '@sluice-internal/engine/ports';
import { Chain } from '../../../testing/src/suite/sample.ts';

export function expectChain(run: string, stored: StoredRun | null): number {
  let head = genesis(run, new Chain(run).flow.hash);
  let seq = 0;
  for (const { after, count, at, body, hash } of stored?.appends ?? []) {
    head = link(head, after, at, body);
    expect([after, hash]).toEqual([seq, head]);
    seq += count;
  }
  return seq;
}
