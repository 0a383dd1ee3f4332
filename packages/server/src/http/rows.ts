/** A run as lists show it. */
import type { ListedRun } from '@sluice-internal/engine/ports';

/** `content`: the caller may read what was said, such as the message of an error. */
export function rowOf(
  { startedAt, updatedAt, due, owner: _owner, facts, ...entry }: ListedRun,
  content: boolean,
): object {
  const { seq: events = null, error = null, ...known } = facts ?? {};
  const iso = (at: number): string => new Date(at).toISOString();
  return {
    ...entry,
    startedAt: iso(startedAt),
    updatedAt: iso(updatedAt),
    due: due === null ? null : iso(due),
    events,
    ...known,
    error: error === null ? null : { type: error.type, message: content ? error.message : null },
  };
}
