/** Guards of the author. A guard that cannot be evaluated does not hold, and that is an event. */
import type { EventBody, Thread } from '../ir/events.ts';
import type { Expr } from '../ir/nodes.ts';
import { reasonOf } from '../expr/error.ts';
import type { Json } from '../expr/json.ts';
import type { Notes } from '../expr/value.ts';
import type { Program } from './program.ts';

/**
 * Adds an event for a guard that cannot be evaluated, for a text that the guard compared as a number, and for a guard that does not hold
 * because it reads a field of a text, or is a text itself.
 */
export function holds(program: Program, thread: Thread, when: Expr, index: number, events: EventBody[]): boolean {
  const at = { thread: thread.id, node: thread.at, index };
  const notes = noNotes();
  try {
    const value = program.evaluate(when, thread.slots, null, notes);
    if (notes.coerced.length > 0) events.push({ type: 'guard.coerced', ...at, notes: notes.coerced });
    const why = value === true ? null : (notes.unread[0] ?? noCondition(when, value));
    if (why !== null) events.push({ type: 'guard.failed', ...at, message: why });
    return value === true;
  } catch (error) {
    events.push({ type: 'guard.failed', ...at, message: reasonOf(error) });
    return false;
  }
}

export function noNotes(): Notes {
  return { coerced: [], unread: [] };
}

/** Conditions of authors are guards. Null, a missing value, does not hold. */
function noCondition(when: Expr, value: Json): string | null {
  if (!when.startsWith('guard(') || typeof value === 'boolean' || value === null) return null;
  const kind = Array.isArray(value)
    ? 'a list'
    : typeof value === 'object'
      ? 'an object'
      : typeof value === 'string'
        ? 'a text'
        : 'a number';
  return `its value is ${kind}, and not true or false`;
}
