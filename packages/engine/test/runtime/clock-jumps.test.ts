/** Jumps of the system clock: durations stay right, recorded instants never go back, waits are derived again. */
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Clock, CompiledFlow, Engine, ModelFunction } from '@sluice-internal/library';
import { realClock } from '@sluice-internal/engine/ports';
import { started } from '../../../testing/src/suite/sample.ts';
import { movableClock } from '../../../../test/support/movable-clock.ts';

const DAY = 86_400_000;
const { flow } = compile({
  steps: [
    { name: 'first', agent_name: 'one', timeout_secs: 20 },
    { name: 'second', agent_name: 'two', timeout_secs: 1 },
  ],
});
const { flow: asking } = compile({
  flow: {
    id: 'asking',
    entry: 'ask',
    nodes: [{ id: 'ask', type: 'approval', message: 'Go?', choices: ['yes', 'no'], timeout: 3600, on_timeout: 'no' }],
  },
});

/** The agents `one` and `two` reply as given; an agent that is missing never replies. */
function open(clock: Clock, agents: { [name: string]: () => string | Promise<string> }, store = openMemory()): Engine {
  const model: ModelFunction = ({ agent }) => agents[agent.name]?.() ?? new Promise(() => undefined);
  const engine = createEngine({ journal: store, clock, model });
  onTestFinished(() => engine.close());
  return engine;
}

async function instants(engine: Engine): Promise<number[]> {
  const found: number[] = [];
  for await (const { at } of engine.events('r', { live: false })) found.push(at);
  return found;
}

afterEach(() => void vi.useRealTimers());

test('a clock that goes back by a day freezes no run', async () => {
  const clock = movableClock();
  const engine = open(clock, {
    one: () => {
      clock.offset = -DAY;
      return 'done';
    },
  });
  await engine.start(flow as CompiledFlow, { run: 'r' });
  const { code, usage } = await engine.settled('r');
  expect(code).toBe('TIMEOUT');
  expect(usage.wallClockSeconds).toBeLessThan(20);
  const recorded = await instants(engine);
  expect(recorded).toEqual([...recorded].sort((a, b) => a - b));
});

test('a clock that goes forward by a day ends no call', async () => {
  const clock = movableClock();
  const engine = open(clock, {
    one: async () => {
      clock.offset = DAY;
      await realClock.sleep(300);
      return 'done';
    },
    two: () => 'done',
  });
  await engine.start(flow as CompiledFlow, { run: 'r' });
  const { code, usage } = await engine.settled('r');
  expect(code).toBe('SUCCESS');
  expect(usage.wallClockSeconds).toBeLessThan(20);
});

test('a later process with an earlier clock continues the run, and its time limits hold', async () => {
  const store = openMemory();
  const ahead = movableClock();
  ahead.offset = DAY;
  const first = open(ahead, {}, { ...store, close: async () => undefined });
  await first.start(flow as CompiledFlow, { run: 'r' });
  await first.close();
  const second = open(movableClock(), { one: () => 'done' }, store);
  expect((await second.settled('r')).code).toBe('TIMEOUT');
  const recorded = await instants(second);
  expect(recorded).toEqual([...recorded].sort((a, b) => a - b));
});

test('an approval expires at its hour also when the clock jumps there', async () => {
  const clock = movableClock();
  const notices: string[] = [];
  const engine = createEngine({ journal: openMemory(), clock, onNotice: (text) => notices.push(text) });
  onTestFinished(() => engine.close());
  await engine.start(asking as CompiledFlow, { run: 'r' });
  expect((await engine.settled('r')).state).toBe('suspended');
  clock.offset = 2 * 3_600_000;
  await expect.poll(async () => (await engine.get('r')).state).toBe('completed');
  expect(notices).toEqual([expect.stringMatching(/jumped forward by 7200 s/)]);
});

test.each([DAY, -DAY])('after a jump of %d ms no live worker seems to have lost its lease', async (jump) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const store = openMemory();
  await started(store, 'one', 'r');
  vi.setSystemTime(Date.now() + jump);
  await store.leases.renew('two', 10_000);
  expect(await store.leases.claim('two', { run: 'r' })).toEqual([]);
  expect(await store.leases.claim('two', { limit: 1 })).toEqual([]);
  expect(await store.leases.renew('one', 10_000)).toBe(Date.now());
});

test.each([DAY, -DAY])(
  'the time of a run is that of its store, whose clock is %d ms from that of the worker',
  async (ahead) => {
    const store = openMemory({ clock: { ...realClock, now: () => Date.now() + ahead } });
    const engine = createEngine({ journal: store, model: () => 'done' });
    onTestFinished(() => engine.close());
    await engine.start(flow as CompiledFlow, { run: 'r' });
    expect((await engine.settled('r')).code).toBe('SUCCESS');
    for (const at of await instants(engine)) expect(Math.abs(at - (Date.now() + ahead))).toBeLessThan(DAY / 2);
  },
);
