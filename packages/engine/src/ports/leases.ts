/**
 * The claim policy of every store. A worker holds one lease for all its runs. A run changes its owner only when it has none,
 * or when the lease of its owner has ended. A store reads its own rows, calls these functions, and writes their decision in
 * the same transaction. A worker that lost a run to another is fenced: it can never write, claim or renew again.
 */
import { hasEnded } from '@sluice-internal/kernel/ir';
import type { Instant, RunStatus } from '@sluice-internal/kernel/ir';
import { isDeadProcess } from './process-owner.ts';

/** `Id` identifies a worker in a store: its name, or the number of its row. Times are milliseconds of the store's `elapsed`. */
export interface WorkerLease<Id> {
  readonly id: Id;
  readonly until: number;
  readonly term: number;
  readonly fenced: boolean;
  /** From `thisProcess()`; null if it is not known. */
  readonly process: string | null;
}

/** The time for which ended workers are kept, so that a suspended process learns that it lost its lease. */
export const KEEP_GONE_WORKERS_MS = 7 * 24 * 3600 * 1000;

/** A lease that ended can be renewed as long as no other worker has taken a run from it. */
export function renewalOf(lease: WorkerLease<unknown> | undefined): 'join' | 'renew' | 'refuse' {
  if (lease === undefined) return 'join';
  return lease.fenced ? 'refuse' : 'renew';
}

/** A lease that ends later than a whole term from now was given before a restart of the machine set `elapsed` back. */
function isLive({ until, term }: WorkerLease<unknown>, elapsed: number): boolean {
  return elapsed < until && until <= elapsed + term;
}

export interface ClaimPlan<Id> {
  /** Workers whose process has died. Fence them, even if they own no run that is claimed now. */
  readonly fence: readonly Id[];
  /** Runs of these workers may be claimed, as may runs without an owner. Fence each one that loses a run. */
  readonly gone: readonly Id[];
}

/** Null if the worker may not claim runs: it has no lease, or its lease has ended. */
export function planClaim<Id>(leases: readonly WorkerLease<Id>[], claimant: Id, elapsed: number): ClaimPlan<Id> | null {
  const own = leases.find(({ id }) => id === claimant);
  if (own === undefined || own.fenced || !isLive(own, elapsed)) return null;
  const fence: Id[] = [];
  const gone: Id[] = [];
  for (const lease of leases) {
    const { id, fenced, process } = lease;
    if (id === claimant) continue;
    const holds = !fenced && isLive(lease, elapsed);
    const died = holds && process !== null && isDeadProcess(process);
    if (died) fence.push(id);
    if (died || !holds) gone.push(id);
  }
  return { fence, gone };
}

/** A claim by name takes any run. A claim without a name takes only runs that need work. */
export function needsWork(run: { status: RunStatus; due: Instant | null }, hasMail: boolean, now: Instant): boolean {
  if (hasMail || run.status === 'pending' || run.status === 'running') return true;
  return run.status === 'suspended' && run.due !== null && run.due <= now;
}

/** A suspended run has no owner. The append that wakes it makes its worker the owner. */
export function mayAppend<Id>(run: { owner: Id | null; status: RunStatus }, worker: Id): boolean {
  return run.owner === worker || (run.owner === null && run.status === 'suspended');
}

/** An append that suspends or ends a run also releases it. */
export function ownerAfter<Id>(status: RunStatus, worker: Id): Id | null {
  return status === 'suspended' || hasEnded(status) ? null : worker;
}
