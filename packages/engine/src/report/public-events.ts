/** Adds to the events of a run the parts that are not in its story: ids, allowed calls, amounts and streamed text. */
import type { Program } from '@sluice-internal/kernel/core';
import { DIMENSION_ROWS, budgetMeter, measuredAmount, shownAmount } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Dimension, Event, MeterId, RunState } from '@sluice-internal/kernel/ir';
import type { InNode, RunEvent, Used } from '@sluice-internal/wire';
import type { Delta } from '../ports/types.ts';
import { createNarrator, storyLog } from './narrate.ts';

type Draft = RunEvent extends infer Each ? (Each extends RunEvent ? Omit<Each, 'id'> : never) : never;

/** Turns journal events, given in order from the first one, and streamed text into public events. */
export function createPublicEvents(program: Program): (event: Event | Delta) => readonly RunEvent[] {
  const log = storyLog(program);
  const narrate = createNarrator(program, log);
  const amounts = amountsOf(program.flow);
  let shown = '';
  let last: Pick<InNode, 'seq' | 'at'> = { seq: 0, at: 0 };
  let streamed = 0;
  return (event) => {
    if (event.type === 'reply.streamed') {
      const { key: call, agent, text, part = 'text', from = 0 } = event;
      const { node = agent, thread: branch = '0' } = log.calls.get(call) ?? {};
      // Text has no place in the journal. Its id is after the events of the last journal event.
      const id = `${last.seq}.${STREAMED + streamed++}` as const;
      const piece = { id, ...last, node, branch, agent, text, call };
      return [part === 'text' ? { type: 'model.text', ...piece, from } : { type: `model.${part}`, ...piece }];
    }
    last = { seq: event.seq, at: event.at };
    streamed = 0;
    const drafts: Draft[] = narrate(event).flatMap((each): Draft[] => {
      if (each.type !== 'tool.started' || each.attempt > 1) return [each];
      const { attempt: _, ...allowed } = each;
      return [{ ...allowed, type: 'tool.allowed' } as const, each];
    });
    const call = 'key' in event ? log.calls.get(event.key) : undefined;
    if (call !== undefined && call.question === null && log.state !== null) {
      const now = amounts(log.state);
      const text = JSON.stringify(now);
      const { node } = call.undoes === null ? call : (log.calls.get(call.undoes) ?? call);
      if (text !== shown) drafts.push({ type: 'budget.changed', ...last, node, branch: call.thread, ...now });
      shown = text;
    }
    return drafts.map((each, index) => ({ ...each, id: `${event.seq}.${index}` }));
  };
}

const STREAMED = 1000;

type Amounts = { readonly used: Used; readonly held: Used; readonly limit: Used };

const isSome = (amount: number): boolean => amount > 0;

/** What a run has used, what it holds for open calls, and the budgets of the document, by dimension. */
function amountsOf(flow: CompiledFlow): (state: RunState) => Amounts {
  const meterOf = (name: Dimension): MeterId | undefined => {
    const id = budgetMeter(name);
    return flow.meters[id] === undefined ? undefined : id;
  };
  const meters = new Map(DIMENSION_ROWS.map(({ name }) => [name, meterOf(name)]));
  return ({ spent, reserved, raised = {}, usage }) => {
    const table = (amount: (name: Dimension) => number | null | undefined, isShown: (value: number) => boolean): Used =>
      Object.fromEntries(
        DIMENSION_ROWS.flatMap(({ name, measure }) => {
          const value = amount(name);
          return value === null || value === undefined || !isShown(value) ? [] : [[measure, shownAmount(name, value)]];
        }),
      );
    const of = (amounts: { readonly [meter: MeterId]: number }, name: Dimension): number | undefined =>
      amounts[meters.get(name) ?? ''];
    const limit = (name: Dimension): number | null => {
      const most = flow.meters[meters.get(name) ?? '']?.max ?? null;
      return most === null ? null : most + (of(raised, name) ?? 0);
    };
    return {
      used: table((name) => of(spent, name) ?? measuredAmount(usage, name), isSome),
      held: table((name) => of(reserved, name), isSome),
      limit: table(limit, () => true),
    };
  };
}
