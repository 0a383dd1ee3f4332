/** A run as lists show it. */
import type { ListedRun } from '@sluice-internal/engine/ports';

export function rowOf({ startedAt, updatedAt, due, owner: _owner, facts, ...entry }: ListedRun): object {
  const { seq: events = null, ...known } = facts ?? {};
  const iso = (at: number): string => new Date(at).toISOString();
  return {
    ...entry,
    startedAt: iso(startedAt),
    updatedAt: iso(updatedAt),
    due: due === null ? null : iso(due),
    events,
    ...known,
  };
}
