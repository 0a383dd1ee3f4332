/** Descriptions of MCP tools as text from outside: the agent reads them before it calls anything. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Call } from '@sluice-internal/engine/ports';
import { isFilled, taintOf, type TaintSource } from '../text/sources.ts';

/** The description of a server that is not trusted can try to misuse tools of others. Its own tools are not compared. */
export function descriptionsOf({ agents, tools }: Call['flow'], agent: string, called: string): readonly TaintSource[] {
  const target = serverOf(tools[called]);
  return (agents[agent]?.tools ?? []).flatMap((name) => {
    const tool = tools[name];
    const { server, locked } = serverOf(tool);
    if (server === null || locked === null || server === target.server || tool?.trust === 'trusted') return [];
    const written = [locked['description'] ?? null, locked['input'] ?? null].filter(isFilled);
    return tool?.description === locked['description'] && written.length > 0
      ? [taintOf(`the description of \`${name}\``, written)]
      : [];
  });
}

/** The MCP server of a tool, if it has one that the document does not trust, and the tool as the lock has it. */
function serverOf(tool: ToolDef | undefined): { readonly server: string | null; readonly locked: JsonObject | null } {
  const { implementation = null } = tool ?? {};
  if (!isRecord(implementation) || typeof implementation['mcp'] !== 'string') return { server: null, locked: null };
  const { mcp, server = null, locked = null } = implementation;
  const isTrusted = isRecord(server) && server['trusted'] === true;
  return { server: isTrusted ? null : (mcp.split('/')[0] ?? null), locked: isRecord(locked) ? locked : null };
}
type JsonObject = { readonly [field: string]: Json };
