/** The picture of a team: agents, states or nodes, and the routes between them. */
import { cyclesIn } from '@sluice-internal/compile/graph';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import type { Picture, PictureCycle, PictureEdge, PictureNode } from '@sluice-internal/compile/picture';
import { isPoison } from '@sluice-internal/compile/document';
import { TURNS_DEFAULT } from './lowering.ts';
import type { Check, Team } from './model.ts';

export interface Drawing {
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  /** The nodes that the session usually ends at. */
  readonly last?: readonly string[];
  /** Derived from the edges and bounded by `MaxIterations` when absent. */
  readonly cycles?: readonly PictureCycle[];
}

export function drawTeam(team: Team, given: Drawing): Picture {
  const drawing = given.nodes.includes(END) ? given : ended(given, team);
  const { edges } = drawing;
  const nodes = drawing.nodes.map((node) => {
    const tools = (team.members.get(node.detail ?? '') ?? team.members.get(node.label))?.tools ?? [];
    return {
      ...node,
      label: shown(node.label),
      detail: node.detail && shown(node.detail),
      ...(tools.length === 0 ? {} : { tools }),
    };
  });
  const bound = `MaxIterations: ${team.termination.cap ?? TURNS_DEFAULT}`;
  const cycles = drawing.cycles ?? cyclesOf(drawing).map((members) => ({ nodes: members, bound }));
  return { title: team.id, notation: 'orchestration', description: team.raw.Description ?? null, nodes, edges, cycles };
}

/** With the end that the rules of `Termination` lead to. A session that no rule ends is ended by its limit. */
function ended({ nodes, edges, last: ending = [], ...rest }: Drawing, { termination: { rules, cap } }: Team): Drawing {
  // The last message of a sub-graph counts too.
  const speaks = ({ kind }: PictureNode): boolean => kind === 'agent' || kind === 'tool';
  const speakers = nodes.filter((node) => speaks(node) && (ending.length === 0 || ending.includes(node.id)));
  const agentOf = ({ label, detail }: PictureNode): string => detail ?? label;
  const matched = rules.flatMap(({ pattern, condition, agents, checks }) =>
    speakers
      .filter((node) => agents === null || agents.includes(agentOf(node)))
      .map(({ id }) => guarded(edgeShape(id, END.id, condition?.words ?? `matches ${pattern}`), checks)),
  );
  const last = speakers.at(-1)?.id ?? START.id;
  const capped = edgeShape(last, END.id, `MaxIterations: ${cap ?? TURNS_DEFAULT}`, false, 'over');
  return { ...rest, nodes: [...nodes, END], edges: [...edges, ...(matched.length > 0 ? matched : [capped])] };
}

export function agentShape(id: string, label: string, agent: string, description: string | null = null): PictureNode {
  return { id, kind: 'agent', label, detail: label === agent ? null : agent, description };
}

/** The edge with its validators. */
export function guarded(edge: PictureEdge, checks: readonly Check[], approval = false): PictureEdge {
  const guards = [...checks.map(({ label }) => label), ...(approval ? ['approval'] : [])];
  return guards.length === 0 ? edge : { ...edge, guards };
}

/** One shape for each agent, in the order given. */
export function agentShapes(team: Team, agents: Iterable<string> = team.names): readonly PictureNode[] {
  return [...agents].map((name) => agentShape(name, name, name, team.members.get(name)?.description ?? null));
}

function shown(name: string): string {
  return isPoison(name) ? '?' : name;
}

/** The members of each cycle, in the order of the drawing. */
function cyclesOf({ nodes, edges }: Drawing): readonly (readonly string[])[] {
  const order = nodes.map(({ id }) => id);
  const targets = Map.groupBy(edges, ({ from }) => from);
  const cycles = cyclesIn(order, (id) => targets.get(id)?.map(({ to }) => to) ?? []);
  return cycles.map((members) => order.filter((id) => members.includes(id)));
}
