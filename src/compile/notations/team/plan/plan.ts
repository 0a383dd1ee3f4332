/** What a strategy makes of a document: how it is lowered, how long it can take, and what there is to draw. */
import type { AgentDef, NodeId, ToolDef } from '../../../../ir/nodes.ts';
import type { PictureCycle, PictureEdge, PictureNode } from '../../../picture/picture.ts';
import type { Lowering } from '../lowering.ts';

export interface Plan {
  /** Adds the strategy's nodes and returns where it begins. */
  lower(l: Lowering): NodeId;
  /** How many turns each place can have where the course is fixed; null where the number of turns is capped. */
  readonly turnsMax: number | null;
  /** Models that the strategy asks beside the team, and the tools by which they answer. */
  readonly agents?: readonly AgentDef[];
  readonly tools?: { readonly [name: string]: ToolDef };
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  readonly cycles?: readonly PictureCycle[];
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

export const START: PictureNode = { id: '~start', kind: 'start', label: 'start', detail: null, description: null };
export const END: PictureNode = { id: '~end', kind: 'end', label: 'end', detail: null, description: null };
