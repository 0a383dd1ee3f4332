import { describe, expect, test } from 'vitest';
import { Core, ask, end, flowOf, forkOver, meter, pick, set, tool, undoable, within } from './flow.ts';

const endsOf = (core: Core): number => core.types().filter((type) => type === 'run.ended').length;

describe('cycles', () => {
  test('L5: a cycle ends when its meter is used up, after exactly that many visits §pathologies/runaway-loops', () => {
    const nodes = {
      n: set('n', '0', 'loop'),
      loop: pick('true', 'more', 'end', ['visits']),
      more: set('n', 'n + 1', 'loop'),
      end: end('n'),
      over: end('n', 'completed', 'BUDGET_EXHAUSTED'),
    };
    const core = new Core(flowOf(nodes, { meters: { visits: meter('visits', 7, 'over') } }));
    expect(core.state?.outcome).toMatchObject({ state: 'completed', code: 'BUDGET_EXHAUSTED', output: 7 });
    expect(core.state?.spent['visits']).toBe(7);
  });

  test('L5: a way round that fails before it asks for anything uses up its meter too', () => {
    const again = { charges: ['visits'], effect: { input: { x: '1 + "a"' } }, failed: [{ when: 'true', to: 'a' }] };
    const core = new Core(
      flowOf({ a: tool('a', 'end', again), end: end() }, { meters: { visits: meter('visits', 5) } }),
    );
    expect(core.state?.outcome?.state).toBe('failed');
    expect(core.types().filter((type) => type === 'expression.failed')).toHaveLength(5);
  });

  test('L5: visits are counted over the whole run, branches included', () => {
    const loop = {
      a: pick('true', 'a', 'done', ['visits']),
      done: end(),
      over: end('null', 'completed', 'BUDGET_EXHAUSTED'),
    };
    const core = new Core(
      flowOf(
        {
          fork: forkOver(
            {
              heads: [
                { name: 'l', to: 'a' },
                { name: 'r', to: 'a' },
              ],
            },
            'end',
          ),
          ...loop,
          end: end(),
        },
        { meters: { visits: meter('visits', 10, 'over') } },
      ),
    );
    expect(core.state?.outcome?.state).toBe('completed');
    expect(core.state?.spent['visits']).toBe(10);
  });

  test('L5: the same call again and again trips the meter that watches it §pathologies/duplicate-actions', () => {
    const meters = { same: { ...meter('repeats', 2, 'over'), window: 5 }, visits: meter('visits', 100) };
    const core = new Core(
      flowOf(
        { a: tool('a', 'a', { charges: ['same', 'visits'] }), over: end('null', 'failed', 'REPEATED_FAILURE') },
        { meters },
      ),
    );
    core.answer('0#0', 1);
    core.answer('0#1', 1);
    expect(core.state?.outcome?.code).toBe('REPEATED_FAILURE');
  });
});

