/** The events of a run as they stand in its forks. */
import type { Event, Origin, RunId } from '../../ir/events.ts';

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
