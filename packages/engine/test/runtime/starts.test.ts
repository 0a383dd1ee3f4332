/** Starting: idempotent also when it is asked for at once, and clear where there is nothing to start. */
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';

const flow = compiled({ tools: { 'a.b': { effect: 'read' } }, flow: oneNode({ type: 'tool', tool: 'a.b' }) });
const steps = compiled({ steps: [{ name: 'one', agent_name: 'worker' }] });

describe.each(['memory', 'sqlite'])('on %s', (kind) => {
  test('several starts under one id at the same time are one run', async () => {
    let calls = 0;
    const engine = open(kind, { 'a.b': () => (calls += 1) });
    const starts = [1, 2, 3].map(() => engine.start(flow, { run: 'same', input: { a: 1, b: 2 } }));
    expect(await Promise.all(starts)).toEqual(['same', 'same', 'same']);
    expect(await engine.start(flow, { run: 'same', input: { b: 2, a: 1 } })).toBe('same');
    await engine.settled('same');
    expect(calls).toBe(1);
    const other = [engine.start(flow, { run: 'two', input: 1 }), engine.start(flow, { run: 'two', input: 2 })];
    expect((await Promise.allSettled(other)).map(codeOf)).toEqual(['started', 'run-exists']);
  });

  test('an equal start gives the first run: the same input, user and deadline, also under a newer version of the flow', async () => {
    const engine = open(kind, { 'a.b': () => 1 });
    const deadline = Date.now() + 60_000;
    const first = { run: 'same', input: { a: 1 }, origin: { user: 'ann' }, deadline };
    await engine.settled(await engine.start(flow, first));
    const newer = compiled({
      tools: { 'a.b': { effect: 'read', description: 'newer' } },
      flow: oneNode({ type: 'tool', tool: 'a.b' }),
    });
    expect(newer.hash).not.toBe(flow.hash);
    expect(await engine.start(newer, first)).toBe('same');
    const other = compiled({ tools: { 'a.b': {} }, flow: { ...oneNode({ type: 'tool', tool: 'a.b' }), id: 'other' } });
    for (const [change, flowGiven] of [
      [{ input: { a: 2 } }, flow],
      [{ origin: { user: 'bob' } }, flow],
      [{ origin: {} }, flow],
      [{ deadline: deadline + 1 }, flow],
      [{}, other],
    ] as const)
      await expect(engine.start(flowGiven, { ...first, ...change })).rejects.toMatchObject({ code: 'run-exists' });
  });

  test('the id of a removed run is refused as removed, at every kind of start', async () => {
    const engine = open(kind, {}, { workflow: 1 });
    for (const run of ['r1', 'r2']) await engine.settled(await engine.start(steps, { run, input: 'x' }));
    const refused = {
      code: 'run-removed',
      message: expect.stringMatching(/run `r1` was removed by retention on 2\d{3}-/) as string,
    };
    await expect(engine.start(steps, { run: 'r1', input: 'x' })).rejects.toMatchObject(refused);
    await expect(engine.fork('r2', { at: 1, run: 'r1' })).rejects.toMatchObject(refused);
  });

  test('a thread has one open run; the next one may start when it has ended', async () => {
    const engine = open(kind, { 'a.b': () => 1 });
    const ask = compiled({
      flow: {
        id: 'demo',
        entry: 'gate',
        nodes: [
          { id: 'gate', type: 'approval', message: 'go?', routes: [{ to: 'done' }] },
          { id: 'done', type: 'terminal', output: 'done' },
        ],
      },
    });
    await engine.start(ask, { run: 'r1', thread: 't' });
    const [question] = (await engine.settled('r1')).waiting;
    await expect(engine.start(flow, { run: 'r2', thread: 't' })).rejects.toMatchObject({
      code: 'thread-busy',
      message: 'the thread `t` has an open run, `r1`',
    });
    // The same start again is no second run.
    expect(await engine.start(ask, { run: 'r1', thread: 't' })).toBe('r1');
    await engine.settled(await engine.start(flow, { run: 'r3', thread: 'u' }));
    // A fork is a run of its own.
    await engine.fork('r1', { at: 2, run: 'copy' });
    await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    await engine.settled('r1');
    await engine.settled(await engine.start(flow, { run: 'r2', thread: 't' }));
    expect((await engine.list({ thread: 't' })).map(({ run }) => run)).toEqual(['r2', 'r1']);
    for (const thread of ['', 'a\nb', 'x'.repeat(201)])
      await expect(engine.start(flow, { thread })).rejects.toMatchObject({ code: 'bad-start' });
  });

  test('no more runs of a notation are kept than it says, the one that was started included', async () => {
    const engine = open(kind, {}, { workflow: 3 });
    for (let run = 0; run < 5; run += 1)
      await engine.settled(await engine.start(steps, { run: `r${run}`, input: 'x' }));
    expect((await engine.list()).map(({ run }) => run).sort()).toEqual(['r2', 'r3', 'r4']);
  });
});

test('what cannot be started is refused with the reason', async () => {
  const engine = open('memory', { 'a.b': () => null });
  const { flow: none } = compile({ flow: { id: 'broken' } });
  await expect(engine.start(none as unknown as CompiledFlow)).rejects.toMatchObject({ code: 'bad-start' });
  for (const input of [() => 1, 1n, circle()])
    await expect(engine.start(flow, { input: input as never })).rejects.toMatchObject({ code: 'bad-start' });
});

test('an id that a run of another tenant has is taken', async () => {
  const journal = openMemory();
  const tools = { 'a.b': () => null };
  await using engine = createEngine({ journal, tools });
  await using acme = createEngine({ journal, tools, tenant: 'acme' });
  await engine.settled(await engine.start(flow, { run: 'one' }));
  await expect(acme.start(flow, { run: 'one' })).rejects.toMatchObject({ code: 'run-exists' });
  await acme.settled(await acme.start(flow, { run: 'two' }));
});

test('an input is taken as the journal will have it', async () => {
  const engine = open('memory', { 'a.b': () => null });
  const input = { when: new Date(0), gone: undefined };
  await engine.start(flow, { run: 'dated', input: input as never });
  expect(await engine.start(flow, { run: 'dated', input: { when: '1970-01-01T00:00:00.000Z' } })).toBe('dated');
});

function open(
  kind: string,
  tools: { readonly [name: string]: () => null | number },
  retain: { readonly [notation: string]: number } = {},
): Engine {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-starts-'));
  const journal = kind === 'memory' ? openMemory() : join(dir, 'runs.db');
  const engine = createEngine({ journal, tools, retain, model: () => 'done' });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return engine;
}

function oneNode(node: object): object {
  return { id: 'demo', entry: 'only', nodes: [{ id: 'only', ...node }] };
}

function compiled(document: object): CompiledFlow {
  const { flow: result, diagnostics } = compile(document);
  if (result === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return result;
}

function codeOf(result: PromiseSettledResult<unknown>): string {
  return result.status === 'fulfilled' ? 'started' : (result.reason as { code: string }).code;
}

function circle(): object {
  const round: { self?: object } = {};
  round.self = round;
  return round;
}
