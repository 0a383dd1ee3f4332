/**
 * Verifies memory against the journals: each entry must equal the one that the gate of its run wrote, and an entry that the gate
 * quarantined is active only after an act of an operator.
 */
import { isRecord, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Event, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { entryHash } from '../ports/memory.ts';
import type { MemoryEntry, MemoryStore } from '../ports/memory.ts';
import type { Store } from '../ports/ports.ts';
import { readRun } from './open-run.ts';

export interface MemoryAudit {
  readonly ok: boolean;
  readonly entries: number;
  readonly broken: string | null;
}

/** The key of operators' acts on memory entries begins with this. */
export const MEMORY_ACTS = 'memory/';
export const MEMORY_RELEASED = 'memory.released';

export async function auditMemory(store: Store, memory: MemoryStore, tenant: string | undefined): Promise<MemoryAudit> {
  const entries = await memory.find({ operator: 'audit', ...present({ tenant }) }, { now: 0 });
  const acts = await store.shared.acts();
  const released = new Set(acts.filter(({ what }) => what === MEMORY_RELEASED).map(({ key }) => key));
  for (const entry of entries) {
    if ((await store.index.removed(entry.run)) !== null) continue;
    const problem = await problemOf(store, entry, released.has(`${MEMORY_ACTS}${entry.id}`));
    if (problem !== null)
      return { ok: false, entries: entries.length, broken: `memory entry \`${entry.id}\` ${problem}` };
  }
  return { ok: true, entries: entries.length, broken: null };
}

async function problemOf(store: Store, entry: MemoryEntry, isReleased: boolean): Promise<string | null> {
  const run = await store.index.find(entry.run);
  if (run === null) return `names run \`${entry.run}\`, which does not exist`;
  const events = await eventsOf(store, entry.run);
  if (events === null) return `comes from run \`${entry.run}\`, which cannot be read`;
  const written = events.flatMap((event) =>
    event.type === 'effect.settled' && event.result.ok ? writeOf(event.result.value, entry.id) : [],
  )[0];
  // A process that was killed after the write has not recorded it yet.
  if (written === undefined) return run.code === null ? null : `was not written by run \`${entry.run}\``;
  if (written['hash'] !== entryHash(entry)) return 'was changed';
  if (written['state'] === 'quarantined' && entry.state === 'active' && !isReleased)
    return 'is active, and no operator has released it';
  return null;
}

/** Null for a damaged run, which is a finding of its own. */
async function eventsOf({ journal }: Store, run: RunId): Promise<readonly Event[] | null> {
  try {
    return (await readRun(journal, run)).events;
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
}

function writeOf(value: Json, id: string): readonly { readonly [field: string]: Json }[] {
  const isWrite = isRecord(value) && value['entry'] === id;
  return isWrite ? [value] : [];
}
