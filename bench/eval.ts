/**
 * `npm run bench:eval`: how long `sluice eval` takes for 500 scripted cases of the refund example, in a process of its own. The ratio is to
 * 500 plain runs of the same flow on the engine, without a suite, in alternating rounds. A busy machine slows both down.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse } from 'yaml';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { withDir } from './disk.ts';
import { median } from './stats.ts';

const CASES = 500;
const ROUNDS = 3;
const RATIO_MAX = 3;
const INPUT = { message: 'Please refund order A-1042.' };
const root = join(import.meta.dirname, '..');
const flowFile = join(root, 'examples/refund.flow.yaml');
const script = parse(readFileSync(join(root, 'examples/refund.script.yaml'), 'utf8')) as Script;

await withDir('eval', async (dir) => {
  const cases = Array.from({ length: CASES }, (_, index) => ({ name: `case ${index}`, input: INPUT, script }));
  const suite = join(dir, 'many.suite.yaml');
  writeFileSync(suite, JSON.stringify({ flow: relative(dir, flowFile), cases }));
  const rounds: { readonly plain: number; readonly evaluated: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({ plain: await plainSeconds(), evaluated: evalSeconds(suite) });
  const ratio = median(rounds.map(({ plain, evaluated }) => evaluated / plain));
  const verdict = ratio <= RATIO_MAX ? 'ok' : 'over';
  process.stdout.write(`plain runs   ${median(rounds.map(({ plain }) => plain)).toFixed(1)} s\n`);
  process.stdout.write(`sluice eval  ${median(rounds.map(({ evaluated }) => evaluated)).toFixed(1)} s\n`);
  process.stdout.write(`ratio        ${ratio.toFixed(2)} ${verdict} (target at most ${RATIO_MAX.toFixed(2)})\n`);
  process.exitCode = verdict === 'ok' ? 0 : 1;
});

async function plainSeconds(): Promise<number> {
  const { flow } = compile(readFileSync(flowFile, 'utf8'));
  const begun = performance.now();
  for (let index = 0; index < CASES; index++) {
    const engine = createEngine({ journal: openMemory(), script });
    await engine.settled(await engine.start(flow as CompiledFlow, { input: INPUT, seed: index }));
    await engine.close();
  }
  return (performance.now() - begun) / 1000;
}

function evalSeconds(suite: string): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'bin/sluice.js'), 'eval', suite, '--quiet'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`sluice eval failed: ${stderr}`);
  return (performance.now() - begun) / 1000;
}
