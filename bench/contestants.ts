/**
 * The contestants: the bare loop that all are compared with, Sluice, with `--against` another checkout of it, and with `--peers`
 * the other engines.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface Entry {
  name: string;
  module: string;
  /** The name in the table, if it is another. */
  title?: string;
}

/** The title of another checkout. */
export const BEFORE = 'before';

export const BARE: Entry = { name: 'bare', module: join(import.meta.dirname, 'bare.ts') };

/** `against` is the folder of another checkout, with its packages installed. */
export function contestants(withPeers: boolean, against?: string): Entry[] {
  const own: Entry[] = [{ name: 'sluice', module: join(import.meta.dirname, 'sluice.ts') }];
  if (against !== undefined) own.push({ name: 'sluice', module: resolve(against, 'bench/sluice.ts'), title: BEFORE });
  if (!withPeers) return own;
  const dir = join(import.meta.dirname, 'peers');
  if (!existsSync(join(dir, 'node_modules'))) throw new Error('the peers are not installed: npm run bench:peers');
  return [...own, ...PEERS.map((name) => ({ name, module: join(dir, `${name}.ts`) }))];
}

const PEERS = ['langgraph', 'mastra', 'restate', 'dbos'];
