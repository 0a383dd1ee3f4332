/**
 * `sluice mcp lock`: asks the MCP servers of a document for their tools and writes the lock file. `sluice mcp login`: logs a person in
 * to servers that need it.
 */
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { lockFileOf } from '@sluice-internal/kernel/catalog';
import { didYouMean } from '@sluice-internal/compile/source';
import { discoverMcp, lockDifferences, login } from '@sluice-internal/tools/mcp';
import type { Servers } from '@sluice-internal/tools/mcp';
import { SluiceError } from '@sluice-internal/engine/ports';
import {
  compileFile,
  failedCompile,
  oneLine,
  plural,
  readLock,
  readWhole,
  usage,
} from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';

export async function mcpLockCommand(cli: Cli, file: string): Promise<void> {
  const servers = await serversIn(file);
  const names = Object.keys(servers);
  if (names.length === 0)
    throw new SluiceError('usage', `\`${file}\` declares no MCP servers`, 'Declare them under `mcp`.');
  const lock = await discoverMcp(servers, { documentDir: dirname(file) });
  const before = readLock(file);
  const changes = before === undefined ? [] : lockDifferences(before, lock);
  writeFileSync(lockFileOf(file), `${JSON.stringify(lock, null, 2)}\n`);
  const counts = names.map((name) => `${name} (${plural(lock.servers[name]?.length ?? 0, 'tool')})`);
  const lines = [`${lockFileOf(file)}: ${counts.join(', ')}`, ...changes.map((each) => `changed: ${oneLine(each)}`)];
  cli.show({ file: lockFileOf(file), servers: lock.servers, changes }, () => lines.join('\n'));
}

export async function mcpLoginCommand(
  cli: Cli,
  file: string,
  wanted: string | undefined,
  options: Options<'mcp login'>,
): Promise<void> {
  const timeoutMs = (readWhole('--timeout', options.timeout, 1, DAY_SECONDS) ?? LOGIN_SECONDS) * 1000;
  const servers = Object.entries(await serversIn(file)).filter(([, { oauth }]) => oauth?.login === true);
  const chosen = servers.filter(([name]) => wanted === undefined || name === wanted);
  const names = servers.map(([name]) => name);
  if (chosen.length === 0) throw noLogin(file, wanted, names);
  for (const [name, server] of chosen) {
    const show = (url: string): void =>
      cli.screen.note(`open this page to log in to ${oneLine(name)}:\n  ${oneLine(url)}`);
    await login(name, server, { timeoutMs, show });
    if (!cli.json) cli.screen.print(`logged in to ${oneLine(name)}`);
  }
  if (cli.json) cli.printJson({ servers: chosen.map(([name]) => name) });
}

const LOGIN_SECONDS = 300;
/** A timer that is longer than 24 days ends at once. */
const DAY_SECONDS = 86_400;

function noLogin(file: string, wanted: string | undefined, names: readonly string[]): Error {
  const help = 'A server with `oauth: { login: true }` does.';
  if (wanted === undefined) return usage(`no MCP server of \`${file}\` needs a login`, help);
  const message = `\`${file}\` has no MCP server \`${wanted}\` that needs a login`;
  return usage(message, didYouMean(wanted, names, help));
}

async function serversIn(file: string): Promise<Servers> {
  const compiled = await compileFile(file, undefined, null);
  const { servers } = compiled.result;
  if (servers === undefined) throw failedCompile(compiled);
  return servers;
}
