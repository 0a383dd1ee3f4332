/** Who takes part: the bare loop that everybody is compared with, Sluice, and with `--peers` the other engines. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface Entry {
  name: string;
  module: string;
}

export const BARE: Entry = { name: 'bare', module: join(import.meta.dirname, 'bare.ts') };

export function contestants(withPeers: boolean): Entry[] {
  const own = [{ name: 'sluice', module: join(import.meta.dirname, 'sluice.ts') }];
  if (!withPeers) return own;
  const dir = join(import.meta.dirname, 'peers');
  if (!existsSync(join(dir, 'node_modules'))) throw new Error('the peers are not installed: npm run bench:peers');
  return [...own, ...PEERS.map((name) => ({ name, module: join(dir, `${name}.ts`) }))];
}

const PEERS = ['langgraph', 'mastra', 'restate', 'dbos'];
