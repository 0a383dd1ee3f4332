/** Whatever the branches' latencies, a run comes to the same wherever the notation makes it deterministic. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { scriptedPerformer } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import { compile } from '@sluice-internal/notations/driver';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { draw } from '../../packages/kernel/src/core/random.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 1000;
const AGENTS = ['a', 'b', 'c', 'd', 'sum'];

const { flow } = compile(
  `
agents: [${AGENTS.map((id) => `{ id: ${id} }`).join(', ')}]
flow:
  id: race
  entry: split
  max_iterations: 20
  nodes:
    - id: split
      type: parallel
      branches: [{ to: left }, { to: middle }, { to: right }]
      routes: [{ when: "kind == 'c'", to: sum }]
    - { id: left, type: agent, agent: a, routes: [{ to: shared }] }
    - { id: middle, type: agent, agent: b, routes: [{ to: shared }] }
    - { id: right, type: agent, agent: c }
    - { id: shared, type: agent, agent: d, input: { task: "{{left.output}}{{middle.output}}" } }
    - { id: sum, type: agent, agent: sum, input: { task: "{{split.output}} {{shared.output}} {{kind}}" } }`,
  { hash: (text) => hash('sha256', text, 'hex') },
);

test(`${RUNS} runs with branch latencies of their own take one path (seed ${seed})`, { timeout: 120_000 }, async () => {
  const outcomes = new Set<string>();
  const engine = createRuntime({
    store: openMemory(),
    performer: {
      perform: (call) => {
        const { run, key, input } = call.command;
        return scriptedPerformer(scriptOf(run, key, String(input['prompt']))).perform(call);
      },
    },
    clock: createVirtualClock(),
    pickUp: false,
  });
  for (let index = 0; index < RUNS; index++) {
    const run = await engine.start(flow as CompiledFlow, { run: `r${index}`, input: null, seed: index });
    const { state, code, output, path, usage } = await engine.settled(run);
    outcomes.add(
      JSON.stringify({ state, code, output, path: path.toSorted(), last: path.at(-1), calls: usage.modelCalls }),
    );
  }
  await engine.close();
  expect([...outcomes].map((each) => JSON.parse(each) as object)).toEqual([
    {
      state: 'completed',
      code: 'SUCCESS',
      output: '{"left":"shared a","middle":"shared b","right":{"kind":"c"}} shared a c',
      path: ['left', 'middle', 'right', 'shared', 'shared', 'split', 'sum'],
      last: 'sum',
      calls: 6,
    },
  ]);
});

/** Every call takes its own time; what it answers depends on what it was told alone. */
function scriptOf(run: string, key: string, prompt: string): Script {
  const delayMs = Math.floor(draw(seed, `${run} ${key}`) * 1000);
  return {
    agents: {
      a: [{ text: 'a', delayMs }],
      b: [{ text: 'b', delayMs }],
      c: [{ text: '{"kind": "c"}', delayMs }],
      d: [
        { when: "input == 'a'", text: 'shared a', delayMs },
        { text: 'shared b', delayMs },
      ],
      sum: [{ text: prompt, delayMs }],
    },
  };
}
