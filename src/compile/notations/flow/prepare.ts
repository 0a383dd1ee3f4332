/** Every expression of a flow, checked and rewritten once. Problems are reported here; lowering only uses the results. */
import type { FlowNode } from './model.ts';
import type { NodeType, Prepared, Preparing } from './node-type.ts';
import { nodeTypeOf } from './nodes/registry.ts';
import { guardedRoutes } from './routes.ts';

export function prepare(preparing: Preparing): ReadonlyMap<string, Prepared> {
  const nodes = [...preparing.flow.nodes.values()];
  return new Map(nodes.map((node) => [node.id, prepareNode(node, nodeTypeOf(node.value.type), preparing)]));
}

function prepareNode(node: FlowNode, type: NodeType, preparing: Preparing): Prepared {
  const { expressions, report } = preparing;
  const expects = expressions.reads(node.id, type.expanded(node.value));
  const parts = type.prepare(node, preparing);
  const routes =
    type.routes?.(node, parts, preparing) ?? guardedRoutes(node, 'routes', node.value.routes, expressions, report);
  return { node, expects, parts, routes };
}
