/** A process of the fault benchmark: `child.ts CONTESTANT FOLDER SEED RUNS OUTAGE`. A crash kills it; the next one goes on. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Faulted } from './contestant.ts';
import { Provider } from './provider.ts';
import { sluice, sluiceOperated } from './sluice.ts';

const [name = '', dir = '', seed = '1', runs = '1', outage = '0'] = process.argv.slice(2);

async function contestant(): Promise<Faulted> {
  // The peers are typed and installed by themselves, so they are found by name.
  if (name === 'langgraph' || name === 'mastra') {
    const module = (await import(`../peers/faults-${name}.ts`)) as { readonly [name: string]: Faulted };
    const peer = module[name];
    if (peer !== undefined) return peer;
  }
  return name === 'sluice-operated' ? sluiceOperated : sluice;
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
