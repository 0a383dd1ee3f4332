/** `sluice mcp lock`: asks the MCP servers of a document for their tools and writes the lock file. */
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { lockFileOf } from '../../../catalog/mcp-lock.ts';
import { discoverMcp, lockDifferences } from '../../../effects/mcp/discover.ts';
import { SluiceError } from '../../../runtime/errors.ts';
import type { Cli } from '../context.ts';
import { compileFile, readLock } from '../document.ts';
import { failedCompile } from '../diagnostics.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { plural } from '../text.ts';

export async function mcpLockCommand(cli: Cli, file: string): Promise<ExitStatus> {
  const compiled = await compileFile(file, undefined, null);
  const { servers } = compiled.result;
  if (servers === undefined) throw failedCompile(compiled);
  const names = Object.keys(servers);
  if (names.length === 0)
    throw new SluiceError('usage', `\`${file}\` declares no MCP servers`, 'Declare them under `mcp`.');
  const lock = await discoverMcp(servers, { documentDir: dirname(file) });
  const before = readLock(file);
  const changes = before === undefined ? [] : lockDifferences(before, lock);
  writeFileSync(lockFileOf(file), `${JSON.stringify(lock, null, 2)}\n`);
  if (cli.json) cli.printJson({ file: lockFileOf(file), servers: lock.servers, changes });
  else {
    const counts = names.map((name) => `${name} (${plural(lock.servers[name]?.length ?? 0, 'tool')})`);
    cli.screen.print(`${lockFileOf(file)}: ${counts.join(', ')}`);
    for (const change of changes) cli.screen.print(`changed: ${change}`);
  }
  return OK;
}
