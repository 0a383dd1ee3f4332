/** The picture of a team: agents, states or nodes, and the routes between them. */
import { componentsOf } from '../../verify/components.ts';
import type { Picture, PictureCycle, PictureEdge, PictureNode } from '../../picture/picture.ts';
import { TURNS_DEFAULT } from './lowering.ts';
import type { Team } from './model.ts';
import { isPoison } from '../../document/shape/poison.ts';

export interface Drawing {
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  /** Derived from the edges and bounded by `MaxIterations` when absent. */
  readonly cycles?: readonly PictureCycle[];
}

export const START: PictureNode = { id: '~start', kind: 'start', label: 'start', detail: null, description: null };
export const END: PictureNode = { id: '~end', kind: 'end', label: 'end', detail: null, description: null };

export function drawTeam(team: Team, drawing: Drawing): Picture {
  const { edges } = drawing;
  const nodes = drawing.nodes.map((node) => ({
    ...node,
    label: shown(node.label),
    detail: node.detail && shown(node.detail),
  }));
  const cycles = drawing.cycles ?? cyclesIn(nodes, edges, `MaxIterations: ${team.termination.cap ?? TURNS_DEFAULT}`);
  return { title: team.id, notation: 'orchestration', description: team.raw.Description ?? null, nodes, edges, cycles };
}

export function agentShape(
  id: string,
  label: string,
  agent: string,
  description: string | null = null,
  kind: PictureNode['kind'] = 'agent',
): PictureNode {
  return { id, kind, label, detail: label === agent ? null : agent, description };
}

export function edgeShape(
  from: string,
  to: string,
  label: string | null,
  back = false,
  kind: PictureEdge['kind'] = 'route',
): PictureEdge {
  return { from, to, kind, label, back };
}

/** One shape for each agent, in the order given. */
export function agentShapes(team: Team, agents: Iterable<string> = team.names): readonly PictureNode[] {
  return [...agents].map((name) => agentShape(name, name, name, team.members.get(name)?.description ?? null));
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
