/** Callers that wait for a run when its engine closes, and callers that do not want to wait for people. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RunWaitsError, compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CreateEngineOptions, Engine, Run } from '@sluice-internal/library';

const ASKS = { flow: { id: 'f', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Pay 5?' }] } };
const WORKS = {
  agents: [{ id: 'bot', instructions: 'Work.' }],
  flow: { id: 'g', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
};

function stores(): readonly (readonly [string, () => NonNullable<CreateEngineOptions['journal']>])[] {
  const file = (): string => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    return join(dir, 'runs.db');
  };
  return [
    ['memory', openMemory],
    ['a file', file],
  ];
}

const waitersOf = (engine: Engine, run: Run): { readonly [name: string]: Promise<unknown> } => ({
  result: run.result(),
  waiting: run.waiting(),
  settled: engine.settled(run.id),
  wait: engine.wait(run.id),
});

describe.each(stores())('in %s, when the engine closes', (_, journal) => {
  test('everybody who waits for a run at work gets engine-closed', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const model = ({ signal }: { signal: AbortSignal }) => {
      resolve();
      return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    };
    const engine = createEngine({ journal: journal(), model });
    const run = await engine.run(compile(WORKS));
    const waiters = waitersOf(engine, run);
    const rejected = Object.entries(waiters).map(([name, waiter]) =>
      expect(waiter, name).rejects.toMatchObject({ code: 'engine-closed' }),
    );
    await asked;
    await engine.close();
    await Promise.all(rejected);
  });

  test('the result of a run that waits for a person is rejected with engine-closed', async () => {
    const engine = createEngine({ journal: journal() });
    const run = await engine.run(compile(ASKS), {});
    await run.waiting();
    const [result] = await Promise.allSettled([run.result(), engine.close()]);
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'engine-closed' } });
    await expect(run.waiting()).rejects.toMatchObject({ code: 'engine-closed' });
  });

  test('a run that has ended keeps its result', async () => {
    const engine = createEngine({ journal: journal(), model: async () => 'done' });
    const run = await engine.run(compile(WORKS));
    expect(await run.result()).toMatchObject({ output: 'done' });
    await engine.close();
  });
});

describe('a result that needs a person', () => {
  test('`throw` gives the open questions', async () => {
    const engine = createEngine({ journal: openMemory() });
    onTestFinished(() => engine.close());
    const run = await engine.run(compile(ASKS), {});
    const error = await run.result({ onQuestion: 'throw' }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RunWaitsError);
    expect(error).toMatchObject({ code: 'run-waits', waiting: [{ node: 'gate', message: 'Pay 5?' }] });
    await run.answer('gate', 'approve', { by: 'anna' });
    expect(await run.result({ onQuestion: 'throw' })).toMatchObject({ code: 'SUCCESS' });
  });

  test('by default the questions are told once, and the result waits', async () => {
    const notices: string[] = [];
    const { promise: told, resolve } = Promise.withResolvers<void>();
    const onNotice = (message: string): void => {
      notices.push(message);
      if (message.includes('Pay 5?')) resolve();
    };
    const engine = createEngine({ journal: openMemory(), onNotice });
    onTestFinished(() => engine.close());
    const run = await engine.run(compile(ASKS), {});
    const result = run.result();
    await told;
    await run.answer('gate', 'approve', { by: 'anna' });
    expect(await result).toMatchObject({ code: 'SUCCESS' });
    expect(notices.filter((message) => message.includes('waits for a person'))).toHaveLength(1);
  });
});
