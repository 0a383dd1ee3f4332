/** A team as something to draw: agents, states or nodes, and what leads from one to another. */
import { componentsOf } from '../../verify/components.ts';
import type { Picture, PictureCycle, PictureEdge, PictureNode } from '../../picture/picture.ts';
import { TURNS_DEFAULT } from './lowering.ts';
import type { Team } from './model.ts';
import type { Plan } from './plan/plan.ts';
import { isPoison } from '../../document/shape/poison.ts';

export function drawTeam(team: Team, plan: Plan): Picture {
  const { edges } = plan;
  const nodes = plan.nodes.map((node) => ({
    ...node,
    label: shown(node.label),
    detail: node.detail && shown(node.detail),
  }));
  const cycles = plan.cycles ?? cyclesIn(nodes, edges, `MaxIterations: ${team.termination.cap ?? TURNS_DEFAULT}`);
  return { title: team.id, notation: 'orchestration', description: team.raw.Description ?? null, nodes, edges, cycles };
}

function shown(name: string): string {
  return isPoison(name) ? '?' : name;
}

function cyclesIn(
  nodes: readonly PictureNode[],
  edges: readonly PictureEdge[],
  bound: string,
): readonly PictureCycle[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  const order = nodes.map(({ id }) => id);
  return componentsOf(order, (id) => targets.get(id) ?? [])
    .filter(({ cyclic }) => cyclic)
    .map(({ members }) => ({ nodes: order.filter((id) => members.includes(id)), bound }));
}
