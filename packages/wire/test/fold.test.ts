/** The view of a run, from its public events. */
import { describe, expect, test } from 'vitest';
import { foldEvents, startOfView } from '../src/index.ts';
import type { RunEvent, RunView } from '../src/index.ts';

type Given = { readonly type: RunEvent['type']; readonly [field: string]: unknown };

/** Events with numbers and times: one journal event each. */
function events(...given: readonly Given[]): RunEvent[] {
  return given.map((each, index) => ({
    ...{ id: `${index + 1}.0`, seq: index + 1, at: (index + 1) * 1000, node: 'work', branch: '0' },
    ...each,
  })) as unknown as RunEvent[];
}

const ERROR = { class: 'transient', type: 'TimeoutError', message: 'too slow' };

test('a node is idle, running, waiting, running and done', () => {
  const told = events(
    { type: 'node.started' },
    { type: 'question.asked', question: 'a_1', payload: 'hash', message: 'Pay?', expiresAt: null },
    { type: 'question.agreed', question: 'a_1', choice: 'approve', by: 'anna', missing: 1 },
    { type: 'question.answered', question: 'a_1', choice: 'approve', by: 'ben' },
    { type: 'node.finished', durationMs: 1, output: null },
  );
  const states = [0, 1, 2, 3, 4, 5].map((at) => foldEvents(told, startOfView(['work']), at).nodes['work']?.state);
  expect(states).toEqual(['idle', 'running', 'waiting', 'waiting', 'running', 'done']);
  expect(foldEvents(told, startOfView(), 3).questions).toMatchObject([{ question: 'a_1', payload: 'hash', agreed: 1 }]);
  expect(foldEvents(told).questions).toEqual([]);
});

describe('visits', () => {
  const told = events(
    ...[1, 2, 3].flatMap((visit): Given[] => [
      { type: 'node.started' },
      visit === 2
        ? { type: 'node.failed', durationMs: 1, error: ERROR }
        : { type: 'node.finished', durationMs: 1, output: null },
    ]),
  );

  test('each is counted, and one that failed is found', () => {
    const { state, visits } = foldEvents(told).nodes['work'] ?? {};
    expect(state).toBe('done');
    expect(visits).toMatchObject({ count: 3, last: { number: 3, state: 'done', seq: 5, endSeq: 6 } });
    expect(visits?.trouble).toMatchObject([{ number: 2, state: 'failed', error: 'too slow' }]);
  });

  test('two branches in one node at once are two visits, and the node runs until both have ended', () => {
    const both = events(
      { type: 'node.started', branch: '0:1.0' },
      { type: 'node.started', branch: '0:1.1' },
      { type: 'node.failed', branch: '0:1.0', durationMs: 1, error: ERROR },
      { type: 'node.finished', branch: '0:1.1', durationMs: 1, output: null },
    );
    expect(foldEvents(both, startOfView(), 3).nodes['work']?.state).toBe('running');
    expect(foldEvents(both).nodes['work']).toMatchObject({ state: 'done', visits: { count: 2 } });
    expect(foldEvents(both).nodes['work']?.visits.trouble.map(({ branch }) => branch)).toEqual(['0:1.0']);
  });

  test('only the latest with trouble are kept', () => {
    const many = events(
      ...Array.from({ length: 50 }, (): Given[] => [
        { type: 'node.started' },
        { type: 'node.failed', durationMs: 1, error: ERROR },
      ]).flat(),
    );
    const { visits } = foldEvents(many).nodes['work'] ?? {};
    expect(visits?.count).toBe(50);
    expect(visits?.trouble.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 31));
  });
});

