/** A store hears of what another connection has stored. */
import { expect, test, vi } from 'vitest';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { Chain, started } from '../../../testing/src/suite/sample.ts';
import type { Hint, Store } from '@sluice-internal/engine/ports';
import { openSqlite } from '../../src/index.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

function nextHint({ subscribe }: Store): Promise<Hint> {
  return new Promise((resolve) => {
    const stop = subscribe?.((hint) => {
      stop?.();
      resolve(hint);
    });
  });
}

test('a hint names the runs with new events, and says whether there is mail', async () => {
  const path = freshPath();
  const [here, there] = [openSqlite(path), openSqlite(path)];
  const chain = new Chain('r1');
  await started(here, 'w1', chain, 'r2');
  const appended = nextHint(there);
  await here.journal.commit('w1', [chain.next()]);
  expect(await appended).toEqual({ runs: ['r1'], mail: false });
  const posted = nextHint(there);
  await here.mail.post('r2', { type: 'cancel', by: 'ann', why: 'late' });
  expect(await posted).toEqual({ runs: [], mail: true });
  await here.close();
  await there.close();
});

test('what a store writes itself is no hint', async () => {
  const path = freshPath();
  const [here, there] = [openSqlite(path), openSqlite(path)];
  const own = vi.fn<(hint: Hint) => void>();
  const stop = here.subscribe?.(own);
  const heard = nextHint(there);
  await started(here, 'w1', 'r1');
  await heard;
  expect(own).not.toHaveBeenCalled();
  stop?.();
  await here.close();
  await there.close();
});

const { flow: gate } = compile({
  flow: { id: 'gate', entry: 'ask', nodes: [{ id: 'ask', type: 'approval', message: 'Go on?' }] },
});
const { flow: long } = compile({
  tools: { 'a.b': { effect: 'read' } },
  flow: { id: 'long', entry: 'call', nodes: [{ id: 'call', type: 'tool', tool: 'a.b' }] },
});

test('mail of another engine arrives although no poll for it ever happens, and events are heard to the end', async () => {
  const journal = freshPath();
  // The timers of the engine never fire.
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const called = Promise.withResolvers<void>();
  const tools = {
    'a.b': (_: unknown, { signal }: { signal: AbortSignal }) => {
      called.resolve();
      return new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)));
    },
  };
  const here = createEngine({ journal, tools });
  const there = createEngine({ journal, tools, pickUp: false });
  try {
    await here.start(long as CompiledFlow, { run: 'long' });
    await called.promise;
    await there.cancel('long', 'ann');
    expect((await here.settled('long')).state).toBe('cancelled');
    await here.start(gate as CompiledFlow, { run: 'gate' });
    const [question] = (await here.settled('gate')).waiting;
    const heard: string[] = [];
    const following = (async () => {
      for await (const { type } of here.events('gate')) heard.push(type);
    })();
    await there.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    await following;
    expect(heard.at(-1)).toBe('run.ended');
  } finally {
    vi.useRealTimers();
    await here.close();
    await there.close();
  }
});
