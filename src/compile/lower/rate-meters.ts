/**
 * How often a tool may be called in a run, as meters that its calls charge: a call that comes too early is put off, and since
 * the times of calls are part of the run, a crash or another process does not forget them.
 */
import type { Meter, MeterId, Node, NodeId, ToolDef } from '../../ir/nodes.ts';

type Tools = { readonly [name: string]: ToolDef };

export function rateMeters(tools: Tools, over: NodeId): { readonly [id: MeterId]: Meter } {
  const meters: { [id: MeterId]: Meter } = {};
  for (const [name, { rate }] of Object.entries(tools))
    if (rate !== undefined)
      meters[rateMeter(name)] = {
        unit: 'rate',
        max: rate.calls,
        perMs: rate.perMs,
        over,
        label: `tools.${name}.rate_limit`,
      };
  return meters;
}

/** A call of a tool that is limited in this way charges its meter. */
export function paced(node: Node, tools: Tools): Node {
  if (node.op !== 'do' || node.effect.kind !== 'tool') return node;
  const { tool } = node.effect;
  if (!Object.hasOwn(tools, tool) || tools[tool]?.rate === undefined) return node;
  return { ...node, charges: [...(node.charges ?? []), rateMeter(tool)] };
}

function rateMeter(tool: string): MeterId {
  return `rate:${tool}`;
}