describe('ways out', () => {
  test('L6: success', () => {
    const core = new Core(flowOf({ a: tool('a', 'end'), end: end('a') }));
    core.answer('0#0', 'done');
    expect(core.state?.outcome).toEqual({ state: 'completed', code: 'SUCCESS', output: 'done', error: null });
    expect(endsOf(core)).toBe(1);
  });

  test.each([
    ['transient', 'UNAVAILABLE_DEP'],
    ['rate_limit', 'UNAVAILABLE_DEP'],
    ['fatal', 'UNAVAILABLE_DEP'],
    ['timeout', 'TIMEOUT'],
    ['refused', 'IMPOSSIBLE'],
    ['semantic', 'VALIDATION_FAIL'],
    ['policy', 'PERMISSION_DENIED'],
    ['guardrail', 'UNSAFE_DETECTION'],
    ['budget', 'BUDGET_EXHAUSTED'],
  ] as const)('L6: a failure of class %s that nobody handles ends as %s', (kind, code) => {
    const core = new Core(flowOf({ a: tool('a', 'end'), end: end() }));
    core.answer('0#0', { ok: false, error: { class: kind, type: 'E', message: 'm' } });
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code, error: { class: kind, type: 'E', node: 'a' } });
    expect(endsOf(core)).toBe(1);
  });

  test('L6: cancellation in any state of the run', () => {
    const flows = [
      flowOf({ a: tool('a', 'end'), end: end() }),
      flowOf({ a: ask('a', 'end'), end: end() }),
      flowOf({
        fork: forkOver(
          {
            heads: [
              { name: 'l', to: 'a' },
              { name: 'r', to: 'b' },
            ],
          },
          'end',
        ),
        a: tool('a', 'done'),
        b: ask('b', 'done'),
        done: end(),
        end: end(),
      }),
    ];
    for (const flow of flows) {
      const core = new Core(flow);
      expect(core.tell({ type: 'cancel', by: 'ann', why: 'enough' }, 1)).toBeNull();
      expect(core.state?.outcome).toMatchObject({ state: 'cancelled', code: 'USER_CANCEL' });
      expect(core.state?.pending.size).toBe(0);
      expect(endsOf(core)).toBe(1);
    }
  });

  test('L6: the deadline of the run', () => {
    const core = new Core(flowOf({ a: tool('a', 'end', { timeoutMs: 9000 }), end: end() }, within(100)));
    expect(core.tell({ type: 'tick' }, 99)?.refused).toBe('nothing-due');
    core.tell({ type: 'tick' }, 100);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
  });

  test('L6: a deadline that passes while the run is undoing does not stop the undoing', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b'), b: tool('b', 'end'), end: end() }, within(100)));
    core.answer('0#0', 1);
    core.fail('0#1', 'fatal', 2);
    expect(core.owed).toEqual(['0#u2 undo_a']);
    core.tell({ type: 'tick' }, 200);
    expect(core.owed).toEqual(['0#u2 undo_a']);
    core.answer('0#u2', null, 300);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP' });
  });

  test('L6: an expression that cannot be evaluated, in any kind of node', () => {
    const bad = '1 + "a"';
    const flows = [
      flowOf({ a: set('a', bad, 'end'), end: end() }),
      flowOf({ a: end(bad) }),
      flowOf({ a: tool('a', 'end', { effect: { input: { x: bad } } }), end: end() }),
      flowOf({ a: forkOver({ each: '1', as: 'item', head: 'end' }, 'end'), end: end() }),
    ];
    for (const flow of flows)
      expect(new Core(flow).state?.outcome).toMatchObject({
        state: 'failed',
        code: 'VALIDATION_FAIL',
        error: { type: 'ExpressionError' },
      });
    // A guard that cannot be evaluated does not hold, and says so.
    for (const guarded of [
      new Core(flowOf({ a: pick(bad, 'fail', 'end'), end: end() })),
      new Core(flowOf({ a: forkOver({ heads: [{ name: 'h', to: 'end', when: bad }] }, 'end'), end: end() })),
    ]) {
      expect(guarded.state?.outcome?.code).toBe('SUCCESS');
      expect(guarded.types()).toContain('guard.failed');
    }
  });

  test('L6: a join that cannot be met, and one that is late', () => {
    const heads = [
      { name: 'l', to: 'a' },
      { name: 'r', to: 'b' },
    ];
    const nodes = { a: tool('a', 'done'), b: tool('b', 'done'), done: end(), end: end() };
    const short = new Core(flowOf({ fork: forkOver({ heads }, 'end', { eager: true }), ...nodes }));
    short.fail('0:0.0#0', 'fatal');
    expect(short.state?.outcome).toMatchObject({
      state: 'failed',
      code: 'UNAVAILABLE_DEP',
      error: { type: 'TestError' },
    });
    const late = new Core(flowOf({ fork: forkOver({ heads }, 'end', { timeoutMs: 50 }), ...nodes }));
    late.tell({ type: 'tick' }, 50);
    expect(late.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    const few = new Core(flowOf({ fork: forkOver({ heads }, 'end', { eager: true, need: 3 }), ...nodes }));
    expect(few.state?.outcome).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
    expect(few.types()).not.toContain('effect.requested');
  });
});
