/** Folds forks: a branch begins with a copy of its parent's slots and returns only the slots that the join declares (L12). */
import type { GatherMode } from '../ir/nodes.ts';
import type { Json } from '../expr/json.ts';
import type { EventOf, ForkState, Outcome, RunState, Slots, Thread, UndoEntry } from '../ir/events.ts';
import { resolve } from './slots.ts';
import { READY, branchName, dequeue, enqueue, failedOver, isBelow, moveTo, threadOf, wakeBy } from './state.ts';

export function forked(state: RunState, event: EventOf<'thread.forked'>): void {
  const thread = threadOf(state, event.thread);
  thread.acts += 1;
  const { branches } = event;
  const items = 'heads' in branches ? null : (resolve(branches.each, thread.slots, null) as readonly Json[]);
  const total = 'heads' in branches ? branches.heads.length : branches.count;
  const fork: ForkState = {
    key: event.key,
    node: event.node,
    branches,
    total,
    deadline: event.deadline,
    into: event.into,
    gather: event.gather,
    items,
    started: 0,
    done: 0,
    ok: 0,
    outcomes: Array.from({ length: total }, () => null),
  };
  if (event.exceptPeople === true) fork.exceptPeople = true;
  thread.doing = { is: 'forked', fork };
  wakeBy(state, event.deadline);
  dequeue(state, thread);
  for (let index = 0; index < event.started; index++) startBranch(state, thread, index);
  if (event.started === 0) enqueue(state, thread.id);
}

export function startBranch(state: RunState, parent: Thread, index: number): void {
  if (parent.doing.is !== 'forked') return;
  const { fork } = parent.doing;
  fork.started += 1;
  const { branches, items } = fork;
  const to = 'heads' in branches ? branches.heads[index]?.to : branches.to;
  const slots: Slots =
    'heads' in branches
      ? parent.slots
      : { ...parent.slots, [branches.as]: items?.[index] ?? null, [`${branches.as}_index`]: index };
  const id = `${parent.id}:${parent.acts - 1}.${index}`;
  state.threads.set(id, {
    id,
    parent: parent.id,
    index,
    at: to ?? parent.at,
    acts: 0,
    slots,
    doing: READY,
    undo: [],
  });
  state.queue.add(id);
  dequeueIdle(state, parent);
}

/** A parent that was queued to start a further branch stays queued only while it may start another. */
function dequeueIdle(state: RunState, parent: Thread): void {
  if (parent.doing.is === 'forked' && parent.doing.fork.started >= parent.doing.fork.total) dequeue(state, parent);
}

export function childEnded(state: RunState, child: Thread, outcome: Outcome): void {
  dequeue(state, child);
  state.threads.delete(child.id);
  const parent = state.threads.get(child.parent ?? '0');
  if (parent === undefined || parent.doing.is !== 'forked' || !isBelow(child.id, parent)) return enqueue(state, '0');
  const { fork } = parent.doing;
  const { state: end, code, output, error } = outcome;
  const handed = gatheredSlots(child.slots, parent.slots, fork.gather);
  fork.outcomes[child.index] = { state: end, code, output, error, handed };
  fork.done += 1;
  if (outcome.state === 'completed') {
    fork.ok += 1;
    if (child.undo.length > 0) parent.undo = [...parent.undo, ...child.undo].sort((a, b) => a.order - b.order);
  }
  enqueue(state, parent.id);
}

/** The slots of this branch that the join gathers. */
function gatheredSlots(slots: Slots, before: Slots, gather: ForkState['gather']): Slots {
  if (slots === before) return NOTHING;
  let handed: { [slot: string]: Json } | null = null;
  for (const { slot } of gather) {
    const value = slots[slot];
    if (value !== undefined && !isSame(value, before[slot])) (handed ??= {})[slot] = value;
  }
  return handed ?? NOTHING;
}
const NOTHING: Slots = {};

