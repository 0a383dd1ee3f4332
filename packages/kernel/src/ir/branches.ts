/** Values by branch. The id of a branch begins with the id of the branch that it was forked from: `0:3.1`. */
import type { ThreadId } from './events.ts';

/** The value of a branch, or of the nearest branch above it that has one. */
export function inherited<Value>(of: ReadonlyMap<ThreadId, Value>, branch: ThreadId): Value | undefined {
  for (let id = branch; ; id = id.slice(0, id.lastIndexOf(':'))) {
    const value = of.get(id);
    if (value !== undefined || !id.includes(':')) return value;
  }
}
