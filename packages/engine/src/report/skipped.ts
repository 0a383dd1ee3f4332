/** Nodes that a run skipped: branches and steps whose condition was false, and nodes on other paths. */
import { authorOf } from '@sluice-internal/kernel/core';
import type { CompiledFlow, Event, Node } from '@sluice-internal/kernel/ir';

export interface Skipped {
  readonly names: readonly string[];
  readonly reason: 'condition' | 'path';
}

/**
 * The authored nodes that this event decides not to enter. `current` is the node that the branch is in. `mentioned` has the
 * nodes that were entered or skipped; the skipped ones are added.
 */
export function skippedBy(
  flow: CompiledFlow,
  event: Event,
  current: string | undefined,
  mentioned: Set<string>,
): Skipped {
  const isOver = event.type === 'run.ended' && event.state === 'completed';
  const names = isOver ? neverEntered(flow, mentioned) : conditionsOf(flow, event, current);
  for (const name of names) mentioned.add(name);
  return { names, reason: isOver ? 'path' : 'condition' };
}

function conditionsOf(flow: CompiledFlow, event: Event, current: string | undefined): readonly string[] {
  if (event.type === 'thread.forked') {
    const node = flow.nodes[event.node];
    if (node?.op !== 'fork' || !('heads' in node.over) || !('heads' in event.branches)) return [];
    const started = new Set(event.branches.heads.map(({ to }) => to));
    return node.over.heads.filter(({ to }) => !started.has(to)).map(({ to, name }) => nameOf(flow.nodes[to], name));
  }
  if (event.type !== 'route.picked') return [];
  const node = flow.nodes[event.node];
  if (node?.op !== 'pick' || node.label.enters !== undefined) return [];
  const name = authorOf(node);
  const isOwn = (id: string): boolean => flow.nodes[id]?.label.enters === name;
  const target = flow.nodes[event.to];
  // The condition of a step stands before the step itself.
  const isSkip =
    name !== current && (target === undefined || authorOf(target) !== name) && node.cases.some(({ to }) => isOwn(to));
  return isSkip ? [name] : [];
}

/** The authored nodes of a flow that were never entered, in the order of the graph. */
function neverEntered(flow: CompiledFlow, entered: ReadonlySet<string>): readonly string[] {
  return authoredNames(flow).filter((name) => !entered.has(name));
}

/** The nodes that a run can enter, as the document names them. */
export function authoredNames(flow: CompiledFlow): readonly string[] {
  const names = Object.values<Node>(flow.nodes).flatMap(({ label }) =>
    label.enters === undefined || label.entersBy !== undefined ? [] : [label.enters],
  );
  return [...new Set(names)];
}

function nameOf(node: Node | undefined, name: string): string {
  return node === undefined ? name : (node.label.enters ?? authorOf(node));
}
