/**
 * Audits the data that the chain of a run does not cover: its entry in the index, its snapshot, and the tombstones of removed runs.
 * The entry must agree with the events. This also finds events that are missing at the end, which break no link.
 */
import { statusOf } from '@sluice-internal/kernel/core';
import { hasEnded } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event, Origin, RunState } from '@sluice-internal/kernel/ir';
import { entryOf } from './entry.ts';
import { eachOf } from '../ports/page.ts';
import type { Index, RunEntry, Snapshot, StoredAppend, StoredRun } from '../ports/ports.ts';
import { linkTombstone } from './chain.ts';
import { snapshotHashIn } from './codec.ts';
import { hashSnapshot } from './snapshot.ts';
import { storedProgram } from './stored-graph.ts';

export interface Broken {
  readonly seq: number;
  readonly last: number;
  readonly message: string;
}

/** The state after the last event, and that event. */
export interface Folded {
  readonly state: RunState | null;
  readonly ending: Event | undefined;
}

export function brokenEntry({ flow, appends }: StoredRun, entry: RunEntry, { state, ending }: Folded): Broken | null {
  const last = appends.at(-1);
  if (last === undefined)
    return { seq: 1, last: 1, message: 'event 1 is missing; the journal has no events of this run' };
  const seq = last.after + last.count;
  const wrong = wrongEnd(entry, ending) ?? wrongField(entry, storedProgram(flow).flow, appends, state);
  return wrong === null ? null : { seq, last: seq, message: `event ${seq}: ${wrong}` };
}

/** A snapshot whose append does not cover it is never used, so only a covered one can be broken. */
export function brokenSnapshot(snapshot: Snapshot | null, appends: readonly StoredAppend[]): Broken | null {
  if (snapshot === null) return null;
  const { seq, body } = snapshot;
  const covered = snapshotHashIn(appends.find(({ after, count }) => after + count === seq)?.body ?? '');
  if (covered === null || covered === hashSnapshot(body)) return null;
  return { seq, last: seq, message: `event ${seq}: the snapshot after it was changed` };
}

export interface TombstoneAudit {
  readonly ok: boolean;
  /** The number of removed runs. */
  readonly removed: number;
  /** The first removed run whose tombstone was changed, or null. */
  readonly broken: string | null;
}

export async function auditTombstones(index: Index): Promise<TombstoneAudit> {
  let previous = '';
  let removed = 0;
  let broken: string | null = null;
  for await (const tombstone of eachOf((page) => index.tombstones(page))) {
    removed += 1;
    if (linkTombstone(previous, tombstone) !== tombstone.link)
      broken ??= `the tombstone of run \`${tombstone.run}\` was changed`;
    previous = tombstone.link;
  }
  const { head } = await index.tombstones({ limit: 1 });
  if (previous !== head) broken ??= 'a tombstone is missing after the last one';
  return { ok: broken === null, removed, broken };
}

function wrongEnd({ status, code }: RunEntry, ending: Event | undefined): string | null {
  const found = ending?.type === 'run.ended' ? `${ending.state} ${ending.code}` : 'unfinished';
  const listed = hasEnded(status) ? `${status} ${code}` : 'unfinished';
  if (found === listed) return null;
  return `the run is listed as ${hasEnded(status) ? listed : status}, but its events end ${found}`;
}

type Field = readonly [name: string, listed: unknown, allowed: readonly unknown[]];

function ownerFields(entry: RunEntry, { tenant, user, parent }: Origin): readonly Field[] {
  return [
    ['tenant', entry.tenant, [tenant ?? null]],
    ['user', entry.user, [user ?? null]],
    ['parent', entry.parent, [parent?.run ?? null]],
  ];
}

/** A fork starts with its own first append. The copied ones have the times of its parent. */
function startOf(appends: readonly Times[], state: RunState | null): number | undefined {
  const copied = state?.origin.parent?.seq ?? 0;
  return appends.find(({ after }) => after >= copied)?.at;
}

type Times = Pick<StoredAppend, 'after' | 'at'>;

/**
 * The listing of a working run has the time of its last wake-up, so that time need only be the time of one of its appends.
 * The fields in `unknown` are not compared.
 */
export function wrongField(
  entry: RunEntry,
  flow: CompiledFlow,
  appends: readonly Times[],
  state: RunState | null,
  unknown: readonly string[] = [],
): string | null {
  const expected = state === null ? null : entryOf(state);
  const isRunning = state !== null && statusOf(state) === 'running';
  const isUpdate = isRunning && appends.some(({ at }) => at === entry.updatedAt);
  const fields: readonly Field[] = [
    ['flow', entry.flow, [flow.id]],
    ['hash', entry.hash, [flow.hash]],
    ['notation', entry.notation, [flow.notation]],
    ['start', entry.startedAt, [startOf(appends, state)]],
    ...ownerFields(entry, state?.origin ?? {}),
    ['last change', entry.updatedAt, [isUpdate ? entry.updatedAt : appends.at(-1)?.at]],
    ['status', entry.status, [expected?.status]],
    ...(isRunning
      ? []
      : [['deadline', entry.due, [expected?.due]] as const, ['code', entry.code, [expected?.code]] as const]),
  ];
  const wrong = fields.find(([name, listed, allowed]) => !unknown.includes(name) && !allowed.includes(listed));
  if (wrong === undefined) return null;
  const [name, listed, allowed] = wrong;
  return `the ${name} of the run is listed as \`${String(listed)}\`, but its events say \`${String(allowed.at(-1))}\``;
}
