/** The named times of a tool call: an attempt, the queue, the whole, and the silence of a function. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openMemory, replay, tool } from '@sluice-internal/library';
import type { CompiledFlow, Report, ToolContext } from '@sluice-internal/library';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Performer } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { flowOf, lab } from './run-flow.ts';

const callOf = (declared: object, node: object = {}) => ({
  tools: { 'slow.look': { effect: 'read', ...declared } },
  flow: { id: 't', entry: 'a', nodes: [{ id: 'a', type: 'tool', tool: 'slow.look', ...node }] },
});

function problems(declared: object): readonly string[] {
  return compile(callOf(declared)).diagnostics.map(({ code, message }) => `${code}: ${message}`);
}

describe('what a document may declare', () => {
  test('seconds are those of an attempt; the times can be named', () => {
    expect(flowOf(callOf({ timeout: 7 })).tools['slow.look']).toMatchObject({ timeoutMs: 7000 });
    const timeout = { attempt: 60, whole: 90, heartbeat: 5 };
    expect(flowOf(callOf({ timeout })).tools['slow.look']).toMatchObject({
      timeoutMs: 60_000,
      wholeMs: 90_000,
      heartbeatMs: 5000,
    });
    expect(flowOf(callOf({ timeout: { whole: 90 } })).tools['slow.look']).toMatchObject({ timeoutMs: 30_000 });
  });

  test.for([
    [{ http: { url: 'https://x.example' }, timeout: { heartbeat: 5 } }, 'a tool with `http` gives no sign of life'],
    [{ timeout: { attempt: 5, heartbeat: 5 } }, 'the heartbeat is not shorter than the attempt'],
    [{ timeout: { queue: 5 } }, 'nothing makes this tool wait'],
    [{ timeout: { attempt: 20, whole: 10 } }, 'the whole call has less time than one attempt'],
  ] as const)('%j is refused', ([declared, message]) => {
    expect(problems(declared)).toEqual([expect.stringMatching(/^not-enforced/)]);
    expect(problems(declared)[0]).toContain(message);
  });

  test('a misspelt time is named, and a built-in tool has no heartbeat', () => {
    const [misspelt] = compile(callOf({ timeout: { atempt: 5 } })).diagnostics;
    expect(misspelt).toMatchObject({ code: 'unknown-key', help: expect.stringContaining('attempt') });
    const { diagnostics } = compile({
      tools: { read_file: { timeout: { heartbeat: 5 } } },
      flow: { id: 't', entry: 'a', nodes: [{ id: 'a', type: 'tool', tool: 'read_file', params: { path: 'a' } }] },
    });
    expect(diagnostics).toMatchObject([{ code: 'not-enforced' }]);
  });
});

const LIMIT = { rate_limit: { calls: 1, per_seconds: 60 } };

test('a call whose rate limit has no place in time is not made', async () => {
  const two = (timeout: object) => ({
    tools: { 'slow.look': { effect: 'read', ...LIMIT, timeout } },
    flow: {
      id: 't',
      entry: 'a',
      nodes: [
        { id: 'a', type: 'tool', tool: 'slow.look', routes: [{ to: 'b' }] },
        { id: 'b', type: 'tool', tool: 'slow.look' },
      ],
    },
  });
  // Without the limit that runs of one process share, as after a restart: only the times in the journal count.
  const clock = createVirtualClock(0);
  let calls = 0;
  const perform: Performer['perform'] = async ({ command: { kind } }) =>
    kind === 'check' ? { ok: true, value: { verdicts: { rate: { ok: true } } } } : { ok: true, value: ++calls };
  const engine = createRuntime({ store: openMemory(), clock, performer: { perform } });
  const refused = await engine.settled(await engine.start(flowOf(two({ queue: 59 }))));
  expect(refused).toMatchObject({ code: 'UNAVAILABLE_DEP', error: { type: 'RateLimitError', class: 'rate_limit' } });
  expect([calls, clock.now()]).toEqual([1, 0]);
  expect(await engine.settled(await engine.start(flowOf(two({ queue: 60 }))))).toMatchObject({ code: 'SUCCESS' });
  expect([calls, clock.now()]).toEqual([3, 60_000]);
  await engine.close();
});

test('the limit that runs share has a queue too', async () => {
  const store = openMemory();
  const clock = createVirtualClock(0);
  let calls = 0;
  const engine = createEngine({ journal: store, clock, tools: { 'slow.look': async () => ++calls } });
  const once = (timeout: object) => flowOf(callOf({ ...LIMIT, timeout }));
  expect(await engine.settled(await engine.start(once({ queue: 59 })))).toMatchObject({ code: 'SUCCESS' });
  const refused = await engine.settled(await engine.start(once({ queue: 59 })));
  expect(refused).toMatchObject({ code: 'UNAVAILABLE_DEP', error: { type: 'RateLimitError' } });
  expect([calls, clock.now()]).toEqual([1, 0]);
  expect(await engine.settled(await engine.start(once({ queue: 61 })))).toMatchObject({ code: 'SUCCESS' });
  await engine.close();
});

test('no attempt begins or goes on after the time of the whole call', async () => {
  const starts: number[] = [];
  const flow = flowOf(callOf({ timeout: { attempt: 30, whole: 70 } }, { retry: { max_attempts: 10, backoff_ms: 0 } }));
  // It never answers, so every attempt takes all of its time.
  const { run, events, clock } = lab(async (_, at) => {
    starts.push(at);
    return new Promise(() => {});
  });
  const report = await run(flow);
  expect(report).toMatchObject({ code: 'REPEATED_FAILURE', error: { type: 'TimeoutError' } });
  expect(report.error?.message).toContain('the 70 s of the whole call are over');
  expect(starts).toEqual([0, 30_000, 60_000]);
  expect(clock.now()).toBe(70_000);
  expect((await events(report.run)).length).toBeGreaterThan(3);
});

/** Runs the tool in real time, whatever the clock of the run is. */
async function beating(run: (context: ToolContext) => Promise<string>, timeout: object): Promise<Report> {
  const { flow } = compile(callOf({ timeout }));
  const store = openMemory();
  const engine = createEngine({ journal: store, tools: { 'slow.look': async (_, context) => run(context) } });
  const report = await engine.settled(await engine.start(flow as CompiledFlow));
  expect(await replay(store.journal, report.run)).toMatchObject({ agrees: true });
  await engine.close();
  return report;
}

