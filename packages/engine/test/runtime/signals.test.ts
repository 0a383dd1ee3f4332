/** Signals and timers: sent from outside, across engines, and fired by any engine that is open. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';

const parcel = compiled({
  flow: {
    id: 'parcel',
    entry: 'sent',
    nodes: [
      { id: 'sent', type: 'wait', signal: 'shipped', routes: [{ to: 'done' }] },
      { id: 'done', type: 'terminal', output: '{{sent.data}}' },
    ],
  },
});
const nap = compiled({
  flow: { id: 'nap', entry: 'nap', nodes: [{ id: 'nap', type: 'wait', for: 0.6, routes: [{ to: 'end' }] }] },
});
const late = compiled({
  flow: {
    id: 'late',
    entry: 'sent',
    nodes: [
      { id: 'sent', type: 'wait', signal: 'shipped', timeout: 0.6, on_timeout: 'none', routes: [{ to: 'end' }] },
      { id: 'none', type: 'terminal', output: 'no parcel' },
    ],
  },
});

test('a signal ends the wait, and its data is read by the flow', async () => {
  const engine = open(place());
  await engine.start(parcel, { run: 'r' });
  const waiting = await engine.settled('r');
  expect(waiting).toMatchObject({ state: 'suspended', waits: [{ node: 'sent', signal: 'shipped', until: null }] });
  await expect(engine.signal('r', 'shiped')).rejects.toMatchObject({
    code: 'signal-not-awaited',
    message: expect.stringContaining('it waits for `shipped`') as string,
  });
  await engine.signal('r', 'shipped', { data: { track: '1Z' }, by: 'shop' });
  expect(await engine.settled('r')).toMatchObject({ code: 'SUCCESS', output: { track: '1Z' }, waits: [] });
  await expect(engine.signal('r', 'shipped')).rejects.toMatchObject({ code: 'run-ended' });
});

test('the node is as good a name as the signal', async () => {
  const engine = open(place());
  await engine.start(parcel, { run: 'r' });
  await engine.wait('r');
  await engine.signal('r', 'sent', { data: 1 });
  expect(await engine.settled('r')).toMatchObject({ code: 'SUCCESS', output: 1 });
});

test('a wait survives the engine that began it, and another engine takes the signal', async () => {
  const db = place();
  const first = open(db);
  await first.start(parcel, { run: 'r' });
  await first.wait('r');
  await first.close();
  const second = open(db);
  await second.signal('r', 'shipped', { data: 2 });
  expect(await second.settled('r')).toMatchObject({ code: 'SUCCESS', output: 2 });
});

test('a signal reaches a run that another engine works on', async () => {
  const db = place();
  const [here, there] = [open(db), open(db)];
  const flow = compiled({
    flow: {
      id: 'both',
      entry: 'both',
      nodes: [
        { id: 'both', type: 'parallel', branches: [{ to: 'sent' }, { to: 'work' }] },
        { id: 'sent', type: 'wait', signal: 'shipped' },
        { id: 'work', type: 'wait', for: 2 },
      ],
    },
  });
  await here.start(flow, { run: 'r' });
  await there.signal('r', 'shipped', { data: 3 });
  expect(await here.settled('r')).toMatchObject({ code: 'SUCCESS', output: { sent: 3 } });
});

test('a timer fires in the engine that has the run, and in one that opens after the first has closed', async () => {
  const db = place();
  const first = open(db);
  await first.start(nap, { run: 'here' });
  expect(await first.settled('here')).toMatchObject({ code: 'SUCCESS' });
  await first.start(nap, { run: 'there' });
  await first.close();
  const second = open(db);
  expect(await second.settled('there')).toMatchObject({ code: 'SUCCESS' });
});

test('an expiry fires in any open engine, also one that did not start the run', async () => {
  const db = place();
  const first = open(db);
  await first.start(late, { run: 'r' });
  await first.wait('r');
  await first.close();
  const second = open(db);
  await expect.poll(async () => (await second.get('r')).output).toBe('no parcel');
});

test('waits are in the events of a run', async () => {
  const engine = open(place());
  await engine.start(parcel, { run: 'r' });
  await engine.wait('r');
  await engine.signal('r', 'shipped', { data: 1, by: 'shop' });
  await engine.wait('r');
  const seen = [];
  for await (const event of engine.events('r', { live: false })) seen.push(event);
  expect(seen).toContainEqual(expect.objectContaining({ type: 'effect.requested', kind: 'wait', signal: 'shipped' }));
  expect(seen).toContainEqual(
    expect.objectContaining({ type: 'effect.settled', result: { ok: true, value: { data: 1, by: 'shop' } } }),
  );
});

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-signals-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'runs.db');
}

function open(journal: string): Engine {
  const engine = createEngine({ journal });
  onTestFinished(() => engine.close());
  return engine;
}

function compiled(document: object): CompiledFlow {
  const { flow, diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return flow as CompiledFlow;
}
