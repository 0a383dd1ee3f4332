/** All node types of a flow. To add one, write its object and list it here. */
import * as z from 'zod';
import { list } from '@sluice-internal/compile/document';
import type { NodeType } from '../node-type.ts';
import { agentNode } from './agent.ts';
import { approvalNode } from './approval.ts';
import { decisionNode } from './decision.ts';
import { failNode } from './fail.ts';
import { flowNode } from './flow.ts';
import { mapNode } from './map.ts';
import { parallelNode } from './parallel.ts';
import { setNode } from './set.ts';
import { terminalNode } from './terminal.ts';
import { toolNode } from './tool.ts';
import { waitNode } from './wait.ts';

const TYPES = [
  agentNode,
  toolNode,
  parallelNode,
  approvalNode,
  decisionNode,
  terminalNode,
  mapNode,
  setNode,
  failNode,
  waitNode,
  flowNode,
] as const;

export const NODE_TYPES: readonly NodeType[] = TYPES;

/** Schemas as a tuple, so that the types of the nodes follow from it. */
export const nodeSchemas = list(z.discriminatedUnion('type', schemasOf(TYPES)), { min: 1 });

export function nodeTypeOf(type: string): NodeType {
  const found = NODE_TYPES.find((each) => each.type === type);
  if (found === undefined) throw new Error(`invariant: there is no node type \`${type}\``);
  return found;
}

type SchemasOf<Types extends readonly { readonly schema: unknown }[]> = {
  readonly [Index in keyof Types]: Types[Index]['schema'];
};

function schemasOf<const Types extends readonly { readonly schema: unknown }[]>(types: Types): SchemasOf<Types> {
  return types.map(({ schema }) => schema) as unknown as SchemasOf<Types>;
}
