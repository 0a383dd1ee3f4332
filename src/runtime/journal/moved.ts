/** The run that continues a run which was moved to another version of its flow. */
import type { Event, RunId } from '../../ir/events.ts';

/** Null if the run was not moved. */
export function movedTo(events: readonly Event[]): RunId | null {
  const halted = events.find((event) => event.type === 'run.halted');
  return halted?.type === 'run.halted' ? (halted.movedTo ?? null) : null;
}
