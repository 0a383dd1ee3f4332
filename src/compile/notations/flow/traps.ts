/** Warnings about graphs that are legal but seldom do what their author wants. */
import type { Report } from '../../diagnose/diagnostics.ts';
import type { FlowGraph } from './graph.ts';
import { END, type Flow, type FlowNode } from './model.ts';
import type { Nested } from './node-type.ts';

export function warnOfTraps(nested: Nested, graph: FlowGraph, report: Report): void {
  const { flow } = nested;
  for (const [id, members] of graph.inBranches) {
    const node = flow.nodes.get(id);
    if (node === undefined) continue;
    warnOfSharedTarget(node, members, flow, report);
    warnOfImpatientJoin(node, members, nested, report);
  }
}

/** A branch ends by itself. If it leads to the node after the join, that node runs in the branch too. */
function warnOfSharedTarget(node: FlowNode, members: ReadonlySet<string>, flow: Flow, report: Report): void {
  const after = new Set(node.value.routes.map(({ to }) => to).filter((to) => to !== END && flow.nodes.has(to)));
  for (const member of members) {
    if (after.has(member)) continue;
    for (const edge of flow.nodes.get(member)?.edges ?? []) {
      if (edge.kind !== 'route' || !after.has(edge.to)) continue;
      report.warning(
        'join-target-in-branch',
        edge.at,
        `\`${edge.to}\` runs in this branch and once more after the join of \`${node.id}\``,
        { help: 'End the branch with `end`; the routes of the join lead on.' },
      );
    }
  }
}

/** Warns about an approval inside a join that has only the default timeout: a person rarely answers that fast. */
function warnOfImpatientJoin(node: FlowNode, members: ReadonlySet<string>, nested: Nested, report: Report): void {
  if (node.value.type !== 'parallel' || node.located('join', 'timeout') !== undefined || node.poisoned('join')) return;
  for (const member of members) {
    const waits = nested.flow.nodes.get(member);
    const awaited = waits === undefined ? null : awaitedBy(waits, nested);
    if (waits === undefined || awaited === null) continue;
    report.warning(
      'impatient-join',
      waits.at('id'),
      `\`${member}\` waits for ${awaited} inside \`${node.id}\`, whose join gives up after 60 s`,
      { help: `Set \`join: { timeout: … }\` on \`${node.id}\`, in seconds.` },
    );
  }
}

/** `a person` or `a signal` that a node or its sub-flow waits for. Null if it waits for neither. */
function awaitedBy(node: FlowNode, { definitions, subs }: Nested): string | null {
  const { id, value, facts } = node;
  const sub = subs.get(id);
  if (sub !== undefined)
    return [...sub.flow.nodes.values()].reduce<string | null>((found, each) => found ?? awaitedBy(each, sub), null);
  if (facts.choices !== undefined || definitions.toolApprovals.has(facts.tool?.(value) ?? '')) return 'a person';
  return value.type === 'wait' && node.located('signal') !== undefined ? 'a signal' : null;
}
