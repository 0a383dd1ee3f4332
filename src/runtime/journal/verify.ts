/**
 * Verifies a run before it is continued. Every append up to the snapshot is hashed but not decoded, in pages, so that the cost is
 * linear and the memory small. A snapshot is used only if the append that follows it carries its hash. A snapshot that no event
 * covers yet is ignored, and the run is folded from its first event. Then the end of the chain, the entry in the list of runs and
 * the last signed checkpoint are compared with the events.
 */
import type { RunId, RunState } from '../../ir/events.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { SluiceError } from '../errors.ts';
import type { Journal, Store, StoredAppend, StoredRun } from '../ports.ts';
import { brokenCheckpoint } from './audit-checkpoints.ts';
import { wrongField } from './audit-entry.ts';
import { genesis, link } from './chain.ts';
import { snapshotHashIn } from './codec.ts';
import { hashSnapshot } from './snapshot.ts';
import { storedPrint } from './stored-graph.ts';
import { changedBlob } from './values.ts';

/** In appends. */
const PAGE = 500;

export interface VerifiedRun {
  readonly stored: StoredRun;
  /** All appends, without their bodies. */
  readonly links: readonly Link[];
}
type Link = Omit<StoredAppend, 'body'>;

/** Null when there is no such run. Throws `chain-broken` when a stored byte was changed. */
export async function loadVerified(journal: Journal, run: RunId): Promise<VerifiedRun | null> {
  await demandSealed(journal, run, 'continue');
  const found = await journal.load(run);
  if (found === null) return null;
  const stored = isCovered(found) ? found : await journal.load(run, { snapshot: false });
  if (stored === null) return null;
  const blob = changedBlob(stored.blobs);
  if (blob !== undefined) throw broken(run, `the stored value ${blob.hash} was changed`);
  const chain = new Chain(run, stored.flow);
  const links: Link[] = [];
  const { snapshot } = stored;
  if (snapshot !== null) {
    await verifyPages(journal, run, chain, snapshot.seq, links);
    if (chain.head !== snapshot.hash || hashSnapshot(snapshot.body) !== snapshotHashIn(stored.appends[0]?.body ?? ''))
      throw broken(run, `the snapshot at event ${snapshot.seq} was changed`);
  }
  for (const append of stored.appends) demandNext(run, chain, append, links);
  return { stored, links };
}

/** After the run is folded: its entry and its last checkpoint must agree with its events. */
export async function demandAgreement(
  { id, journal, roster }: Store,
  { links }: VerifiedRun,
  { flow, state, trusted }: { readonly flow: CompiledFlow; readonly state: RunState; readonly trusted: string | null },
): Promise<void> {
  const { run } = state;
  const entry = await roster.find(run);
  const wrong = entry === null ? null : wrongField(entry, flow, links, state);
  if (wrong !== null) throw broken(run, wrong);
  const last = (await journal.checkpoints?.(run))?.at(-1);
  if (last === undefined) return;
  const unsigned = brokenCheckpoint({ store: id, run, appends: links, checkpoints: [last], entry: null }, trusted);
  if (unsigned !== null) throw broken(run, unsigned);
}

/** Throws when the list of runs, the end of the run or the seals of the store are not as the store wrote them. */
export async function demandSealed(journal: Journal, run: RunId, purpose: Purpose): Promise<void> {
  const found = (await journal.broken?.(run)) ?? null;
  if (found !== null) throw broken(run, found, purpose);
}

/** The links of one run, in order. */
export class Chain {
  head: string;
  seq = 0;

  constructor(run: RunId, flow: string) {
    this.head = genesis(run, storedPrint(flow));
  }

  /** The reason why the append does not follow, or null. */
  add({ after, count, at, body, hash: stored }: StoredAppend): string | null {
    if (after !== this.seq) return `event ${this.seq + 1} is missing`;
    if (link(this.head, after, at, body) !== stored)
      return after === 0
        ? 'its first events or its stored graph were changed'
        : `event ${after + 1}, or one stored with it, was changed`;
    this.head = stored;
    this.seq = after + count;
    return null;
  }
}

/** False when the append after the snapshot does not carry a snapshot hash. */
function isCovered({ snapshot, appends }: StoredRun): boolean {
  return snapshot === null || snapshotHashIn(appends[0]?.body ?? '') !== null;
}

async function verifyPages(journal: Journal, run: RunId, chain: Chain, until: number, links: Link[]): Promise<void> {
  while (chain.seq < until) {
    const page = await journal.page(run, chain.seq, PAGE);
    if (page.length === 0) throw broken(run, `event ${chain.seq + 1} is missing`);
    for (const append of page) if (append.after < until) demandNext(run, chain, append, links);
  }
}

function demandNext(run: RunId, chain: Chain, append: StoredAppend, links: Link[]): void {
  const wrong = chain.add(append);
  if (wrong !== null) throw broken(run, wrong);
  const { after, count, at, hash } = append;
  links.push({ after, count, at, hash });
}

export type Purpose = keyof typeof REFUSALS;

const REFUSALS = {
  continue: ['cannot continue', 'run `sluice audit verify`'],
  start: ['cannot start', 'run `sluice audit verify`'],
  read: [
    'does not verify',
    'Run `sluice audit verify`. To look at the run as it is stored, add `--unverified` to `show` or `trace`.',
  ],
} as const;

export function broken(run: RunId, why: string, purpose: Purpose = 'continue'): SluiceError {
  const [refusal, help] = REFUSALS[purpose];
  return new SluiceError('chain-broken', `run \`${run}\` ${refusal}: ${why}`, help);
}
