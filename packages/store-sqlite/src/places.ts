/** The places of sealed texts. Each is part of what its seal covers. */
import type { Place } from '@sluice-internal/engine/ports';

export const placeOfAppend = (store: string, run: string, after: number): Place => ({
  store,
  table: 'log',
  run,
  seq: after,
});
export const placeOfBlob = (store: string, run: string, hash: string): Place => ({
  store,
  table: 'blobs',
  run,
  seq: hash,
});
export const placeOfGraph = (store: string, hash: string): Place => ({ store, table: 'flows', run: '', seq: hash });
export const placeOfSnapshot = (store: string, run: string, seq: number): Place => ({
  store,
  table: 'snapshots',
  run,
  seq,
});
export const placeOfLetter = (store: string, run: string, hash: string): Place => ({
  store,
  table: 'mail',
  run,
  seq: hash,
});
export const placeOfMessage = (store: string, run: string): Place => ({ store, table: 'run_facts', run, seq: '' });
