/** Checks the tools of MCP servers that agents are granted: they are known, and their effect is declared. */
import { lockedTool, type McpLock } from '../../catalog/mcp-lock.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import { didYouMean } from '../diagnose/nearest.ts';
import type { Path } from '../source/located.ts';
import { grantedTools, ownerOf } from './definitions.ts';
import type { ReadDocument } from './document.ts';

export function checkServerTools({ sections }: ReadDocument, lock: McpLock | undefined, report: Report): void {
  const { agents = [], tools, mcp } = sections.value;
  const asked = new Set<string>();
  for (const [index, agent] of agents.entries())
    for (const [at, name] of agent.tools.entries()) {
      const path: Path = ['agents', index, 'tools', at];
      checkWildcard(name, path);
      for (const tool of grantedTools([name], sections.value, lock)) checkTool(tool, path);
    }
  for (const [name, { mcp: reference }] of Object.entries(tools)) {
    const [, server = '', tool = ''] = /^([^/]+)\/(.+)$/s.exec(reference ?? '') ?? [];
    if (Object.hasOwn(mcp, server)) checkExists(server, tool, ['tools', name, 'mcp']);
  }

  function checkWildcard(name: string, path: Path): void {
    const server = name.slice(0, -2);
    if (!name.endsWith('.*') || !Object.hasOwn(mcp, server)) return;
    if (lock !== undefined || mcp[server]?.tools !== undefined) return;
    const message = `\`${name}\` grants the tools of the MCP server \`${server}\`, which are not known yet`;
    const help = 'Run `sluice mcp lock FILE`. `sluice run` asks the server if there is no lock.';
    report.warning('unlocked-server', sections.at(...path), message, { help });
  }

  function checkTool(name: string, path: Path): void {
    const found = Object.hasOwn(tools, name) ? undefined : ownerOf(name, mcp);
    if (found === undefined || !checkExists(found.owner, found.tool, path)) return;
    if (mcp[found.owner]?.trusted === true || asked.has(name)) return;
    asked.add(name);
    const message = `the effect of \`${name}\` is not declared, so a call counts as a write`;
    const effect = lockedTool(lock, found.owner, found.tool)?.annotations?.readOnlyHint === true ? 'read' : 'write';
    const help = `Declare it: \`tools: { ${name}: { mcp: ${found.owner}/${found.tool}, effect: ${effect} } }\`. \`trusted: true\` on the server uses its own hints.`;
    report.warning('undeclared-effect', sections.at(...path), message, { help });
  }

  function checkExists(server: string, tool: string, path: Path): boolean {
    const locked = lock?.servers[server];
    if (locked === undefined || lockedTool(lock, server, tool) !== undefined) return true;
    const names = locked.map(({ name }) => name);
    report.error('unknown-tool', sections.at(...path), `the MCP server \`${server}\` has no tool \`${tool}\``, {
      help: didYouMean(tool, names, 'Run `sluice mcp lock FILE` if the server has a new tool.'),
    });
    return false;
  }
}
