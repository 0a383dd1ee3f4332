/** Which authored nodes a run entered. */
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import type { Program } from '@sluice-internal/kernel/core';
import { nameAt } from './authored.ts';

/** The authored nodes in the order in which they were entered. A turn that the deadlock monitor stopped was not made. */
export function pathOf(program: Program, events: readonly Event[]): string[] {
  const path: { readonly name: string; readonly thread: string | null }[] = [];
  const stopped = new Map<string, (typeof path)[number]>();
  for (const event of events) {
    const entered = enteredBy(program.flow, event);
    const thread = 'thread' in event ? event.thread : null;
    if (entered !== undefined) path.push({ name: entered, thread });
    if (event.type === 'effect.requested') {
      const resumed = stopped.get(event.node);
      if (resumed !== undefined && stopped.delete(event.node)) path.push(resumed);
    }
    if (event.type !== 'meter.tripped' || event.stuck === undefined) continue;
    const last = path.findLastIndex((each) => each.thread === thread);
    const [turn] = path[last]?.name === nameAt(program.flow, event.node) ? path.splice(last, 1) : [];
    if (turn !== undefined) stopped.set(event.node, turn);
  }
  return path.map(({ name }) => name);
}

/** The authored node that a run enters with this event. */
export function enteredBy(flow: CompiledFlow, event: Event): string | undefined {
  const id = actedBy(flow, event);
  const node = id === undefined ? undefined : flow.nodes[id];
  // The commit of a call's result is not a second entry.
  if (node?.label.enters === undefined || (event.type === 'slots.written' && node.op !== 'let')) return undefined;
  const { enters, entersBy } = node.label;
  return entersBy === undefined ? enters : `${enters}/${writtenText(event, entersBy)}`;
}

/** The text that a node wrote to a slot. It is computed, so the event has the value itself. */
function writtenText(event: Event, slot: string): string {
  const from = event.type === 'slots.written' ? event.writes.find((write) => write.slot === slot)?.from : undefined;
  return from !== undefined && 'value' in from ? String(from.value) : '';
}

/** The node that an event shows as entered. */
function actedBy(flow: CompiledFlow, event: Event): string | undefined {
  switch (event.type) {
    case 'effect.requested':
      return isWalking(flow, event) ? undefined : event.node;
    case 'call.judged':
      return event.of === undefined && event.again !== true ? event.node : undefined;
    case 'route.picked':
    case 'thread.forked':
    case 'slots.written':
    case 'expression.failed':
    case 'thread.ended':
    case 'undo.started':
    case 'run.ended':
      return event.node;
    default:
      return undefined;
  }
}

/** A call with controls is entered with the first of its checks, or with their verdicts. */
function isWalking({ nodes }: CompiledFlow, event: Extract<Event, { type: 'effect.requested' }>): boolean {
  const node = nodes[event.node];
  if (node?.op !== 'do' || node.controls === undefined) return false;
  return event.control === undefined || event.kind === 'ask' || event.again === true;
}
