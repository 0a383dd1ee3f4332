/** Random flows under random faults. A failure names its seed: `npm run simulate -- SEED` runs it again and tells more. */
import type { CompiledFlow, Meter, Node } from '@sluice-internal/kernel/ir';
import { expect, test } from 'vitest';
import { differenceBetween, simulate } from '../../packages/testing/src/simulate.ts';
import type { FaultCounts } from '../../packages/testing/src/simulate-types.ts';
import { randomRun } from './random-run.ts';

const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 30));
const runs = Number(process.env['SLUICE_RUNS'] ?? 500);

/** A run that stopped and waited for a person was woken without end by the end of its time. */
const FOUND = [281_975_533];

/** Every call of the flow is a place where remarks of people are heard. */
function withHearers(flow: CompiledFlow): CompiledFlow {
  const hears = { agent: 'hearer', writes: [{ slot: 'heard', mode: 'append' as const, value: 'it.text' }] };
  const nodes = Object.entries(flow.nodes).map(([id, node]): [string, Node] => [
    id,
    node.op === 'do' ? { ...node, hears } : node,
  ]);
  return { ...flow, nodes: Object.fromEntries(nodes), hash: `${flow.hash}:hearing` };
}

const TOO_LITTLE: Meter = { unit: 'time', max: 150, halts: true, over: 'end', label: 'time' };

test(
  `L1, L2, L4, L5, L7, L8, L11: faults change nothing but time §modes/fault-injection, seeds from ${first}`,
  { timeout: 30_000 + runs * 200 },
  async () => {
    console.log(`simulate: seeds ${first} to ${first + runs - 1}, harmless faults`);
    const total: FaultCounts = { crashes: 0, pauses: 0, duplicates: 0, late: 0, jumps: 0, cancels: 0 };
    for (let seed = first; seed < first + runs; seed++) {
      const { flow, input, world, comparable } = randomRun(seed);
      const quiet = await simulate({ flow, input, world, seed, faults: 'none' });
      const disturbed = await simulate({ flow, input, world, seed, faults: 'harmless' });
      const difference = comparable ? differenceBetween(quiet, disturbed) : null;
      expect({ seed, quiet: quiet.violations, violations: disturbed.violations, difference }).toEqual({
        seed,
        quiet: [],
        violations: [],
        difference: null,
      });
      for (const fault in total) total[fault as keyof FaultCounts] += disturbed.faults[fault as keyof FaultCounts];
    }
    console.log(JSON.stringify(total));
    expect(total.crashes).toBeGreaterThan(0);
    expect(total.duplicates).toBeGreaterThan(0);
  },
);

test(
  `L1, L2, L4, L5, L6, L7, L11, L14: whatever happens, a run ends once and in order, seeds from ${first}`,
  { timeout: 30_000 + runs * 100 },
  async () => {
    console.log(`simulate: seeds ${first} to ${first + runs - 1}, any faults`);
    for (const seed of [...FOUND, ...Array.from({ length: runs }, (_, index) => first + index)]) {
      const { flow: plain, input, world } = randomRun(seed);
      const flow = withHearers(withUnclear(plain, seed));
      // Every other run also has too little time.
      const hurried =
        seed % 2 === 0
          ? flow
          : { ...flow, clock: 'time', meters: { ...flow.meters, time: TOO_LITTLE }, hash: `${flow.hash}:hurried` };
      const { violations } = await simulate({ flow: hurried, input, world, seed, faults: 'any' });
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  },
);

test(`the same seed gives the same journal, seeds from ${first}`, async () => {
  for (let seed = first; seed < first + 50; seed++) {
    const { flow, input, world } = randomRun(seed);
    const once = await simulate({ flow, input, world, seed, faults: 'any' });
    const again = await simulate({ flow, input, world, seed, faults: 'any' });
    expect({ seed, events: again.events, faults: again.faults }).toEqual({
      seed,
      events: once.events,
      faults: once.faults,
    });
  }
});

/** Calls without a key, calls that are looked up, and calls that are made again under their own key. */
function withUnclear(flow: CompiledFlow, seed: number): CompiledFlow {
  const nodes = Object.entries(flow.nodes).map(([id, node], index) => [id, unclear(node, seed + index)]);
  return { ...flow, nodes: Object.fromEntries(nodes) as CompiledFlow['nodes'], hash: `${flow.hash}:unclear` };
}

function unclear(node: Node, draw: number): Node {
  if (node.op !== 'do' || node.effect.kind !== 'tool') return node;
  const recalls = [0, 1, 3][draw % 3] ?? 3;
  if (node.undo === undefined) return { ...node, recalls };
  const ways = [
    undefined,
    { again: true },
    { lookup: { tool: 'look', input: { args: '1' }, timeoutMs: 500 } },
  ] as const;
  const way = ways[Math.floor(draw / 3) % 3];
  return { ...node, recalls, undo: { ...node.undo, ...(way === undefined ? {} : { unclear: way }) } };
}