test('each attempt of a tool is a bar, and the pause between two is one', () => {
  const told = events(
    { type: 'node.started' },
    { type: 'tool.started', tool: 'pay', args: {}, attempt: 1, call: '0#1' },
    { type: 'node.retried', attempt: 1, delayMs: 500, error: ERROR },
    { type: 'tool.started', tool: 'pay', args: {}, attempt: 2, call: '0#1' },
    { type: 'tool.finished', tool: 'pay', args: {}, result: null, durationMs: 1, call: '0#1' },
    { type: 'node.finished', durationMs: 1, output: null },
  );
  const bars = foldEvents(told).bars.map(({ kind, startedAt, endedAt, failed }) => [kind, startedAt, endedAt, failed]);
  expect(bars).toEqual([
    ['node', 1000, 6000, false],
    ['tool', 2000, 3000, true],
    ['pause', 3000, 3500, false],
    ['tool', 4000, 5000, false],
  ]);
  expect(foldEvents(told).nodes['work']?.visits).toMatchObject({ last: { retries: 1 }, trouble: [{ number: 1 }] });
});

test('a node whose effect was undone is undone, and one that was not needed is skipped', () => {
  const told = events(
    { type: 'node.started' },
    { type: 'node.finished', durationMs: 1, output: null },
    { type: 'node.skipped', node: 'other', reason: 'path' },
    { type: 'undo.started', tool: 'reverse', args: {} },
    { type: 'undo.finished', tool: 'reverse', error: null },
    { type: 'run.ended', state: 'failed', code: 'UNAVAILABLE_DEP', output: null, error: null },
  );
  const { nodes, state, code } = foldEvents(told);
  expect([nodes['work']?.state, nodes['other']?.state, state, code]).toEqual([
    'undone',
    'skipped',
    'failed',
    'UNAVAILABLE_DEP',
  ]);
  expect(foldEvents(told, startOfView(), 4).nodes['work']?.state).toBe('done');
});

test('routes are counted by their ends and their index, meters are the latest', () => {
  const told = events(
    { type: 'route.taken', from: 'a', to: 'b', index: 0 },
    { type: 'route.taken', from: 'a', to: 'b', index: 1 },
    { type: 'route.taken', from: 'a', to: 'b', index: 1 },
    { type: 'budget.changed', used: { steps: 1 }, held: {}, limit: { steps: 9 } },
    { type: 'budget.changed', used: { steps: 2 }, held: { steps: 1 }, limit: { steps: 9 } },
  );
  const view = foldEvents(told);
  expect(view.edges).toEqual({ 'a>b#0': 1, 'a>b#1': 2 });
  expect(view.meters).toEqual({ used: { steps: 2 }, held: { steps: 1 }, limit: { steps: 9 } });
});

describe('a stored view', () => {
  const told = events(
    { type: 'run.started', flow: 'f', input: null, node: undefined, branch: undefined },
    { type: 'node.started' },
    { type: 'model.started', agent: 'a', call: '0#1' },
    { type: 'node.retried', attempt: 1, delayMs: 0, error: ERROR },
    { type: 'model.finished', agent: 'a', call: '0#1', durationMs: 1 },
    { type: 'wait.started', signal: 'shipped', until: null },
    { type: 'wait.finished', signal: 'shipped', data: null, by: 'me' },
    { type: 'question.asked', question: 'a_1', payload: 'p', message: 'Pay?', expiresAt: null },
    { type: 'question.closed', question: 'a_1', reason: 'halt' },
    { type: 'node.failed', durationMs: 1, error: ERROR },
    { type: 'node.started' },
    { type: 'node.stopped', durationMs: 1 },
    { type: 'run.ended', state: 'failed', code: 'TIMEOUT', output: null, error: null },
  );
  const ordered = ({ bars, ...view }: RunView): object => ({
    ...view,
    bars: bars.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  });

  test.each(told.map(({ seq }) => seq))('of event %i goes on to the same end', (at) => {
    const stored = JSON.parse(JSON.stringify(foldEvents(told, startOfView(['work', 'other']), at))) as RunView;
    expect(ordered(foldEvents(told, stored))).toEqual(ordered(foldEvents(told, startOfView(['work', 'other']))));
  });

  test('is not changed by the view that follows from it', () => {
    const stored = foldEvents(told, startOfView(), 3);
    const before = JSON.stringify(stored);
    foldEvents(told, stored);
    expect(JSON.stringify(stored)).toBe(before);
  });
});
