/**
 * Verifies a run before it is continued. Appends up to the snapshot are hashed but not decoded, in pages, so that the memory is
 * small. A snapshot is used only if the append that it was stored with carries its hash. Any other snapshot is ignored, and the run
 * is folded from its first event. Then the end of the chain, the entry in the list of runs and the last signed checkpoint are
 * compared with the events.
 *
 * A run reads only the snapshot and the events after it, and the end of the chain covers both without the earlier events.
 * So of a long run only the first append and the last ones before the snapshot are verified at once. The rest follows before
 * anything is stored.
 */
import type { CompiledFlow, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import type { Journal, Snapshot, Store, StoredAppend, StoredRun } from '../ports/ports.ts';
import { brokenCheckpoint } from './audit-checkpoints.ts';
import { wrongField } from './audit-entry.ts';
import { genesis, link } from './chain.ts';
import { snapshotHashIn } from './codec.ts';
import { hashSnapshot, printIn } from './snapshot.ts';
import { storedPrint } from './stored-graph.ts';
import { changedBlob } from './values.ts';

/** In appends. */
const PAGE = 500;
/** The events before a snapshot that are verified at once. */
const NEAR = 1000;

export interface VerifiedRun {
  readonly run: RunId;
  readonly stored: StoredRun;
  /** The verified appends. Those before a snapshot are without their bodies. */
  links: readonly Link[];
  /** The last append that is not verified. Of the appends before it, only the first is verified. Null if all are. */
  rest: Link | null;
}
/** A run of which every append is verified. */
export interface AllVerified {
  readonly run: RunId;
  readonly links: readonly Link[];
  readonly rest: null;
}
type Link = Omit<StoredAppend, 'body'>;

/** Null when there is no such run. Throws `chain-broken` when a stored byte was changed. */
export async function loadVerified(journal: Journal, run: RunId): Promise<VerifiedRun | null> {
  await demandRecorded(journal, run, 'continue');
  const found = await journal.load(run);
  if (found === null) return null;
  const last = found.snapshot === null ? null : await lastBefore(journal, run, found.snapshot.seq);
  const covered = snapshotHashIn(last?.body ?? '');
  const isUsable = found.snapshot === null || covered !== null;
  const stored = isUsable ? found : await journal.load(run, { snapshot: false });
  if (stored === null) return null;
  const blob = changedBlob(stored.blobs);
  if (blob !== undefined) throw broken(run, `the stored value ${blob.hash} was changed`);
  const chain = new Chain(run, stored.flow);
  const links: Link[] = [];
  const { snapshot } = stored;
  if (snapshot !== null && hashSnapshot(snapshot.body) !== covered)
    throw broken(run, `the snapshot at event ${snapshot.seq} was changed`);
  const rest = snapshot === null ? null : await verifyBefore(journal, run, stored.flow, snapshot, { chain, links });
  for (const append of stored.appends) {
    demandNext(run, chain, append);
    links.push(append);
  }
  return { run, stored, links, rest };
}

/** Verifies the appends that `loadVerified` left out. `goesOn` is called after each page; false ends the work. */
export async function verifyRest(
  journal: Journal,
  verified: VerifiedRun,
  goesOn: () => Promise<boolean> = async () => true,
): Promise<void> {
  const { run, stored, rest } = verified;
  if (rest === null) return;
  const until = rest.after + rest.count;
  const chain = new Chain(run, stored.flow);
  const links: Link[] = [];
  while (chain.seq < until) {
    if (!(await goesOn())) return;
    await verifyPage(journal, run, chain, until, links);
  }
  if (chain.seq !== until || chain.head !== rest.hash) throw broken(run, `event ${until} was changed`);
  verified.links = [...links, ...verified.links.filter(({ after }) => after >= until)];
  verified.rest = null;
}

/**
 * After the run is folded: its entry and its last checkpoint must agree with its events. Times of appends that are not verified yet
 * are left for a second call.
 */
export async function demandAgreement(
  { id, journal, index }: Store,
  verified: VerifiedRun | AllVerified,
  { flow, state, trusted }: { readonly flow: CompiledFlow; readonly state: RunState; readonly trusted: string | null },
): Promise<void> {
  const { run } = state;
  const entry = await index.find(run);
  const last = (await journal.checkpoints?.(run))?.at(-1);
  const isKnown = last === undefined || verified.links.some(({ after, count }) => after + count === last.seq);
  if (!isKnown && verified.rest !== null) await verifyRest(journal, verified);
  const { links, rest } = verified;
  const wrong =
    entry === null ? null : wrongField(entry, flow, links, state, rest === null ? [] : ['start', 'last change']);
  if (wrong !== null) throw broken(run, wrong);
  if (last === undefined) return;
  const unsigned = brokenCheckpoint({ store: id, run, appends: links, checkpoints: [last], entry: null }, trusted);
  if (unsigned !== null) throw broken(run, unsigned);
}

/**
 * Verifies the appends before a snapshot: all of them, or the first and the last ones. Returns the append that the last ones follow,
 * which is not verified itself.
 */
async function verifyBefore(
  journal: Journal,
  run: RunId,
  flow: string,
  { seq, hash, body }: Snapshot,
  { chain, links }: { readonly chain: Chain; readonly links: Link[] },
): Promise<Link | null> {
  if (printIn(body) !== storedPrint(flow)) throw broken(run, 'its stored graph was changed');
  let rest: StoredAppend | null = null;
  if (seq > NEAR) {
    const first = await firstFrom(journal, run, 0);
    demandNext(run, chain, first);
    links.push(linkOf(first));
    const far = await firstFrom(journal, run, seq - NEAR);
    // One append may have more events than that.
    if (far.after < seq) chain.skipTo((rest = far));
  }
  while (chain.seq < seq) await verifyPage(journal, run, chain, seq, links);
  if (chain.head !== hash) throw broken(run, `event ${seq} was changed`);
  return rest;
}

/** The append that ends with this event. The search goes back in growing steps, because one append may have many events. */
async function lastBefore(journal: Journal, run: RunId, seq: number): Promise<StoredAppend | null> {
  for (let back = 8; ; back *= 8) {
    const after = Math.max(0, seq - back);
    const found = (await journal.page(run, after, back)).find((append) => append.after + append.count === seq);
    if (found !== undefined || after === 0) return found ?? null;
  }
}

async function firstFrom(journal: Journal, run: RunId, after: number): Promise<StoredAppend> {
  const [append] = await journal.page(run, after, 1);
  if (append === undefined) throw broken(run, `event ${after + 1} is missing`);
  return append;
}

/** Throws if the entry or the end of the run, or a record that all runs depend on, was changed from outside. */
export async function demandRecorded(journal: Journal, run: RunId, purpose: Purpose): Promise<void> {
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

  /** Goes on after an append that is not verified here. */
  skipTo({ after, count, hash: stored }: StoredAppend): void {
    this.head = stored;
    this.seq = after + count;
  }
}

async function verifyPage(journal: Journal, run: RunId, chain: Chain, until: number, links: Link[]): Promise<void> {
  const page = await journal.page(run, chain.seq, PAGE);
  if ((page[0]?.after ?? until) >= until) throw broken(run, `event ${chain.seq + 1} is missing`);
  for (const append of page) {
    if (append.after >= until) continue;
    demandNext(run, chain, append);
    links.push(linkOf(append));
  }
}

function demandNext(run: RunId, chain: Chain, append: StoredAppend): void {
  const wrong = chain.add(append);
  if (wrong !== null) throw broken(run, wrong);
}

function linkOf({ after, count, at, hash }: StoredAppend): Link {
  return { after, count, at, hash };
}

export type Purpose = keyof typeof REFUSALS;

const REFUSALS = {
  continue: ['cannot continue', 'Run `sluice audit verify`.'],
  start: ['cannot start', 'Run `sluice audit verify`.'],
  read: [
    'does not verify',
    'Run `sluice audit verify`. To look at the run as it is stored, add `--unverified` to `show` or `trace`.',
  ],
} as const;

export function broken(run: RunId, why: string, purpose: Purpose = 'continue'): SluiceError {
  const [refusal, help] = REFUSALS[purpose];
  return new SluiceError('chain-broken', `run \`${run}\` ${refusal}: ${why}`, help);
}
