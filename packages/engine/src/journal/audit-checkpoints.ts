/** Audits the signed checkpoints of a run, the acts of operators and the shared values. */
import { hasEnded } from '@sluice-internal/kernel/ir';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Cells, Checkpoint, RunEntry, StoredAppend } from '../ports/ports.ts';
import { linkAct } from './chain.ts';
import { isSignedBy } from './checkpoint.ts';

export interface SignedRun {
  readonly store: string;
  readonly run: RunId;
  readonly appends: readonly Omit<StoredAppend, 'body'>[];
  readonly checkpoints: readonly Checkpoint[];
  readonly entry: RunEntry | null;
}

interface Audited {
  readonly ok: boolean;
  readonly events: number;
}

/** The audit of a run with its checkpoints. A broken chain is reported first. */
export function withCheckpoints<Result extends Audited>(
  audited: Result,
  signed: SignedRun,
  trusted: string | null,
): Result {
  const message = audited.ok ? brokenCheckpoint(signed, trusted) : null;
  if (message === null) return { ...audited, checkpoints: signed.checkpoints.length };
  const seq = audited.events;
  return { ...audited, ok: false, broken: { seq, last: seq, message: `run \`${signed.run}\`: ${message}` } };
}

/** `trusted` is the public key that must have signed. With it, an ended run must have a checkpoint at its end. */
export function brokenCheckpoint(signed: SignedRun, trusted: string | null): string | null {
  const { store, run, appends, checkpoints, entry } = signed;
  for (const checkpoint of checkpoints) {
    const { seq, head, key } = checkpoint;
    if (!isSignedBy(store, run, checkpoint)) return `the signature of the checkpoint at event ${seq} does not hold`;
    if (trusted !== null && key !== trusted)
      return `the checkpoint at event ${seq} is signed with another key, \`${key}\``;
    if (appends.find(({ after, count }) => after + count === seq)?.hash !== head)
      return `event ${seq} differs from its signed checkpoint`;
  }
  const last = appends.at(-1);
  const end = last === undefined ? 0 : last.after + last.count;
  if (trusted === null || entry === null || !hasEnded(entry.status)) return null;
  return checkpoints.at(-1)?.seq === end ? null : `its end, event ${end}, has no signed checkpoint`;
}

export interface SharedAudit {
  readonly ok: boolean;
  /** The number of acts of operators. */
  readonly acts: number;
  readonly broken: string | null;
}

export async function auditShared(shared: Cells): Promise<SharedAudit> {
  const acts = await shared.acts();
  const { head, changed } = await shared.integrity();
  let previous = '';
  for (const [index, act] of acts.entries()) {
    previous = linkAct(previous, act);
    if (previous !== act.link)
      return { ok: false, acts: acts.length, broken: `act ${index + 1} of an operator was changed` };
  }
  const problem = previous === head ? null : 'an act of an operator is missing after the last one';
  const broken = problem ?? (changed.length === 0 ? null : `the shared value \`${changed[0]}\` was changed`);
  return { ok: broken === null, acts: acts.length, broken };
}
