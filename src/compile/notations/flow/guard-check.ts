/**
 * Guards that protect a side effect. If the reply of an agent has no schema, a missing or misspelt field makes the guard fail,
 * and the run takes another route. The check warns where that route reaches a side effect without the guarded node.
 */
import { onlyReads } from '../../../ir/effect-classes.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import { builtinTool } from '../../../catalog/builtin-tools.ts';
import { reachableFrom } from '../../verify/components.ts';
import type { FlowGraph } from './graph.ts';
import { isCatchAll } from './model.ts';
import type { Flow, FlowNode } from './model.ts';

export function checkGuards(flow: Flow, graph: FlowGraph, definitions: Definitions, report: Report): void {
  for (const node of flow.nodes.values()) {
    const agent = textField(node, 'agent');
    if (node.value.type !== 'agent' || agent === null || (definitions.agents[agent]?.output ?? null) !== null) continue;
    const { routes } = node.value;
    for (const [index, route] of routes.entries()) {
      if (isCatchAll(route) || !isProtection(flow.nodes.get(route.to), definitions)) continue;
      const others = routes.slice(index + 1).map(({ to }) => to);
      const passed = reachableFrom(others, (id) => (id === route.to ? [] : graph.targets(id)));
      passed.delete(route.to);
      const effect = [...passed].find((id) => changesWorld(flow.nodes.get(id), definitions));
      if (effect === undefined) continue;
      report.warning(
        'guard-without-schema',
        node.at('routes', index, 'when'),
        `if this condition fails on an unexpected reply, \`${effect}\` runs without \`${route.to}\``,
        {
          help: `Declare an \`output\` schema for agent \`${agent}\`, so that its reply has the fields of the condition.`,
        },
      );
      break;
    }
  }
}

function isProtection(node: FlowNode | undefined, definitions: Definitions): boolean {
  return node?.value.type === 'approval' || changesWorld(node, definitions);
}

function changesWorld(node: FlowNode | undefined, definitions: Definitions): boolean {
  const tool = node?.value.type === 'tool' ? textField(node, 'tool') : null;
  if (tool === null) return false;
  const def = Object.hasOwn(definitions.tools, tool) ? definitions.tools[tool] : builtinTool(tool);
  return def !== undefined && !onlyReads(def.effect);
}

function textField(node: FlowNode | undefined, field: string): string | null {
  const located = node?.located(field);
  return located?.kind === 'scalar' && typeof located.value === 'string' ? located.value : null;
}