describe('heartbeats', () => {
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test('a function that is silent is lost, and learns it', async () => {
    let reason: unknown;
    const report = await beating(
      async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reason = signal.aborted;
        return 'late';
      },
      { heartbeat: 0.05 },
    );
    expect(report).toMatchObject({ code: 'TIMEOUT', error: { type: 'HeartbeatError', class: 'timeout' } });
    expect(report.error?.message).toContain('`slow.look` gave no sign of life for 0.05 s');
    expect(reason).toBe(true);
  });

  test('a function that beats has all the time of its attempt', async () => {
    const report = await beating(
      async ({ heartbeat }) => {
        for (let beats = 0; beats < 6; beats++) {
          await pause(100);
          heartbeat();
        }
        return 'done';
      },
      { heartbeat: 0.5 },
    );
    expect(report).toMatchObject({ code: 'SUCCESS', output: 'done' });
  });

  test('a process that stood still is no silence of its tools', async () => {
    const report = await beating(
      async ({ heartbeat }) => {
        const until = performance.now() + 600;
        while (performance.now() < until);
        await pause(1);
        heartbeat();
        return 'done';
      },
      { heartbeat: 0.2 },
    );
    expect(report.code).toBe('SUCCESS');
  });

  test('a silent attempt is tried again as declared, and a module beats too', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-beat-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(
      join(dir, 'tools.mjs'),
      `export const look = async (args, { attempt, heartbeat }) => {
        if (attempt === 1) await new Promise(() => {});
        heartbeat();
        return attempt;
      };\n`,
    );
    const { flow } = compile(
      callOf(
        { module: './tools.mjs#look', timeout: { heartbeat: 0.1 }, idempotent: true },
        { retry: { max_attempts: 2, backoff_ms: 0 } },
      ),
    );
    const engine = createEngine({
      journal: openMemory(),
      toolOptions: { documentDir: dir, workDir: join(dir, 'work') },
    });
    const report = await engine.settled(await engine.start(flow as CompiledFlow));
    await engine.close();
    expect(report).toMatchObject({ code: 'SUCCESS', output: 2 });
  });

  test('a payment that falls silent has an unknown outcome', async () => {
    const { flow } = compile({
      tools: { pay: { effect: 'financial', timeout: { heartbeat: 0.05 } } },
      flow: { id: 't', entry: 'a', nodes: [{ id: 'a', type: 'tool', tool: 'pay' }] },
    });
    const engine = createEngine({ journal: openMemory(), tools: { pay: async () => new Promise(() => {}) } });
    const report = await engine.settled(await engine.start(flow as CompiledFlow));
    await engine.close();
    expect(report).toMatchObject({ code: 'TIMEOUT', error: { type: 'HeartbeatError' } });
    expect(report.receipts).toMatchObject([{ tool: 'pay', status: 'unknown' }]);
  });
});

test('the builder takes the same times', () => {
  const look = tool('slow.look', { effect: 'read', timeout: { attempt: 60, heartbeat: 5 } });
  expect(look.definition).toMatchObject({ timeout: { attempt: 60, heartbeat: 5 } });
});
