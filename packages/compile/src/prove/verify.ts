/**
 * Proves that a compiled flow always ends (L5, L6): every target exists, every authored node is reached, every
 * cycle uses up a bound, every node leads to an end, and every tool call has its rules. Linear in the size of the graph.
 */
import { staysInside } from '../document/definitions.ts';
import type { DoNode, Node, NodeId, ToolDef } from '@sluice-internal/kernel/ir';
import type { Lowered } from '../lower/builder-types.ts';
import type { DiagnosticCode } from '../source/codes.ts';
import { componentsOf, reachableFrom } from '../graph/components.ts';
import type { Report } from '../source/diagnostics.ts';
import { edgesOf, graphOf, type Graph } from '../graph/graph.ts';
import { START } from '../source/range.ts';

/** Returns the graph, which the certificate walks too. */
export function verify({ body, places, shares }: Lowered, report: Report): Graph {
  const graph = graphOf(body, shares);
  const say = (code: DiagnosticCode, id: NodeId, message: string): void => {
    const origin = body.nodes[id]?.label.name ?? id;
    report.error(code, places.get(id) ?? places.get(origin) ?? START, message);
  };
  if (!checkTargets(graph, say)) return graph;
  checkReached(graph, say);
  checkCycles(graph, say);
  checkEnds(graph, say);
  for (const id of graph.ids) checkTool(graph, id, say);
  return graph;
}

type Say = (code: DiagnosticCode, id: NodeId, message: string) => void;

/** Later checks walk the graph, so they are left out where it has holes. */
function checkTargets({ body, ids }: Graph, say: Say): boolean {
  let whole = true;
  const need = (holds: boolean, id: NodeId, message: string): void => {
    if (holds) return;
    whole = false;
    say('unknown-target', id, message);
  };
  const has = (id: NodeId): boolean => Object.hasOwn(body.nodes, id);
  need(has(body.entry), body.entry, `the flow begins at \`${body.entry}\`, which does not exist`);
  need(has(body.fail), body.fail, `a failed expression leads to \`${body.fail}\`, which does not exist`);
  for (const id of ids) {
    const node = body.nodes[id] as Node;
    for (const meter of node.charges ?? [])
      need(
        Object.hasOwn(body.meters, meter),
        id,
        `\`${node.label.name}\` charges the meter \`${meter}\`, which does not exist`,
      );
    for (const { to, kind } of edgesOf(node, body.meters, body.fail))
      need(has(to), id, `\`${node.label.name}\` leads to \`${to}\` (${kind}), which does not exist`);
  }
  return whole;
}

function checkReached(graph: Graph, say: Say): void {
  const { ids, node } = graph;
  const reached = graph.reached();
  for (const id of ids)
    if (node(id).label.enters !== undefined && !reached.has(id))
      say('unreachable-node', id, `\`${node(id).label.name}\` is never reached`);
}

/** Ignore edges that charge a finite meter; the rest must be acyclic. A refused visit charges nothing and goes `over`. */
function checkCycles(graph: Graph, say: Say): void {
  const free = (id: NodeId): readonly NodeId[] => {
    const edges = graph.edges(id);
    if (graph.bounding(id).length === 0) return edges.map(({ to }) => to);
    // A call whose arguments cannot be evaluated reserves nothing, and takes the error edge.
    const unpaid: readonly string[] = graph.countsVisits(id) ? ['over'] : ['over', 'error', 'fault'];
    return edges.filter(({ kind }) => unpaid.includes(kind)).map(({ to }) => to);
  };
  for (const { members, cyclic } of componentsOf(graph.ids, free)) {
    if (!cyclic) continue;
    const names = [...new Set(members.map((id) => graph.node(id).label.name))].reverse();
    say('uncapped-cycle', members.at(-1) ?? '', `no limit ends this cycle: ${names.join(' → ')}`);
  }
}

/**
 * Gives one message for each group of nodes that never reaches an end, not one for each node before it. The failure of an
 * expression does not count as an end.
 */
function checkEnds(graph: Graph, say: Say): void {
  const legal = new Map(
    graph.ids.map((id) => [id, graph.edges(id).flatMap(({ to, kind }) => (kind === 'fault' ? [] : [to]))]),
  );
  const ends = graph.ids.filter((id) => graph.node(id).op === 'end');
  const ending = reachableFrom(ends, (id) =>
    graph.sources(id).flatMap(({ from, kind }) => (kind === 'fault' ? [] : [from])),
  );
  const emergency = new Set([
    graph.body.fail,
    ...graph.ids.flatMap((id) =>
      graph.edges(id).flatMap(({ to, kind }) => (kind === 'error' || kind === 'over' ? [to] : [])),
    ),
  ]);
  for (const { members } of componentsOf(graph.ids, (id) => legal.get(id) ?? [])) {
    const id = members.at(-1) ?? '';
    const inside = new Set(members);
    if (ending.has(id) || members.some((member) => legal.get(member)?.some((to) => !inside.has(to)))) continue;
    const last = members.some((member) => emergency.has(member));
    const name = graph.node(id).label.name;
    say(
      last ? 'no-terminal' : 'no-way-out',
      id,
      last ? `a failure leads to \`${name}\`, which leads to no end` : `\`${name}\` leads to no end`,
    );
  }
}

function checkTool({ body, node }: Graph, id: NodeId, say: Say): void {
  const each = node(id);
  if (each.op !== 'do' || each.effect.kind !== 'tool') return;
  const tool = Object.hasOwn(body.tools, each.effect.tool) ? body.tools[each.effect.tool] : undefined;
  if (tool === undefined)
    return say(
      'unknown-tool',
      id,
      `\`${each.label.name}\` calls the tool \`${each.effect.tool}\`, which the flow does not define`,
    );
  for (const lack of lacking(each, tool))
    say('incomplete-tool', id, `the tool \`${each.effect.tool}\` on \`${each.label.name}\` has no ${lack}`);
}

function lacking(node: DoNode, tool: ToolDef): readonly string[] {
  const { reserve } = node.effect;
  const rules: readonly (readonly [boolean, string])[] = [
    [tool.input !== null && tool.input !== undefined, 'schema for its arguments'],
    [tool.permission !== '', 'permission'],
    [
      (reserve.toolCalls ?? 0) > 0 && (staysInside(tool) || (reserve.sideEffects ?? 0) > 0),
      'budget reserved for the call',
    ],
    [node.timeoutMs !== null && node.timeoutMs > 0 && tool.timeoutMs > 0, 'timeout'],
    [
      tool.output !== null && tool.output !== undefined && (tool.output === true || node.schema !== undefined),
      'rule that verifies its result',
    ],
    [tool.compensate === null || node.undo !== undefined, 'compensation registered before the call'],
  ];
  return rules.filter(([holds]) => !holds).map(([, name]) => name);
}
