import { describe, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { outstanding } from '@sluice-internal/kernel/core';
import { programOf, restoreRun } from '@sluice-internal/engine/worker';
import type { StoredRun } from '@sluice-internal/engine/ports';
import { freezeState, thawState } from '@sluice-internal/engine/journal';
import { simulate } from '../../packages/testing/src/simulate.ts';
import { randomRun } from '../simulate/random-run.ts';
import { Core, end, flowOf, forkOver, meter, openEngine, pick, set, tool } from './flow.ts';

const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 30));
const RUNS = 40;

const counting = flowOf(
  {
    n: set('n', '0', 'a'),
    a: tool('a', 'more', { charges: ['visits'], writes: [{ slot: 'n', mode: 'set', value: 'it' }] }),
    more: pick('n < 400', 'a', 'end'),
    end: end('n'),
  },
  { meters: { visits: meter('visits', 1000) } },
);

describe('snapshots', () => {
  test(`L2: at every event of random runs, a state survives being written down, seeds from ${first}`, async () => {
    console.log(`snapshot: seeds ${first} to ${first + RUNS - 1}`);
    for (let seed = first; seed < first + RUNS; seed++) {
      const { flow, input, world } = randomRun(seed);
      const store = openMemory();
      await simulate({ flow, input, world, seed, faults: 'none', store });
      const stored = (await store.journal.load(`s_${seed}`, { snapshot: false })) as StoredRun;
      const program = programOf(flow);
      for (let length = 1; length <= stored.appends.length; length++) {
        const { state } = restoreRun('r', { ...stored, appends: stored.appends.slice(0, length) }, program);
        if (state === null) throw new Error('no state');
        const thawed = thawState(freezeState(state));
        expect(thawed).toEqual(state);
        expect(outstanding(program, thawed)).toEqual(outstanding(program, state));
      }
    }
  });

  test('L8: from a snapshot and from the start one comes to the same', async () => {
    const { engine, store } = openEngine({ tools: { a: ({ command }) => command.ordinal + 1 }, snapshotEvery: 50 });
    try {
      await engine.start(counting, { run: 'r' });
      expect(await engine.settled('r')).toMatchObject({ output: 400 });
      const short = (await store.journal.load('r')) as StoredRun;
      const whole = (await store.journal.load('r', { snapshot: false })) as StoredRun;
      expect(short.snapshot?.seq).toBeGreaterThan(100);
      expect(short.appends.length).toBeLessThan(whole.appends.length / 2);
      const program = programOf(counting);
      const [near, far] = [restoreRun('r', short, program), restoreRun('r', whole, program)];
      // The earliest wake-up is a lower bound that a look at the clock moves on.
      expect({ ...near.state, wake: null }).toEqual({ ...far.state, wake: null });
      expect([near.seq, near.head]).toEqual([far.seq, far.head]);
    } finally {
      await engine.close();
    }
  });

  test('L9: snapshots are written only where they save more than they cost', async () => {
    const written: number[] = [];
    const store = openMemory();
    const journal = {
      ...store.journal,
      commit: (...given: Parameters<typeof store.journal.commit>) => (
        written.push(...given[1].map(({ snapshot }) => snapshot?.body.length ?? 0)),
        store.journal.commit(...given)
      ),
    };
    const { engine } = openEngine({
      store: { ...store, journal },
      tools: { a: ({ command }) => command.ordinal + 1 },
      snapshotEvery: 10,
    });
    try {
      await engine.start(counting, { run: 'r' });
      await engine.settled('r');
      const bytes = ((await store.journal.load('r', { snapshot: false })) as StoredRun).appends.reduce(
        (sum, { body }) => sum + body.length,
        0,
      );
      expect(written.filter((length) => length > 0).length).toBeGreaterThan(1);
      expect(written.reduce((sum, length) => sum + length, 0)).toBeLessThan(bytes);
    } finally {
      await engine.close();
    }
  });

  test('L8, L12: a branch that came back from a snapshot hands back what it wrote and nothing else', () => {
    const heads = [
      { name: 'l', to: 'a' },
      { name: 'r', to: 'b' },
    ];
    const wrote = { writes: [{ slot: 'known', mode: 'set', value: 'it' }] } as const;
    const nodes = {
      known: set('known', '{"k": 1}', 'fork'),
      fork: forkOver({ heads }, 'end', { gather: [{ slot: 'known', mode: 'last' }] }),
      a: tool('a', 'done', wrote),
      b: tool('b', 'done'),
      done: end(),
      end: end('known'),
    };
    const core = new Core(flowOf(nodes));
    core.state = thawState(freezeState(core.state as never));
    core.answer('0:0.0#0', { k: 2 });
    core.answer('0:0.1#0', 1, 2);
    expect(core.state?.outcome?.output).toEqual({ k: 2 });
  });
});
