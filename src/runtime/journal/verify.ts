/**
 * Verifies the hash chain of a run before it is continued. Every append up to the snapshot is hashed but not decoded, in
 * pages, so that the cost is linear and the memory constant. A snapshot is used only if the append that follows it carries
 * its hash. A snapshot that no event covers yet is ignored, and the run is folded from its first event.
 */
import { hash } from 'node:crypto';
import type { RunId } from '../../ir/events.ts';
import { SluiceError } from '../errors.ts';
import type { Blob, Journal, StoredAppend, StoredRun } from '../ports.ts';
import { genesis, link, printOf } from './chain.ts';
import { snapshotHashIn } from './codec.ts';
import { hashSnapshot } from './snapshot.ts';

/** In appends. */
const PAGE = 500;

/** Null when there is no such run. Throws `chain-broken` when a stored byte was changed. */
export async function loadVerified(journal: Journal, run: RunId): Promise<StoredRun | null> {
  const found = await journal.load(run);
  if (found === null) return null;
  const stored = isCovered(found) ? found : await journal.load(run, { snapshot: false });
  if (stored === null) return null;
  const blob = changedBlob(stored.blobs);
  if (blob !== undefined) throw broken(run, `the stored value ${blob.hash} was changed`);
  const chain = new Chain(run, stored.flow);
  const { snapshot } = stored;
  if (snapshot !== null) {
    await verifyPages(journal, run, chain, snapshot.seq);
    if (chain.head !== snapshot.hash || hashSnapshot(snapshot.body) !== snapshotHashIn(stored.appends[0]?.body ?? ''))
      throw broken(run, `the snapshot at event ${snapshot.seq} was changed`);
  }
  for (const append of stored.appends) chain.add(append);
  return stored;
}

export function changedBlob(blobs: readonly Blob[]): Blob | undefined {
  return blobs.find(({ hash: id, body }) => hash('sha256', body, 'base64url') !== id);
}

/** False when the append after the snapshot does not carry a snapshot hash. */
function isCovered({ snapshot, appends }: StoredRun): boolean {
  return snapshot === null || snapshotHashIn(appends[0]?.body ?? '') !== null;
}

async function verifyPages(journal: Journal, run: RunId, chain: Chain, until: number): Promise<void> {
  while (chain.seq < until) {
    const page = await journal.page(run, chain.seq, PAGE);
    if (page.length === 0) throw broken(run, `event ${chain.seq + 1} is missing`);
    for (const append of page) if (append.after < until) chain.add(append);
  }
}

class Chain {
  readonly #run: RunId;
  head: string;
  seq = 0;

  constructor(run: RunId, flow: string) {
    this.#run = run;
    this.head = genesis(run, printOf(flow));
  }

  add({ after, count, at, body, hash: stored }: StoredAppend): void {
    if (after !== this.seq) throw broken(this.#run, `event ${this.seq + 1} is missing`);
    if (link(this.head, after, at, body) !== stored)
      throw broken(
        this.#run,
        after === 0
          ? 'its first events or its stored graph were changed'
          : `event ${after + 1}, or one stored with it, was changed`,
      );
    this.head = stored;
    this.seq = after + count;
  }
}

function broken(run: RunId, why: string): SluiceError {
  return new SluiceError('chain-broken', `run \`${run}\` cannot continue: ${why}`, 'run `sluice audit verify`');
}