/** Compares by content, because a state from a snapshot shares no objects. */
function isSame(a: Json, b: Json | undefined): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => isSame(item, b[index]))
    );
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key] as Json, b[key]))
  );
}

export function joined(state: RunState, event: EventOf<'fork.joined'>): void {
  const parent = threadOf(state, event.thread);
  if (parent.doing.is !== 'forked') return;
  const { fork } = parent.doing;
  dropBranches(state, parent);
  parent.slots = { ...gathered(parent.slots, fork), [fork.into]: outcomes(fork) };
  if (event.error === undefined) moveTo(parent, event.to);
  else failedOver(parent, event.error, event.to);
  enqueue(state, parent.id);
}

/** Drops the branches that still run. The completed effects of a dropped branch are undone in a separate thread. */
function dropBranches(state: RunState, parent: Thread): void {
  const left = [...state.threads.values()].filter((thread) => isBelow(thread.id, parent));
  const undo = new Map<string, UndoEntry[]>();
  for (const thread of left) {
    if (thread.doing.is === 'unwinding') continue;
    dequeue(state, thread);
    state.threads.delete(thread.id);
    if (thread.undo.length > 0) undo.set(thread.id, thread.undo);
  }
  for (const [id, entries] of undo) addUnwinding(state, parent, id, entries);
}

/** The thread repeats its work. Another thread first undoes the effects of that work. */
export function rolledBack(state: RunState, { thread: id, undoes }: EventOf<'rollback.started'>): void {
  const thread = threadOf(state, id);
  const keys = new Set(undoes);
  const entries = thread.undo.filter(({ key }) => keys.has(key));
  thread.undo = thread.undo.filter(({ key }) => !keys.has(key));
  addUnwinding(state, thread, `${id}:${thread.acts}.0`, entries);
  thread.acts += 1;
}

function addUnwinding(state: RunState, parent: Thread, id: string, entries: readonly UndoEntry[]): void {
  const outcome: Outcome = { state: 'cancelled', code: 'USER_CANCEL', output: null, error: null };
  state.threads.set(id, {
    id,
    parent: parent.id,
    index: -1,
    at: parent.at,
    acts: 0,
    slots: {},
    doing: { is: 'unwinding', outcome, on: null },
    undo: [...entries].sort((a, b) => a.order - b.order),
  });
  enqueue(state, id);
}

function gathered(slots: Slots, fork: ForkState): Slots {
  const given = new Map<string, Json[]>();
  for (const outcome of fork.outcomes) {
    if (outcome === null) continue;
    for (const slot in outcome.handed) {
      const value = outcome.handed[slot] as Json;
      const list = given.get(slot);
      if (list === undefined) given.set(slot, [value]);
      else list.push(value);
    }
  }
  const next: { [slot: string]: Json } = { ...slots };
  for (const { slot, mode } of fork.gather) {
    const values = given.get(slot);
    if (values !== undefined) next[slot] = merged(mode, slots[slot] ?? null, values);
  }
  return next;
}

function merged(mode: GatherMode, before: Json, given: readonly Json[]): Json {
  switch (mode) {
    case 'first':
      return given[0] as Json;
    case 'last':
      return given[given.length - 1] as Json;
    case 'any':
      return before === true || given.includes(true);
    case 'merge':
      return Object.assign({}, before, ...given) as Json;
    case 'concat':
      return concat(before, given);
  }
}

/** Each branch began with the parent's list and added to it; the additions follow each other in branch order. */
function concat(before: Json, given: readonly Json[]): Json {
  const front = Array.isArray(before) ? before : [];
  return [...front, ...given.flatMap((list) => (Array.isArray(list) ? list.slice(front.length) : []))];
}

function outcomes(fork: ForkState): Json {
  return fork.outcomes.map((outcome, index) => ({
    name: branchName(fork, index),
    state: outcome?.state ?? 'cancelled',
    code: outcome?.code ?? null,
    output: outcome?.output ?? null,
    error: outcome?.error === undefined || outcome.error === null ? null : { ...outcome.error },
  }));
}
