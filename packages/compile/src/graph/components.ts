/**
 * Strongly connected components in linear time and constant stack, however long the chains are. They come in reverse
 * topological order: every component after all that it leads to.
 */
export interface Component<Id> {
  readonly members: readonly Id[];
  /** True if a path leads from a member back to it. */
  readonly cyclic: boolean;
}

export function componentsOf<Id>(ids: Iterable<Id>, successors: (id: Id) => readonly Id[]): readonly Component<Id>[] {
  const index = new Map<Id, number>();
  const low = new Map<Id, number>();
  const stack: Id[] = [];
  const onStack = new Set<Id>();
  const found: Component<Id>[] = [];
  const calls: { readonly id: Id; readonly next: readonly Id[]; at: number }[] = [];

  const enter = (id: Id): void => {
    index.set(id, index.size);
    low.set(id, index.size - 1);
    stack.push(id);
    onStack.add(id);
    calls.push({ id, next: successors(id), at: 0 });
  };
  const lower = (id: Id, to: number): void => {
    if (to < (low.get(id) ?? to)) low.set(id, to);
  };
  const leave = (id: Id): void => {
    if (low.get(id) !== index.get(id)) return;
    const members: Id[] = [];
    for (let member = stack.pop(); member !== undefined; member = stack.pop()) {
      onStack.delete(member);
      members.push(member);
      if (member === id) break;
    }
    found.push({ members, cyclic: members.length > 1 || successors(id).includes(id) });
  };

  for (const root of ids) {
    if (index.has(root)) continue;
    enter(root);
    for (let call = calls.at(-1); call !== undefined; call = calls.at(-1)) {
      const next = call.next[call.at];
      call.at += 1;
      if (next !== undefined) {
        if (!index.has(next)) enter(next);
        else if (onStack.has(next)) lower(call.id, index.get(next) ?? 0);
        continue;
      }
      calls.pop();
      const caller = calls.at(-1);
      if (caller !== undefined) lower(caller.id, low.get(call.id) ?? 0);
      leave(call.id);
    }
  }
  return found;
}

/** The members of each cycle, or of cycles that share members. */
export function cyclesIn<Id>(ids: Iterable<Id>, successors: (id: Id) => readonly Id[]): readonly (readonly Id[])[] {
  return componentsOf(ids, successors).flatMap(({ members, cyclic }) => (cyclic ? [members.toReversed()] : []));
}

/** Everything that can be reached from the roots, the roots included. */
export function reachableFrom<Id>(roots: Iterable<Id>, successors: (id: Id) => readonly Id[]): Set<Id> {
  const reached = new Set<Id>(roots);
  const waiting = [...reached];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const next of successors(id)) {
      if (reached.has(next)) continue;
      reached.add(next);
      waiting.push(next);
    }
  }
  return reached;
}

/**
 * The reverse postorder of a depth-first walk: every node before the nodes that it leads to, except over edges that lead back.
 * Without recursion, so that a long chain does not exhaust the stack.
 */
export function forwardOrder<Id>(ids: Iterable<Id>, successors: (id: Id) => readonly Id[]): readonly Id[] {
  const seen = new Set<Id>();
  const done: Id[] = [];
  for (const root of ids) {
    if (seen.has(root)) continue;
    seen.add(root);
    const walk = [{ id: root, next: successors(root).values() }];
    for (let top = walk.at(-1); top !== undefined; top = walk.at(-1)) {
      const { value: to, done: isOver } = top.next.next();
      if (isOver === true) {
        done.push(top.id);
        walk.pop();
      } else if (!seen.has(to)) {
        seen.add(to);
        walk.push({ id: to, next: successors(to).values() });
      }
    }
  }
  return done.reverse();
}
