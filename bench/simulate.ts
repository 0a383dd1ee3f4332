/**
 * `npm run bench:simulate`: how long `sluice simulate` takes for 1,000 futures of a flow of ten nodes, in a process of its own. The ratio
 * is to 1,000 plain runs of the same flow on one engine without faults, in alternating rounds. A busy machine slows both down.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { withDir } from './disk.ts';
import { median } from './stats.ts';

const RUNS = 1000;
const NODES = 10;
const ROUNDS = 3;
const RATIO_MAX = 1;
const SECONDS_MAX = 5;
const root = join(import.meta.dirname, '..');

const document = JSON.stringify({
  agents: [{ id: 'a', output: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } }],
  tools: { 't.look': { effect: 'read', input: { type: 'object', properties: { n: { type: 'integer' } } } } },
  flow: {
    id: 'ten',
    entry: 'n0',
    nodes: Array.from({ length: NODES }, (_, index) => ({
      id: `n${index}`,
      ...(index % 2 === 0
        ? { type: 'agent', agent: 'a' }
        : { type: 'tool', tool: 't.look', params: { n: `{{n${index - 1}.output.n}}` } }),
      routes: [{ to: index === NODES - 1 ? 'end' : `n${index + 1}` }],
    })),
  },
});

await withDir('simulate', async (dir) => {
  const file = join(dir, 'ten.flow.json');
  writeFileSync(file, document);
  const rounds: { readonly plain: number; readonly simulated: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({ plain: await plainSeconds(), simulated: simulateSeconds(file) });
  const ratio = median(rounds.map(({ plain, simulated }) => simulated / plain));
  const seconds = median(rounds.map(({ simulated }) => simulated));
  const verdict = ratio <= RATIO_MAX ? 'ok' : 'over';
  process.stdout.write(`plain runs       ${median(rounds.map(({ plain }) => plain)).toFixed(1)} s\n`);
  process.stdout.write(`sluice simulate  ${seconds.toFixed(1)} s (at most ${SECONDS_MAX} s on two idle cores)\n`);
  process.stdout.write(`ratio            ${ratio.toFixed(2)} ${verdict} (target at most ${RATIO_MAX.toFixed(2)})\n`);
  process.exitCode = verdict === 'ok' ? 0 : 1;
});

async function plainSeconds(): Promise<number> {
  const { flow } = compile(document);
  const perform = async ({ command: { kind } }: { readonly command: { readonly kind: string } }) => ({
    ok: true as const,
    value: kind === 'model' ? { text: '{"n":1}' } : 1,
  });
  const begun = performance.now();
  const engine = createEngine({ journal: openMemory(), performer: { perform } });
  for (let index = 0; index < RUNS; index++) {
    const { code } = await engine.settled(await engine.start(flow as CompiledFlow, { seed: index }));
    if (code !== 'SUCCESS') throw new Error(`a plain run ended with ${code}`);
  }
  await engine.close();
  return (performance.now() - begun) / 1000;
}

function simulateSeconds(file: string): number {
  const begun = performance.now();
  const args = [join(root, 'bin/sluice.js'), 'simulate', file, '--runs', String(RUNS), '--seed', '1', '--quiet'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`sluice simulate failed: ${stderr}`);
  return (performance.now() - begun) / 1000;
}
