/** What a join waits for, what it drops, and in which words it fails (L12). */
import { describe, expect, test } from 'vitest';
import type { ForkNode } from '../../src/ir/nodes.ts';
import type { Event } from '../../src/ir/events.ts';
import { Core, end, flowOf, forkOver, tool } from '../../../../test/laws/flow.ts';

const HEADS = ['a', 'b', 'c'].map((name) => ({ name, to: name }));

function coreWith(more: Partial<ForkNode>, over: ForkNode['over'] = { heads: HEADS }, input = [1, 2, 3]): Core {
  const fork = forkOver(over, 'end', more);
  const branches = { a: tool('a', 'done'), b: tool('b', 'done'), c: tool('c', 'done') };
  const nodes = { fork, ...branches, done: end('"ok"'), bad: end('null', 'failed', 'IMPOSSIBLE'), end: end('all') };
  return new Core(flowOf(nodes), input);
}

function joinOf({ events }: Core): Extract<Event, { type: 'fork.joined' }> | undefined {
  return events.find((event) => event.type === 'fork.joined');
}
function startedBy({ events }: Core): number | undefined {
  return events.find((event) => event.type === 'thread.forked')?.started;
}
const key = (branch: number): string => `0:0.${branch}#0`;

describe('a fork', () => {
  test('starts as many at once as it may, and the next as one ends', () => {
    const core = coreWith({ widthMax: 2 });
    expect(core.owed).toEqual([`${key(0)} a`, `${key(1)} b`]);
    core.answer(key(1), 1);
    expect(core.owed).toEqual([`${key(0)} a`, `${key(2)} c`]);
    expect(coreWith({ widthMax: 9 }).owed).toHaveLength(3);
    expect(coreWith({ widthMax: 0 }).owed).toHaveLength(3);
  });

  test('runs branches that use the same resource one after another, and readers of it at once', () => {
    const over = (items: readonly string[]): Core =>
      coreWith(
        {},
        {
          each: 'input',
          as: 'item',
          head: 'a',
          claims: {
            key: 'item',
            of: { write: { resource: 'disk', shared: false }, read: { resource: 'disk', shared: true } },
          },
        },
        items as never,
      );
    expect(over(['other', 'other', 'other']).owed).toHaveLength(3);
    expect(over(['read', 'read', 'read']).owed).toHaveLength(3);
    const core = over(['write', 'other', 'read', 'read', 'write', 'other']);
    expect(core.owed).toEqual([`${key(0)} a`, `${key(1)} a`]);
    core.answer(key(1), 1);
    expect(core.owed).toEqual([`${key(0)} a`]);
    core.answer(key(0), 1);
    expect(core.owed).toEqual([`${key(2)} a`, `${key(3)} a`]);
    core.answer(key(3), 1);
    core.answer(key(2), 1);
    expect(core.owed).toEqual([`${key(4)} a`, `${key(5)} a`]);
  });

  test('starts nothing where there are too few to begin with, if it is eager', () => {
    const eager = coreWith({ need: 4, eager: true });
    expect(eager.types()).not.toContain('effect.requested');
    expect(startedBy(eager)).toBe(0);
    expect(joinOf(eager)).toMatchObject({ met: false, why: 'short' });
    expect(joinOf(eager)?.error?.message).toBe('`fork` needed more branches than it started');
    expect(startedBy(coreWith({ need: 4, eager: false }))).toBe(3);
    expect(startedBy(coreWith({ need: 3, eager: true }))).toBe(3);
    expect(startedBy(coreWith({ need: 'all', eager: true }))).toBe(3);
  });

  test('over a value that is not a list fails with a message', () => {
    const core = coreWith({}, { each: 'input[0]', as: 'item', head: 'a' });
    expect(core.state?.outcome?.error?.message).toContain('`fork` needs a list to run over, but `input[0]` is not one');
  });
});

describe('a join', () => {
  test('is met by as many as it needs, and drops the rest', () => {
    const core = coreWith({ need: 2 });
    core.answer(key(2), 1);
    expect(joinOf(core)).toBeUndefined();
    core.answer(key(0), 1);
    expect(joinOf(core)).toMatchObject({ met: true, why: 'met', to: 'end' });
    expect(core.events.filter(({ type }) => type === 'effect.dropped')).toMatchObject([{ key: key(1), why: 'join' }]);
    expect(core.state?.outcome?.output).toMatchObject([{ output: 'ok' }, { state: 'cancelled' }, { output: 'ok' }]);
  });

  test('fails at once where it is eager, and when all have ended where it is not', () => {
    const eager = coreWith({ eager: true });
    eager.fail(key(1), 'fatal');
    expect(joinOf(eager)).toMatchObject({ met: false, why: 'short' });
    const patient = coreWith({});
    patient.fail(key(1), 'fatal');
    expect(joinOf(patient)).toBeUndefined();
    patient.answer(key(0), 1);
    patient.answer(key(2), 1);
    expect(joinOf(patient)).toMatchObject({ met: false, why: 'short' });
    expect(joinOf(patient)?.error).toMatchObject({ type: 'TestError', class: 'fatal', message: 'b: TestError: fatal' });
  });

  test('names every branch that failed, the first one deciding the code', () => {
    const heads = [
      { name: 'x', to: 'bad' },
      { name: 'a', to: 'a' },
    ];
    const core = coreWith({}, { heads });
    core.fail('0:0.1#0', 'fatal');
    expect(joinOf(core)?.error).toMatchObject({
      class: 'semantic',
      code: 'IMPOSSIBLE',
      message: 'x: IMPOSSIBLE: ended without success; a: TestError: fatal',
    });
  });

  test('is late only if a branch is still open at its deadline', () => {
    const core = coreWith({ timeoutMs: 50 });
    core.fail(key(0), 'fatal');
    core.tell({ type: 'tick' }, 50);
    expect(joinOf(core)).toMatchObject({ met: false, why: 'late' });
    expect(joinOf(core)?.error).toMatchObject({
      type: 'TimeoutError',
      code: 'TIMEOUT',
      message: 'the join of `fork` was late; a: TestError: fatal',
    });
    const early = coreWith({ timeoutMs: 50 });
    early.tell({ type: 'tick' }, 49);
    expect(joinOf(early)).toBeUndefined();
    for (const branch of [0, 1]) early.answer(key(branch), 1, 49);
    early.fail(key(2), 'fatal', 49);
    expect(joinOf(early)).toMatchObject({ met: false, why: 'short' });
  });

  test('that was met before its deadline is not late afterwards', () => {
    const core = coreWith({ timeoutMs: 50, need: 1 });
    core.answer(key(0), 1, 49);
    expect(joinOf(core)).toMatchObject({ met: true, why: 'met' });
  });
});
