/**
 * A process that plays all examples of teams at once, until they have ended or until it is killed. Each reply takes a
 * moment, so that a kill falls into the middle of a turn, of a tool call, of a check.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '@sluice-internal/store-sqlite';
import type { ModelEntry, Script } from '@sluice-internal/library/host';
import { realClock } from '@sluice-internal/engine/ports';
import type { Clock, Performer } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { INPUT, exampleNames, exampleScript, layOut } from '../dialects/team-example-files.ts';
import { world } from '../dialects/team-world.ts';

const [db = '', root = '', life = '0'] = process.argv.slice(2);
/** Compiled by the test, so that no process compiles them again. */
const flows = JSON.parse(readFileSync(join(root, 'flows.json'), 'utf8')) as { readonly [name: string]: CompiledFlow };
const REPLY_MS = 12;
const LEASE_MS = 400;
const EPOCH = 1_800_000_000_000;
const DEATH_MS = 200;

/** Every entry as it is, but after a moment. */
function slowly(script: Script): Script {
  const agents = Object.entries(script.agents ?? {}).map(([name, entries]) => [
    name,
    [entries].flat().map((entry): ModelEntry => ({
      delayMs: REPLY_MS,
      ...(typeof entry === 'string' ? { text: entry } : entry),
    })),
  ]);
  return { ...script, agents: Object.fromEntries(agents) as Script['agents'] };
}

const performers = new Map<string, Performer>();
for (const name of exampleNames()) {
  const workDir = join(root, name);
  mkdirSync(workDir, { recursive: true });
  performers.set(name, world(slowly(exampleScript(name)), workDir));
}
const of = (run: string): Performer => performers.get(run) as Performer;
/** A death takes a moment of the runs' time, however long the machine takes to start the next process: nothing is late by it. */
const begun = performance.now();
const now = (): number => EPOCH + Number(life) * DEATH_MS + Math.floor(performance.now() - begun);
const clock: Clock = {
  ...realClock,
  now,
  at: (instant, wake) => {
    const timer = setTimeout(wake, Math.max(0, instant - now()));
    return () => clearTimeout(timer);
  },
};
const engine = createRuntime({
  store: openSqlite(db),
  performer: { perform: (call) => of(call.command.run).perform(call) },
  leaseMs: LEASE_MS,
  clock,
  onFault: (error) => {
    process.stdout.write(`fault ${error.message}\n`);
    process.exit(1);
  },
});

if (life === '0') for (const name of performers.keys()) layOut(name, join(root, name));
const started = await Promise.all(
  [...performers.keys()].map((name) => engine.start(flows[name] as CompiledFlow, { run: name, input: INPUT, seed: 1 })),
);
process.stdout.write('ready\n');
for (const run of started) await engine.wait(run);
await engine.close();
process.stdout.write('done\n');
