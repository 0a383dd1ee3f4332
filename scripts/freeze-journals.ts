/**
 * Keeps the journals of this release: runs examples with their scripts and writes down what was stored, byte for byte, with
 * the report that it gave. `test/history` reads them for ever after, so a folder is written once, with the release.
 *
 *   node scripts/freeze-journals.ts 0.1.0 [EXAMPLE…]
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { root } from './tool.ts';

const EXAMPLES = [
  'refund.flow',
  'gather.flow',
  'recover.flow',
  'refine-loop.workflow',
  'extract-validate-decide.workflow',
  'statemachine.team',
  'graph.team',
  'mapreduce.team',
  'market-report.staged',
  'debate.staged',
  'saga.staged',
];

const [version, ...chosen] = process.argv.slice(2);
if (version === undefined) throw new Error('which release? node scripts/freeze-journals.ts VERSION');
const dir = join(root, 'test', 'history', version);
mkdirSync(dir, { recursive: true });
for (const name of chosen.length === 0 ? EXAMPLES : chosen) {
  const read = (file: string): string => readFileSync(join(root, 'examples', file), 'utf8');
  const { flow } = compile(read(`${name}.yaml`));
  if (flow === undefined) throw new Error(`${name} does not compile`);
  const store = openMemory();
  const engine = createEngine({
    journal: store,
    // The journal records these folders. They must not be those of the machine that freezes it.
    toolOptions: { documentDir: '/srv/sluice', workDir: '/srv/sluice/work' },
    script: parse(read(name.replace(/\.\w+$/, '.script.yaml'))) as Script,
  });
  const run = await engine.start(flow, { run: name.replace('.', '-'), input: 'a question', seed: 7 });
  const report = await engine.settled(run);
  const stored = await store.journal.load(run, { snapshot: false });
  await engine.close();
  writeFileSync(join(dir, `${name}.json`), `${JSON.stringify({ stored, report }, null, 1)}\n`);
}
