/** L7: a call that an earlier process may have made, and that cannot be made again, has an unknown outcome. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { PerformError, createEngine, openSqlite } from '@sluice-internal/library';
import type { Engine } from '@sluice-internal/library';
import type { Failure } from '@sluice-internal/kernel/ir';
import { compiled } from '../../../../test/support/harness.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-repeated-calls-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const flowWith = (effect: string, more: object = {}) =>
  compiled({
    tools: { 'pay.do': { effect, compensate: 'pay.undo' }, 'pay.undo': { effect: 'financial' } },
    flow: { id: 'pays', entry: 'pay', nodes: [{ id: 'pay', type: 'tool', tool: 'pay.do', ...more }] },
  });
const DOWN: Failure = { class: 'transient', type: 'ConnectionError', message: 'cannot be reached', notSent: true };

let databases = 0;

interface Second {
  readonly failure: Failure;
  /** The answer if a person is asked whether the call happened. */
  readonly decision: string;
}

/** The call is open when the first process ends. In the second one it fails. */
async function resumed(flow: ReturnType<typeof flowWith>, failure: Failure, decision = 'approve') {
  const file = join(dir, `${databases++}.db`);
  const opened = Promise.withResolvers<void>();
  const first = engineOn(file, () => {
    opened.resolve();
    return new Promise(() => undefined);
  });
  const run = await first.start(flow);
  await opened.promise;
  await first.close();
  return ended(run, file, { failure, decision });
}

async function ended(run: string, file: string, { failure, decision }: Second) {
  const calls: string[] = [];
  await using engine = engineOn(file, (tool) => {
    calls.push(tool);
    return tool === 'pay.do' ? Promise.reject(new PerformError(failure)) : Promise.resolve(null);
  });
  await engine.resume(run);
  const stopped = await engine.settled(run);
  if (stopped.state !== 'suspended') return { report: stopped, calls, asked: [] };
  const asked = stopped.waiting.map(({ node }) => [node, calls.length]);
  for (const { id } of stopped.waiting) await engine.answer(id, { choice: decision, by: 'ann' });
  return { report: await engine.settled(run), calls, asked };
}

function engineOn(file: string, perform: (tool: string) => Promise<null>): Engine {
  const performer = {
    perform: async ({ command }: { command: { name: string } }) =>
      ({ ok: true, value: await perform(command.name) }) as const,
  };
  return createEngine({ journal: openSqlite(file), pickUp: false, performer });
}

test('it is undone after a person said that it happened, and its receipt shows it', async () => {
  const { report, calls, asked } = await resumed(flowWith('financial'), DOWN);
  expect(asked).toEqual([['pay', 1]]);
  expect(calls).toEqual(['pay.do', 'pay.undo']);
  expect(report).toMatchObject({
    code: 'TIMEOUT',
    error: { type: 'ConnectionError', message: 'cannot be reached; an earlier process may have made the call' },
    receipts: [{ tool: 'pay.do', status: 'compensated' }],
  });
});

test('it is not undone if a person said that it did not happen', async () => {
  const { report, calls, asked } = await resumed(flowWith('financial'), DOWN, 'reject');
  expect([asked, calls]).toEqual([[['pay', 1]], ['pay.do']]);
  expect(report.receipts.map(({ status }) => status)).not.toContain('compensated');
});

test.each<[string, ReturnType<typeof flowWith>, Failure]>([
  ['the service answered', flowWith('financial'), { class: 'fatal', type: 'E', message: 'no' }],
  ['the tool only reads', flowWith('read'), DOWN],
])('%s: the failure stays as it is', async (_, flow, failure) => {
  const { report, calls } = await resumed(flow, failure);
  expect(calls).toEqual(['pay.do']);
  expect(report).toMatchObject({ code: 'UNAVAILABLE_DEP', error: { message: failure.message }, receipts: [] });
});

test('a process that makes the call for the first time knows that nothing was sent', async () => {
  const calls: string[] = [];
  await using engine = engineOn(join(dir, 'first.db'), (tool) => {
    calls.push(tool);
    return Promise.reject(new PerformError(DOWN));
  });
  const report = await engine.settled(
    await engine.start(flowWith('financial', { retry: { max_attempts: 2, backoff_ms: 1 } })),
  );
  expect(calls).toEqual(['pay.do', 'pay.do']);
  expect(report).toMatchObject({ error: { message: 'cannot be reached' }, receipts: [] });
});
