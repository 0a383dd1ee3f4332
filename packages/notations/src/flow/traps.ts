/** Warnings about graphs that are valid but probably not intended. */
import { onlyReads } from '@sluice-internal/kernel/ir';
import { textOf } from '@sluice-internal/compile/source';
import type { Report } from '@sluice-internal/compile/source';
import { toolNamed } from '@sluice-internal/compile/document';
import type { Definitions } from '@sluice-internal/compile/document';
import { reachableFrom } from '@sluice-internal/compile/graph';
import type { FlowGraph } from './graph.ts';
import { END, isCatchAll, type Flow, type FlowNode } from './model.ts';
import type { Nested, Preparing } from './node-type.ts';

export function warnOfTraps(nested: Nested, graph: FlowGraph, report: Report): void {
  const { flow } = nested;
  for (const [id, members] of graph.inBranches) {
    const node = flow.nodes.get(id);
    if (node === undefined) continue;
    warnOfSharedTarget(node, members, flow, report);
    warnOfImpatientJoin(node, members, nested, report);
    const inside = [...members].flatMap((member) => flow.nodes.get(member) ?? []);
    if (!ITEMS_LOST.has(textOf(node.located('on_item_error')) ?? '')) warnOfRepeats(node, inside, nested, report);
  }
  for (const [id, sub] of nested.subs) {
    const node = flow.nodes.get(id);
    const inside = [...sub.flow.nodes.values()];
    // A sub-flow that is one call fails only if the call failed.
    if (node !== undefined && inside.length > 1) warnOfRepeats(node, inside, sub, report);
  }
}

/** A map does not fail if one of its items does. */
const ITEMS_LOST: ReadonlySet<string> = new Set(['skip', 'collect']);

/** The next try of several nodes makes all their calls again, also those that succeeded. Compensations undo them before. */
function warnOfRepeats(node: FlowNode, inside: readonly FlowNode[], nested: Nested, report: Report): void {
  if ((node.value.retry?.max_attempts ?? 1) < 2) return;
  for (const tool of new Set(inside.flatMap((each) => lastingCalls(each, nested))))
    report.warning(
      'no-compensation',
      node.at('retry'),
      `the next try of \`${node.id}\` calls \`${tool}\` again, and no tool undoes the first call`,
      { help: `Add \`compensate: TOOL\` to \`${tool}\`, or put \`retry\` on the node that may fail.` },
    );
}

/** The tools with effects that a node or its sub-flow calls, and that no tool undoes. */
function lastingCalls(node: FlowNode, { definitions, subs }: Nested): readonly string[] {
  const sub = subs.get(node.id);
  if (sub !== undefined) return [...sub.flow.nodes.values()].flatMap((each) => lastingCalls(each, sub));
  const tool = node.facts.tool?.(node.value) ?? '';
  return changesWorld(node, definitions) && toolNamed(tool, definitions)?.compensate === null ? [tool] : [];
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
      `\`${member}\` waits for ${awaited} inside \`${node.id}\`, whose join fails after 60 s`,
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

interface Guarded extends Omit<Preparing, 'slots'> {
  readonly graph: FlowGraph;
}

/**
 * Guards that protect a side effect. If the reply of an agent has no schema, a missing or misspelt field makes the guard fail,
 * and the run takes another route. The check warns where that route reaches a side effect without the guarded node.
 */
export function checkGuards({ flow, graph, definitions, expressions, report }: Guarded): void {
  const isOpen = (agent: string): boolean => (definitions.agents[agent]?.output ?? null) === null;
  for (const node of flow.nodes.values()) {
    const { routes } = node.value;
    const decides = textOf(node.located('expr')) ?? null;
    for (const [index, route] of routes.entries()) {
      if (isCatchAll(route) || !isProtection(flow.nodes.get(route.to), definitions)) continue;
      const guard = decides ?? route.when ?? '';
      const agent = expressions.agentsRead(node.id, guard, decides === null).find(isOpen);
      if (agent === undefined) continue;
      const others = routes.filter((_, other) => other > index || decides !== null).map(({ to }) => to);
      const passed = reachableFrom(others, (id) => (id === route.to ? [] : graph.targets(id)));
      passed.delete(route.to);
      const effect = [...passed].find((id) => changesWorld(flow.nodes.get(id), definitions));
      if (effect === undefined) continue;
      report.warning(
        'guard-without-schema',
        decides === null ? node.at('routes', index, 'when') : node.at('expr'),
        decides === null
          ? `if this condition fails on an unexpected reply, \`${effect}\` runs without \`${route.to}\``
          : `an unexpected reply can lead to \`${effect}\` without \`${route.to}\``,
        {
          help: `Declare an \`output\` schema for agent \`${agent}\`, so that its reply has the fields of the condition.`,
        },
      );
      break;
    }
  }
}

function isProtection(node: FlowNode | undefined, definitions: Definitions): boolean {
  return node?.facts.choices !== undefined || changesWorld(node, definitions);
}

function changesWorld(node: FlowNode | undefined, definitions: Definitions): boolean {
  const tool = node?.facts.tool?.(node.value);
  if (tool === undefined) return false;
  const def = toolNamed(tool, definitions);
  return def !== undefined && !onlyReads(def.effect);
}
