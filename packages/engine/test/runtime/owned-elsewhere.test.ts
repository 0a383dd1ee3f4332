/** Two engines on one database: what one is told about a run that the other has, or had. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';

const gates = compiled({
  flow: {
    id: 'gates',
    entry: 'a',
    nodes: [
      { id: 'a', type: 'approval', message: 'One?', routes: [{ to: 'b' }] },
      { id: 'b', type: 'approval', message: 'Two?' },
    ],
  },
});
const busy = compiled({
  tools: { 'slow.work': { effect: 'read' } },
  flow: {
    id: 'busy',
    entry: 'both',
    nodes: [
      { id: 'both', type: 'parallel', branches: [{ to: 'gate' }, { to: 'work' }] },
      { id: 'gate', type: 'approval', message: 'Go on?' },
      { id: 'work', type: 'tool', tool: 'slow.work' },
    ],
  },
});

test('an answer that the run refuses is refused also where another engine works on it', async () => {
  let finish: (value: null) => void = () => undefined;
  const [here, there] = pair({ 'slow.work': () => new Promise((resolve) => (finish = resolve)) });
  await here.start(busy, { run: 'r', input: {} });
  const [question] = await there.approvals('r');
  const id = question?.id as string;
  await expect(there.answer(id, { choice: 'maybe', by: 'ann' })).rejects.toMatchObject({ code: 'not-a-choice' });
  await expect(there.answer('a_r.9.9', { choice: 'approve', by: 'ann' })).rejects.toMatchObject({
    code: 'approval-closed',
  });
  await here.answer(id, { choice: 'approve', by: 'ann' });
  await expect(there.answer(id, { choice: 'reject', by: 'bob' })).rejects.toMatchObject({ code: 'approval-closed' });
  finish(null);
  expect((await here.settled('r')).approvals).toEqual({ gate: 'approve' });
});

test('a run that waits has no owner, after any command on it', async () => {
  const [here] = pair({});
  await here.start(gates, { run: 'r', input: {} });
  await here.wait('r');
  const owner = async (): Promise<unknown> => (await here.list())[0]?.owner;
  expect(await owner()).toBeNull();
  await here.resume('r');
  expect(await owner()).toBeNull();
  const [first] = await here.approvals('r');
  await here.answer(first?.id as string, { choice: 'approve', by: 'ann' });
  await here.wait('r');
  expect(await owner()).toBeNull();
});

test('who follows a run misses nothing when it changes hands', async () => {
  const [here, there] = pair({});
  await here.start(gates, { run: 'r', input: {} });
  await here.wait('r');
  const seen: number[] = [];
  const following = (async () => {
    for await (const { seq } of there.events('r')) seen.push(seq);
  })();
  const answerNext = async (engine: Engine): Promise<void> => {
    const [question] = await engine.approvals('r');
    await engine.answer(question?.id as string, { choice: 'approve', by: 'ann' });
    await engine.wait('r');
  };
  // It has read what was there, and listens from now on.
  while (seen.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await answerNext(here);
  await answerNext(there);
  await following;
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => index + 1));
  expect((await there.get('r')).code).toBe('SUCCESS');
});

test('closing twice closes once: both calls resolve when it is done', async () => {
  const [engine] = pair({});
  let closed = false;
  const first = engine.close().then(() => (closed = true));
  await engine.close();
  expect(closed).toBe(true);
  await first;
});

function pair(tools: { readonly [name: string]: () => Promise<null> }): readonly [Engine, Engine] {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-hands-'));
  const open = (): Engine => createEngine({ journal: join(dir, 'runs.db'), tools, pickUp: false });
  const engines = [open(), open()] as const;
  onTestFinished(async () => {
    for (const engine of engines) await engine.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return engines;
}

function compiled(document: object): CompiledFlow {
  const { flow, diagnostics } = compile(document);
  if (flow === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return flow;
}
