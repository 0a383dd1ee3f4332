/**
 * The deadlock monitor: meters of unit `turns`. It compares the replies that end the turns of agents, outside of the agents
 * themselves. With `cycle`, agents are stuck if a cycle of turns occurred twice in a row with the same replies, or if an agent
 * repeats the first line of one of its last three replies. With `hops`, they are if the chain of changing agents is too long.
 */
import type { Json } from '../expr/json.ts';
import type { EventBody, RecentCall, Stuck } from '../ir/events.ts';
import type { DoNode, Meter, MeterId } from '../ir/nodes.ts';
import { nameOf } from './failure.ts';
import { meterAt, tripped } from './meters.ts';
import type { Tripped } from './meters.ts';
import type { Visit } from './program.ts';

type Suspected = Extract<EventBody, { type: 'deadlock.suspected' }>;

/** Null if no agents are stuck. A meter that only records adds an event and lets the call pass. */
export function stuckBefore(visit: Visit<DoNode>, meters: readonly MeterId[]): Tripped | Suspected | null {
  const { program, state, thread, node } = visit;
  for (const id of meters) {
    const meter = meterAt(program, id);
    const turns = (state.recent[id] ?? []).filter(({ key, ok }) => ok === true && threadOfKey(key) === thread.id);
    const stuck = stuckIn(turns, meter, nameOf(node));
    if (stuck === null) continue;
    if (meter.records === true && stuck.rule !== 'hops')
      return { type: 'deadlock.suspected', thread: thread.id, node: thread.at, meter: id, stuck };
    return { ...tripped(visit, id, meter, 'limit', 0, 1), stuck };
  }
  return null;
}

function stuckIn(turns: readonly RecentCall[], { cycle, hops }: Meter, agent: string): Stuck | null {
  const repeated = cycle === undefined ? null : repeatedIn(turns, cycle);
  if (repeated !== null || hops === undefined) return repeated;
  const names = [...turns.map(({ name }) => name), agent];
  const changes = names.filter((name, index) => index > 0 && name !== names[index - 1]).length;
  return changes > hops ? { rule: 'hops', agents: [...new Set(names)] } : null;
}

function repeatedIn(turns: readonly RecentCall[], cycle: number): Stuck | null {
  for (let size = 2; size <= cycle && 2 * size <= turns.length; size++) {
    const block = turns.slice(-size);
    const before = turns.slice(-2 * size, -size);
    if (block.every((turn, index) => isSame(turn, before[index])) && new Set(block.map(({ name }) => name)).size > 1)
      return { rule: 'cycle', agents: block.map(({ name }) => name) };
  }
  const last = turns.at(-1);
  const own = turns.filter(({ name }) => name === last?.name);
  if (last === undefined || !own.slice(-4, -1).some((turn) => isSame(turn, last))) return null;
  return { rule: 'repeated_reply', agents: [last.name] };
}

function isSame(a: RecentCall, b: RecentCall | undefined): boolean {
  return a.name === b?.name && a.result === b.result;
}

function threadOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('#'));
}

/** The part of a reply that is compared: its first line, or the whole text if the line is short or JSON. */
export function comparedReply(reply: Json): string | null {
  const { text, toolCalls } = (reply ?? {}) as { readonly text?: Json; readonly toolCalls?: Json };
  if (typeof text !== 'string' || (Array.isArray(toolCalls) && toolCalls.length > 0)) return null;
  const whole = text.trim().replaceAll(/\s+/g, ' ');
  const line = text.trim().split('\n', 1)[0]?.trim() ?? '';
  return line.length < SHORT || /^[[{`]/.test(line) ? whole : line;
}
const SHORT = 12;
