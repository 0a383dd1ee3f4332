/**
 * Guards that protect a side effect. If the reply of an agent has no schema, a missing or misspelt field makes the guard fail,
 * and the run takes another route. The check warns where that route reaches a side effect without the guarded node.
 */
import { onlyReads } from '../../../ir/effect-classes.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import { builtinTool } from '../../../catalog/builtin-tools.ts';
import { textOf } from '../../source/located.ts';
import { reachableFrom } from '../../verify/components.ts';
import type { FlowGraph } from './graph.ts';
import type { Expressions } from './expressions.ts';
import { isCatchAll, type Flow, type FlowNode } from './model.ts';

interface Guarded {
  readonly flow: Flow;
  readonly graph: FlowGraph;
  readonly definitions: Definitions;
  readonly expressions: Expressions;
  readonly report: Report;
}

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
  const def = Object.hasOwn(definitions.tools, tool) ? definitions.tools[tool] : builtinTool(tool);
  return def !== undefined && !onlyReads(def.effect);
}
