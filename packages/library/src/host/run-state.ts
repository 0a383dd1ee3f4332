/** A run as it was after one of its events: its view, and the values that it had. */
import { evolve } from '@sluice-internal/kernel/core';
import { canonical, type Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Event, RunState as CoreState, ThreadId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import { authoredNames, nameAt } from '@sluice-internal/engine/report';
import { foldEvents, startOfView } from '@sluice-internal/wire';
import type { RunView } from '@sluice-internal/wire';
import { hash } from 'node:crypto';
import type { Story } from './stories.ts';

/**
 * A value of a run. A value of more than 2 KB is given by its hash, its size and its beginning.
 * @example
 * const shown = (value: SlotValue) => ('value' in value ? value.value : `${value.head}… (${value.bytes} bytes)`);
 */
export type SlotValue = { readonly writtenBy: string | null; readonly seq: number } & (
  | { readonly value: Json }
  | { readonly ref: string; readonly bytes: number; readonly head: string }
);

/**
 * A run after one of its events. `bars` has only what was open then.
 * @example
 * const { nodes, slots }: RunAt = await engine.state(run.id, { at: 12 });
 */
export interface RunAt extends RunView {
  readonly run: string;
  /** The last event of the run. */
  readonly last: number;
  /** The values by name, of the main line. Values of other branches that were open are under `branches`. */
  readonly slots: { readonly [name: string]: SlotValue };
  readonly branches: { readonly [branch: ThreadId]: { readonly [name: string]: SlotValue } };
}

export function stateAt(story: Story, given: number | undefined): RunAt {
  const { run, program, events } = story.opened;
  const last = story.seq;
  const at = given ?? last;
  if (!Number.isInteger(at) || at < 1 || at > last)
    throw new SluiceError('event-not-found', `run \`${run}\` has no event ${at}`, `It has the events 1 to ${last}.`);
  const told = Array.from({ length: at }, (_, index) => story.at(index + 1)).flat();
  const view = foldEvents(told, startOfView(authoredNames(program.flow)));
  const { slots, branches } = valuesAt(program.flow, events.slice(0, at));
  const bars = view.bars.filter(({ endedAt }) => endedAt === null);
  return { run, ...view, seq: at, at: events[at - 1]?.at ?? 0, last, bars, slots, branches };
}

const INLINE_BYTES = 2048;
const HEAD = 200;
const MAIN: ThreadId = '0';

function valuesAt(flow: CompiledFlow, events: readonly Event[]): Pick<RunAt, 'slots' | 'branches'> {
  let state: CoreState | null = null;
  const written = new Map<string, { readonly writtenBy: string; readonly seq: number }>();
  for (const event of events) {
    state = evolve(state, event);
    if (event.type !== 'slots.written') continue;
    const by = { writtenBy: nameAt(flow, event.node), seq: event.seq };
    for (const { slot } of event.writes) written.set(`${event.thread} ${slot}`, by);
  }
  const shown = (thread: ThreadId): { readonly [name: string]: SlotValue } =>
    Object.fromEntries(
      Object.entries(state?.threads.get(thread)?.slots ?? {})
        // Other names belong to the engine itself.
        .filter(([name]) => !name.startsWith('_'))
        .map(([name, value]) => [
          name,
          { ...(written.get(`${thread} ${name}`) ?? { writtenBy: null, seq: 1 }), ...shortened(value) },
        ]),
    );
  const open = [...(state?.threads.keys() ?? [])].filter((thread) => thread !== MAIN);
  return { slots: shown(MAIN), branches: Object.fromEntries(open.map((thread) => [thread, shown(thread)])) };
}

function shortened(value: Json): { readonly value: Json } | { ref: string; bytes: number; head: string } {
  const text = canonical(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= INLINE_BYTES) return { value };
  return { ref: `sha256:${hash('sha256', text, 'base64url')}`, bytes, head: text.slice(0, HEAD) };
}
