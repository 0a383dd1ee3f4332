/** `McpServers` of a team as the servers of `mcp:`. */
import type { Report } from '@sluice-internal/compile/source';
import type { McpServers, Shaped } from '@sluice-internal/compile/document';
import type { RawServer, RawTeam } from './schema/sections.ts';

/** `declared` are the servers of `mcp:`. */
export function serversOf(body: Shaped<RawTeam>, declared: McpServers, report: Report): McpServers {
  const servers: { [name: string]: McpServers[string] } = {};
  for (const [index, server] of (body.value.McpServers ?? []).entries()) {
    const { Name, Command, Url, Transport } = server;
    if (Object.hasOwn(servers, Name) || Object.hasOwn(declared, Name))
      report.error('duplicate-id', body.at('McpServers', index, 'Name'), `there are two MCP servers \`${Name}\``, {
        help: 'Give each a name of its own.',
      });
    if (body.poisoned('McpServers', index, 'Command') || body.poisoned('McpServers', index, 'Url')) {
      // Its mistake has been reported.
    } else if ((Command === undefined) === (Url === undefined))
      report.error(
        'missing-field',
        body.at('McpServers', index),
        `the MCP server \`${Name}\` needs either \`Command\` or \`Url\``,
        { help: 'A program on this machine has a `Command`, a server on the network a `Url`.' },
      );
    else if (Transport !== undefined && (Transport === 'stdio') !== (Command !== undefined))
      report.error(
        'bad-value',
        body.at('McpServers', index, 'Transport'),
        `the MCP server \`${Name}\` has the transport \`${Transport}\` and no \`${Transport === 'stdio' ? 'Command' : 'Url'}\``,
        { help: 'A program on this machine has the transport `stdio`, a server on the network `http`.' },
      );
    servers[Name] = serverOf(server);
  }
  return servers;
}

function serverOf({ Command, Args, Env, WorkingDirectory, Url, Headers, TimeoutSeconds, Tools }: RawServer) {
  const entry = {
    command: Command,
    args: Args,
    env: Env,
    cwd: WorkingDirectory,
    url: Url,
    headers: Headers,
    timeout: TimeoutSeconds,
    tools: Tools,
  };
  const given = Object.entries(entry).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as McpServers[string];
}
