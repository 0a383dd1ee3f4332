/** Sentences for trouble in a run: joins that were not met, and decisions of shared protections. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Event, FlowBody, ForkNode, NodeId, ProtectionNote, RunState } from '@sluice-internal/kernel/ir';

type Joined = Extract<Event, { readonly type: 'fork.joined' }>;

/** `state` is the one after the event, and `fork` is the node that started the branches. */
export function joinText(
  flow: FlowBody,
  state: RunState | null,
  { thread, why, error }: Joined,
  fork: NodeId | undefined,
): string {
  const node = forkAt(flow, fork);
  // A sub-flow, or an attempt with a timeout, is a fork with one branch.
  const [only, second] = node !== null && 'heads' in node.over ? node.over.heads : [];
  const isOne = only !== undefined && second === undefined;
  if (why === 'late') return isOne ? 'it did not finish in time' : 'the branches did not finish in time';
  if (isOne && error !== undefined) return withoutName(error.message, only.name);
  if (node === null || !('each' in node.over)) return 'too few branches succeeded';
  // The flow may go on without the failed items, so the text gives their number and no verdict.
  const outcomes = state?.threads.get(thread)?.slots[node.into];
  const items = (Array.isArray(outcomes) ? outcomes : []) as readonly { readonly [field: string]: Json }[];
  // An agent with one tool call has a fork over one item.
  if (items.length === 1 && error !== undefined) return withoutName(error.message, '0');
  return `${items.filter(({ state: end }) => end === 'failed').length} of ${items.length} items failed`;
}

/** A fork that waits for all items even if some fail goes on without those. */
export function failsNode(flow: FlowBody, { why, met }: Joined, fork: NodeId | undefined): boolean {
  const node = forkAt(flow, fork);
  const goesOn = node !== null && 'each' in node.over && !node.eager && why === 'short';
  return !met && !goesOn;
}

/** The error of a join puts the names of the branches in front of their errors. */
function withoutName(message: string, branch: string): string {
  return message.startsWith(`${branch}: `) ? message.slice(branch.length + 2) : message;
}

function forkAt(flow: FlowBody, id: NodeId | undefined): ForkNode | null {
  const node = flow.nodes[id ?? ''];
  return node?.op === 'fork' ? node : null;
}

export function noteText(note: ProtectionNote): string {
  if (note.type === 'retry.denied') return `the retry budget is used up: the call was not repeated`;
  const cause = note.cause.replaceAll('_', ' ');
  if (note.type === 'breaker.denied')
    return `circuit breaker ${note.breaker} is open (${cause}): the call was not made`;
  return `circuit breaker ${note.breaker}: ${note.from} to ${note.to} (${cause})`;
}
