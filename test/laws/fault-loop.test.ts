/**
 * The fault loop: the process dies at the first commit, at the second, at the n-th, until a run gets through without
 * dying; and once more at every commit of the process that takes over. Each run must end as the one that nobody disturbed.
 */
import { describe, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { audit, replay } from '@sluice-internal/engine/audit';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Performer, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { readRun } from '@sluice-internal/engine/journal';
import { randomRun } from '../simulate/random-run.ts';
import type { Death } from './dying-store.ts';
import { dyingStore } from './dying-store.ts';
import { NO_RETRY, ask, end, flowOf, forkOver, meter, pick, set, tool, undoable } from './flow.ts';

interface Case {
  readonly flow: CompiledFlow;
  readonly input: Json;
  readonly perform: Performer['perform'];
  readonly answer: NonNullable<Performer['answer']>;
}

const heads = [
  { name: 'l', to: 'a' },
  { name: 'r', to: 'b' },
];
const retry = { ...NO_RETRY, max: 2, baseMs: 10, capMs: 50, on: ['transient'] } as const;
const flows: { readonly [name: string]: CompiledFlow } = {
  chain: flowOf({ a: tool('a', 'b'), b: tool('b', 'c', { retry }), c: tool('c', 'end'), end: end('[a, b, c]') }),
  loop: flowOf(
    {
      n: set('n', '0', 'a'),
      a: tool('a', 'm', { charges: ['v'] }),
      m: set('n', 'n + 1', 'p'),
      p: pick('n < 4', 'a', 'end'),
      end: end('[n, a]'),
    },
    { meters: { v: meter('visits', 9) } },
  ),
  question: flowOf({ a: tool('a', 'q'), q: ask('q', 'b'), b: tool('b', 'end'), end: end('[q.choice, b]') }),
  fork: flowOf({
    fork: forkOver({ heads }, 'end'),
    a: tool('a', 'a2'),
    a2: tool('c', 'done'),
    b: tool('b', 'done'),
    done: end('[a, b]'),
    end: end('all'),
  }),
  list: flowOf({
    fork: forkOver({ each: '[1, 2, 3, 4]', as: 'item', head: 'a' }, 'end', { widthMax: 2 }),
    a: tool('a', 'done', { effect: { input: { item: 'item' } } }),
    done: end('a'),
    end: end('all'),
  }),
  repeat: flowOf(
    {
      n: set('n', '0', 'a'),
      a: undoable('a', 'b', { charges: ['v'] }),
      b: undoable('b', 'm'),
      m: set('n', 'n + 1', 'p'),
      p: pick('n < 3', 'again', 'end'),
      again: { ...set('n', 'n', 'a'), undoes: 'all' },
      end: end('[n, a]'),
    },
    { meters: { v: meter('visits', 9) } },
  ),
  undo: flowOf({ a: undoable('a', 'b'), b: undoable('b', 'z'), z: tool('z', 'end'), end: end() }),
};

/** The answer depends on what is asked alone, so that asking again changes nothing. */
const perform: Performer['perform'] = async ({ command }) => {
  const { name, key, attempt, input } = command;
  if (name === 'z') return { ok: false, error: { class: 'fatal', type: 'E', message: 'broken' } };
  if (name === 'b' && attempt === 1 && key === '0#1')
    return { ok: false, error: { class: 'transient', type: 'E', message: 'again' } };
  return { ok: true, value: `${name} ${key} ${JSON.stringify(input)}` };
};
const cases: { readonly [name: string]: Case } = {
  ...Object.fromEntries(
    Object.entries(flows).map(([name, flow]) => [
      name,
      { flow, input: 1, perform, answer: () => ({ choice: 'approve', by: 'ann' }) } satisfies Case,
    ]),
  ),
  ...Object.fromEntries([11, 12, 13, 14, 15, 16].map((seed) => [`random ${seed}`, randomCase(seed)])),
};

function randomCase(seed: number): Case {
  const { flow, input, world } = randomRun(seed);
  return {
    flow,
    input,
    perform: async ({ command, signal }) =>
      world.perform(command) ??
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up')), { once: true })),
    answer: ({ question }) => world.answer(question),
  };
}

interface Outcome {
  readonly outcome: Json;
  readonly slots: Json;
  readonly spent: Json;
  readonly effects: readonly string[];
}

/** One process; true when it saw the run to its end. */
async function process(given: Case, shared: Store, death: Death, effects: Set<string>): Promise<boolean> {
  const { store, died } = dyingStore(shared, death);
  const clock = createVirtualClock(1_000_000);
  const performer: Performer = {
    answer: given.answer,
    perform: (call) => {
      effects.add(`${call.command.key} ${call.command.attempt} ${call.idempotencyKey}`);
      return given.perform(call);
    },
  };
  const engine = createRuntime({ store, performer, clock, pickUp: false });
  try {
    await engine.start(given.flow, { run: 'r', input: given.input, seed: 7 });
    await engine.settled('r');
    return true;
  } catch (error) {
    if (!died()) throw error;
    return false;
  } finally {
    await engine.close();
  }
}

async function live(
  given: Case,
  deaths: readonly Death[],
): Promise<{ readonly lives: number; readonly came: Outcome }> {
  // The keys of effects include the id of the store.
  const shared = { ...openMemory(), id: 'store' };
  const effects = new Set<string>();
  let lives = 0;
  while (!(await process(given, shared, deaths[lives] ?? { at: 0, when: 'before' }, effects))) lives += 1;
  const { state } = await readRun(shared.journal, 'r');
  expect(await audit(shared.journal, 'r')).toMatchObject({ ok: true });
  expect(await replay(shared.journal, 'r')).toMatchObject({ agrees: true });
  const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;
  return {
    lives,
    came: {
      outcome: plain(state.outcome),
      slots: plain(state.threads.get('0')?.slots),
      spent: plain(state.spent),
      effects: [...effects].sort(),
    },
  };
}

describe('the fault loop', () => {
  test.each(Object.keys(cases))('L8: %s ends the same, whichever commit the process dies at', async (name) => {
    const given = cases[name] as Case;
    const { came: quiet } = await live(given, []);
    for (const when of ['before', 'after'] as const) {
      let at = 1;
      for (let lives = 1; lives > 0; at++) {
        const disturbed = await live(given, [{ at, when }]);
        expect({ at, when, ...disturbed.came }).toEqual({ at, when, ...quiet });
        lives = disturbed.lives;
      }
      expect(at).toBeGreaterThan(1);
    }
  });

  test('L8: a run gets through although every process dies at its third commit', async () => {
    for (const name of Object.keys(flows)) {
      const given = cases[name] as Case;
      const { came: quiet } = await live(given, []);
      const deaths = Array.from(
        { length: 200 },
        (_, i) => ({ at: 3, when: i % 2 === 0 ? 'before' : 'after' }) as const,
      );
      const { came, lives } = await live(given, deaths);
      expect({ name, ...came }).toEqual({ name, ...quiet });
      expect(lives).toBeLessThan(200);
    }
  });

  test('L8: starting again under the same id is the same start', async () => {
    const given = cases['chain'] as Case;
    const { came, lives } = await live(given, [
      { at: 1, when: 'after' },
      { at: 1, when: 'before' },
    ]);
    expect(lives).toBe(2);
    expect(came).toEqual((await live(given, [])).came);
  });
});
