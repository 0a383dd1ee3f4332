/** A process of the fault benchmark: `child.ts CONTESTANT FOLDER SEED RUNS OUTAGE`. A crash kills it; the next one goes on. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Faulted } from './contestant.ts';
import { Provider } from './provider.ts';
import { sluice, sluiceOperated } from './sluice.ts';

const [name = '', dir = '', seed = '1', runs = '1', outage = '0'] = process.argv.slice(2);

/** The peers are typed and installed by themselves, so they are loaded by name. */
const PEERS = new Map([
  ['langgraph', 'faults-langgraph.ts'],
  ['mastra', 'faults-mastra.ts'],
]);

async function contestant(): Promise<Faulted> {
  const file = PEERS.get(name);
  if (file === undefined) return name === 'sluice-operated' ? sluiceOperated : sluice;
  const peer = ((await import(`../peers/${file}`)) as { readonly [name: string]: Faulted })[name];
  if (peer === undefined) throw new Error(`${file} does not export ${name}`);
  return peer;
}

const results = join(dir, 'results.jsonl');
const done = existsSync(results) ? readFileSync(results, 'utf8').split('\n').length - 1 : 0;
const provider = new Provider(join(dir, 'ledger.jsonl'), Number(seed), Number(outage));
const opened = await (await contestant()).open(join(dir, 'runs.db'), provider);
for (let index = done; index < Number(runs); index++) {
  const ok = await opened.run(`run-${index}`);
  appendFileSync(results, `${JSON.stringify({ run: `run-${index}`, ok })}\n`);
}
await opened.close();
process.exit(0);
