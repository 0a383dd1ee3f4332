/** The events of a run as they stand in its forks, and the run that it was moved to. */
import type { Event, Origin, RunId } from '@sluice-internal/kernel/ir';

export interface ForkedRun {
  readonly run: RunId;
  readonly flow: string;
  readonly origin: Origin;
}

/** The ids of questions contain the id of their run. */
export function inFork(event: Event, from: RunId, { run, flow, origin }: ForkedRun): Event {
  if (event.type === 'run.started') return { ...event, run, flow, origin };
  if (event.type !== 'effect.requested' || event.question === undefined) return event;
  const { id } = event.question;
  return { ...event, question: { ...event.question, id: `a_${run}${id.slice(2 + from.length)}` } };
}

/** The run that continues a run which was moved to another version of its flow. Null if it was not moved. */
export function movedTo(events: readonly Event[]): RunId | null {
  const halted = events.find((event) => event.type === 'run.halted');
  return halted?.type === 'run.halted' ? (halted.movedTo ?? null) : null;
}
