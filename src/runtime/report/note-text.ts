/** The decision of a shared protection in words. */
import type { ProtectionNote } from '../../ir/events.ts';

export function noteText(note: ProtectionNote): string {
  if (note.type === 'retry.denied') return `the retry budget is used up: the call was not repeated`;
  const cause = note.cause.replaceAll('_', ' ');
  if (note.type === 'breaker.denied')
    return `circuit breaker ${note.breaker} is open (${cause}): the call was not made`;
  return `circuit breaker ${note.breaker}: ${note.from} to ${note.to} (${cause})`;
}
