/** Adds to the events of a run the parts that are not in its journal: ids, allowed calls, totals and streamed text. */
import type { Program } from '@sluice-internal/kernel/core';
import { DIMENSION_ROWS, shownAmount } from '@sluice-internal/kernel/ir';
import type { Amounts, Event } from '@sluice-internal/kernel/ir';
import type { Delta } from '../ports/types.ts';
import { createNarrator, storyLog } from './narrate.ts';
import type { InNode, RunEvent, Used } from './run-events.ts';

type Draft = RunEvent extends infer Each ? (Each extends RunEvent ? Omit<Each, 'id'> : never) : never;

/** Turns journal events, given in order from the first one, and streamed text into public events. */
export function createPublicEvents(program: Program): (event: Event | Delta) => readonly RunEvent[] {
  const log = storyLog(program);
  const narrate = createNarrator(program, log);
  const totals: Totals = {};
  let last: Pick<InNode, 'seq' | 'at'> = { seq: 0, at: 0 };
  let streamed = 0;
  return (event) => {
    if (event.type === 'reply.streamed') {
      const { key, agent, text, part = 'text' } = event;
      const { node = agent, thread: branch = '0' } = log.calls.get(key) ?? {};
      // Text has no place in the journal. Its id is after the events of the last journal event.
      return [
        { type: `model.${part}`, id: `${last.seq}.${STREAMED + streamed++}`, ...last, node, branch, agent, text },
      ];
    }
    last = { seq: event.seq, at: event.at };
    streamed = 0;
    const drafts: Draft[] = narrate(event).flatMap((each): Draft[] =>
      each.type === 'tool.started' ? [{ ...each, type: 'tool.allowed' } as const, each] : [each],
    );
    const used = event.type === 'effect.settled' ? changedBy(event, totals) : null;
    const call = 'key' in event ? log.calls.get(event.key) : undefined;
    if (used !== null && call !== undefined && call.kind !== 'undo')
      drafts.push({ type: 'budget.changed', ...last, node: call.node, branch: call.thread, used });
    return drafts.map((each, index) => ({ ...each, id: `${event.seq}.${index}` }));
  };
}

const STREAMED = 1000;
type Totals = { -readonly [dimension in keyof Amounts]: number };

function changedBy({ result }: Extract<Event, { readonly type: 'effect.settled' }>, totals: Totals): Used | null {
  const amounts = Object.entries(result.used ?? {}) as [keyof Amounts, number][];
  if (amounts.length === 0) return null;
  for (const [dimension, amount] of amounts) totals[dimension] = (totals[dimension] ?? 0) + amount;
  const used = DIMENSION_ROWS.flatMap(({ name, measure }) =>
    totals[name] === undefined ? [] : [[measure, shownAmount(name, totals[name])] as const],
  );
  return Object.fromEntries(used);
}
