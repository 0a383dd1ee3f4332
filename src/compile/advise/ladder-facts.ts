/** What the rules of the ladder share: how a finding looks, and what a compiled flow says about what agents can call. */
import type { FlowBody } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';

export interface Excess {
  readonly uses: 2 | 3 | 4 | 5 | 6;
  readonly needs: 1 | 2 | 3 | 4 | 5;
  readonly why: string;
  /** The node of the graph that it is about; the document as a whole unless told. */
  readonly node?: string;
}

/** What is authored under the key of the notation, as plain data. */
export type Authored = { readonly [field: string]: Json };

export function isDenied({ boundaries }: FlowBody, agent: string, tool: string): boolean {
  const boundary = boundaries !== undefined && Object.hasOwn(boundaries, agent) ? boundaries[agent] : undefined;
  return boundary?.tools.deny.includes(tool) ?? false;
}

export function takesNothing({ tools }: FlowBody, name: string): boolean {
  const input = Object.hasOwn(tools, name) ? tools[name]?.input : undefined;
  if (input === undefined || !isRecord(input)) return false;
  return input['additionalProperties'] === false && Object.keys((input['properties'] ?? {}) as object).length === 0;
}

export function isRecord(value: Json | undefined): value is Authored {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
