/** Guards of the author. A guard that cannot be evaluated does not hold, and that is an event. */
import type { EventBody, Thread } from '../ir/events.ts';
import type { Expr } from '../ir/nodes.ts';
import { reasonOf } from '../expr/error.ts';
import type { Program } from './program.ts';

/** Adds an event for a guard that cannot be evaluated, and for a text that the guard compared as a number. */
export function holds(program: Program, thread: Thread, when: Expr, index: number, events: EventBody[]): boolean {
  const at = { thread: thread.id, node: thread.at, index };
  const notes: string[] = [];
  try {
    const result = program.evaluate(when, thread.slots, null, notes) === true;
    if (notes.length > 0) events.push({ type: 'guard.coerced', ...at, notes });
    return result;
  } catch (error) {
    events.push({ type: 'guard.failed', ...at, message: reasonOf(error) });
    return false;
  }
}
