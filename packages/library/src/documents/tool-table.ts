/** The table of tools of a flow: whether a call runs, asks a person or is refused, by which rule, and how its result is verified. */
import { authorOf, nameOf } from '@sluice-internal/kernel/core';
import type { BoundaryDef, CompiledFlow, DoNode, ToolDef } from '@sluice-internal/kernel/ir';

export interface ToolRow {
  readonly tool: string;
  /** The agents that may propose a call. None: only nodes of the graph call it, or it undoes another. */
  readonly agents: readonly string[];
  readonly effect: ToolDef['effect'];
  readonly call: 'runs' | 'asks' | 'refused';
  readonly rule: string;
  readonly verified: 'output' | 'verify' | 'none';
}

/** One row for each tool; several if it depends on the agent. */
export function toolTable(flow: CompiledFlow): readonly ToolRow[] {
  const nodes = Object.values(flow.nodes).filter((node) => node.op === 'do');
  return Object.entries(flow.tools)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([tool, def]): readonly ToolRow[] => {
      const calls = nodes.filter(({ effect }) => effect.kind === 'tool' && effect.tool === tool);
      const row = { tool, effect: def.effect, verified: verifiedBy(def, calls) } as const;
      const byAgents = ofAgents(flow, tool).map((each) => ({ ...row, ...each }));
      const alone = ofNodes(nodes, tool, byAgents.length > 0);
      return alone === null ? byAgents : [...byAgents, { ...row, ...alone }];
    });
}

type Verdict = Pick<ToolRow, 'agents' | 'call' | 'rule'>;

/** Agents with the same verdict share a row. */
function ofAgents({ boundaries = {}, agents }: CompiledFlow, tool: string): readonly Verdict[] {
  const verdicts = Object.entries(boundaries).flatMap(([agent, boundary]) => {
    const own = agents[agent]?.tools ?? [];
    const verdict = verdictOn(boundary, tool);
    return verdict === null || (!own.includes(tool) && own.length > 0) ? [] : [{ agent, ...verdict }];
  });
  return [...Map.groupBy(verdicts, ({ call, rule }) => `${call} ${rule}`).values()].map((group) => ({
    agents: group.map(({ agent }) => agent),
    call: group[0]?.call ?? 'runs',
    rule: group[0]?.rule ?? '',
  }));
}

function verdictOn({ tools, rules, people }: BoundaryDef, tool: string): Omit<Verdict, 'agents'> | null {
  const rule = rules[tool] ?? '';
  if (tools.deny.includes(tool)) return { call: 'refused', rule };
  if (tools.approve.includes(tool))
    return people === false ? { call: 'refused', rule: 'boundary.escalation.people' } : { call: 'asks', rule };
  return tools.allow.includes(tool) ? { call: 'runs', rule } : null;
}

/** A call of the author's own node, a lookup of an outcome, or an undo. Null if there is none beside those of agents. */
function ofNodes(nodes: readonly DoNode[], tool: string, isAgents: boolean): Verdict | null {
  const own = nodes.filter((node) => isOwn(node, tool));
  const [first] = own;
  if (first !== undefined) {
    const asks = own.some(({ controls }) =>
      controls?.walk.some((each) => each.how === 'ask' && each.with.when === 'true'),
    );
    const names = [...new Set(own.map((node) => authorOf(node)))];
    return { agents: [], call: asks ? 'asks' : 'runs', rule: asks ? 'approval: always' : `node ${names.join(', ')}` };
  }
  const undone = nodes.filter(({ undo }) => undo?.tool === tool).map((node) => nameOf(node));
  if (isAgents || undone.length === 0) return null;
  return { agents: [], call: 'runs', rule: `undo of ${[...new Set(undone)].join(', ')}` };
}

/** The call of an agent goes through the registry of its turn, so its controls are those of an agent. */
function isOwn({ effect, controls }: DoNode, tool: string): boolean {
  return effect.kind === 'tool' && effect.tool === tool && controls?.inOrder !== true;
}

function verifiedBy({ output }: ToolDef, calls: readonly DoNode[]): ToolRow['verified'] {
  if (calls.some(({ accept }) => accept !== undefined)) return 'verify';
  return output === true ? 'none' : 'output';
}
