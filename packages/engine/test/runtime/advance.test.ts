/** The seam of a host: `advance` and `perform`. A second host, of a few lines, keeps a run as text between two turns. */
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { openMemory } from '@sluice-internal/engine/memory';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Append, Performer, StoredRun } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Fact } from '@sluice-internal/kernel/ir';
import { Guard } from '../../src/limits/guard.ts';
import { Calls } from '../../src/worker/calls.ts';
import { advance, outstandingCommands } from '../../src/worker/advance.ts';
import { perform } from '../../src/worker/dispatch.ts';
import { newRun, programOf, restoreRun } from '../../src/worker/owned-run.ts';
import type { OwnedRun } from '../../src/worker/owned-run.ts';
import { functionPerformer } from '../../../library/src/host/functions.ts';

const NOW = 1_000_000;
const START = { run: 'r', input: { amount: 5 }, seed: 7, origin: {} } as const;

/** Calls of a loop, of branches, one that is tried again, one that is undone, and a question. */
const { flow } = compile({
  tools: {
    look: { effect: 'read' },
    shaky: { effect: 'read' },
    book: { effect: 'write', compensate: 'unbook' },
    unbook: { effect: 'write' },
    fails: { effect: 'write' },
  },
  flow: {
    id: 'seam',
    entry: 'both',
    nodes: [
      { id: 'both', type: 'parallel', branches: [{ to: 'look' }, { to: 'shaky' }], routes: [{ to: 'ask' }] },
      { id: 'look', type: 'tool', tool: 'look' },
      { id: 'shaky', type: 'tool', tool: 'shaky', retry: { max_attempts: 3, backoff_ms: 0 } },
      { id: 'ask', type: 'approval', message: 'Go?', choices: ['yes', 'no'], routes: [{ to: 'book' }] },
      { id: 'book', type: 'tool', tool: 'book', routes: [{ to: 'fails' }] },
      { id: 'fails', type: 'tool', tool: 'fails' },
    ],
  },
});

function performer(): Performer {
  let tries = 0;
  return functionPerformer({
    tools: {
      look: () => 'seen '.repeat(2000),
      shaky: () => {
        tries += 1;
        if (tries < 3) throw new Error(`try ${tries}`);
        return 'at last';
      },
      book: () => ({ seat: 12 }),
      unbook: () => null,
      fails: () => {
        throw new Error('sold out');
      },
    },
  });
}

/** Runs until nothing is left to do. Everything but the stored text is forgotten after each turn. */
async function host(of: CompiledFlow, stored: Append[], inbox: Fact[]): Promise<OwnedRun> {
  const guard = new Guard(given, openMemory().shared);
  const clock = createVirtualClock(NOW);
  for (;;) {
    const run = stored.length === 0 ? newRun('r', programOf(of)) : restoreRun('r', runOf(stored), programOf(of));
    if (inbox.length === 0 && run.state !== null)
      for (const next of outstandingCommands(run.program, run.state)) {
        // This host forgets its calls, so nobody knows if one that is dropped was sent.
        if (next.do === 'drop') inbox.push({ type: 'dropped', key: next.key, sent: 'unknown' });
        if (next.do !== 'perform') continue;
        const call = new Calls().start(next.command, { flow: of, clock, pins: undefined, listeners: undefined });
        const start = { isAllowed: () => true, made: () => undefined };
        inbox.push((await perform(guard, call, start, { ...run, repeated: new Set() })).fact);
        break;
      }
    if (inbox.length === 0) return run;
    const { append } = advance(run, inbox.splice(0), NOW, 0);
    if (append !== null) stored.push(JSON.parse(JSON.stringify(append)) as Append);
  }
}
const given = performer();

function runOf(stored: readonly Append[]): StoredRun {
  return {
    flow: stored[0]?.flow?.text ?? '',
    snapshot: null,
    appends: stored,
    blobs: stored.flatMap(({ blobs }) => blobs),
  };
}

test('a host that keeps only text ends a run as the worker does', async () => {
  const compiled = flow as CompiledFlow;
  const stored: Append[] = [];
  const waiting = await host(compiled, stored, [{ type: 'start', flow: compiled.hash, ...START }]);
  const [pending] = [...(waiting.state?.pending.values() ?? [])];
  const answer = { choice: 'yes', by: 'ann' };
  const ended = await host(compiled, stored, [{ type: 'answer', id: pending?.question?.id ?? '', answer }]);

  const engine = createRuntime({ store: openMemory(), performer: performer(), clock: createVirtualClock(NOW) });
  await engine.start(compiled, { ...START });
  const [question] = (await engine.settled('r')).waiting;
  await engine.answer(question?.id ?? '', answer);
  const report = await engine.settled('r');
  expect(ended.state?.outcome).toMatchObject({ code: report.code });
  expect(ended.state?.spent).toEqual((await engine.read('r')).state.spent);
  expect(stored.at(-1)?.entry).toMatchObject({ status: report.state });
  await engine.close();
});

test('the same run, facts and instant give the same turn', () => {
  const compiled = flow as CompiledFlow;
  const start: Fact = { type: 'start', flow: compiled.hash, ...START };
  const turn = (): ReturnType<typeof advance> => advance(newRun('r', programOf(compiled)), [start], NOW, 500);
  const [first, second] = [turn(), turn()];
  expect(second).toEqual(first);
  expect(first.commands.map((command) => command.do)).toEqual(['perform', 'perform']);
  expect(first.append).toMatchObject({ after: 0, entry: { status: 'running', first: { flow: 'seam' } } });
  expect(first.notes.events[0]).toMatchObject({ type: 'run.started' });
});

test('a refused fact is noted and stores nothing, and a run that has ended has no commands', () => {
  const compiled = flow as CompiledFlow;
  const run = newRun('r', programOf(compiled));
  advance(run, [{ type: 'start', flow: compiled.hash, ...START }], NOW, 0);
  const refused = advance(run, [{ type: 'answer', id: 'a_r.9', answer: { choice: 'yes', by: 'ann' } }], NOW, 0);
  expect([refused.append, refused.commands, refused.notes.refusals.size]).toEqual([null, [], 1]);
  const cancelled = advance(run, [{ type: 'cancel', by: 'ann', why: 'enough' }], NOW, 0);
  const drops = cancelled.commands.flatMap((command) => (command.do === 'drop' ? [command.key] : []));
  expect([cancelled.commands.length, drops.length, run.state?.outcome]).toEqual([2, 2, null]);
  const answers = drops.map((key): Fact => ({ type: 'dropped', key, sent: 'yes' }));
  const { commands, notes, append } = advance(run, answers, NOW, 0);
  expect(append?.entry?.status).toBe('cancelled');
  expect(commands.map((command) => command.do)).toEqual(['abort', 'abort']);
  expect(notes.due).toBeNull();
});
