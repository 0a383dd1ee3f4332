import type { Dimension } from '@sluice-internal/kernel/ir';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Core, NO_RETRY, end, flowOf, forkOver, meter, tool } from './flow.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const UNITS = ['toolCalls', 'sideEffects', 'outputTokens', 'costMicros'] as const;
const amounts = fc.record({
  toolCalls: fc.nat(3),
  sideEffects: fc.nat(3),
  outputTokens: fc.nat(9),
  costMicros: fc.nat(9),
});

describe('reservations', () => {
  test(`L4: under any requests and use of branches, no dimension is overdrawn, seed ${seed}`, () => {
    console.log(`reserve: seed ${seed}`);
    const seen = { tripped: 0, requested: 0 };
    fc.assert(
      fc.property(
        fc.array(amounts, { minLength: 1, maxLength: 6 }),
        fc.record({ toolCalls: fc.nat(6), sideEffects: fc.nat(6), outputTokens: fc.nat(20), costMicros: fc.nat(20) }),
        fc.array(fc.nat(5), { minLength: 12, maxLength: 12 }),
        (branches, caps, order) => {
          const meters = Object.fromEntries(UNITS.map((unit) => [unit, meter(unit, caps[unit], 'over')]));
          const nodes = Object.fromEntries(
            branches.flatMap((reserve, index) => [
              [
                `a${index}`,
                tool(`a${index}`, `b${index}`, {
                  charges: UNITS,
                  effect: { reserve },
                  failed: [{ when: 'true', to: `b${index}` }],
                }),
              ],
              [`b${index}`, tool(`b${index}`, 'done', { charges: UNITS, effect: { reserve } })],
            ]),
          );
          const heads = branches.map((_, index) => ({ name: `h${index}`, to: `a${index}` }));
          const core = new Core(
            flowOf(
              {
                fork: forkOver({ heads }, 'end'),
                ...nodes,
                done: end(),
                over: end('null', 'completed', 'BUDGET_EXHAUSTED'),
                end: end(),
              },
              { meters },
            ),
          );
          const check = (): void => {
            const { spent = {}, reserved = {} } = core.state ?? {};
            for (const unit of UNITS)
              expect((spent[unit] ?? 0) + (reserved[unit] ?? 0)).toBeLessThanOrEqual(caps[unit]);
          };
          check();
          for (const choice of [...order, ...order]) {
            const pending = [...(core.state?.pending.values() ?? [])];
            const next = pending[choice % Math.max(1, pending.length)];
            if (next === undefined) break;
            const { reserve } = (core.program.flow.nodes[next.node] as ReturnType<typeof tool>).effect;
            const used = Object.fromEntries(
              Object.entries(reserve).map(([unit, amount]) => [unit, Math.floor((amount * choice) / 5)]),
            );
            core.answer(
              next.key,
              choice === 0
                ? { ok: false, error: { class: 'timeout', type: 'T', message: '' } }
                : { ok: true, value: 1, used },
            );
            check();
          }
          seen.tripped += core.types().filter((type) => type === 'meter.tripped').length;
          seen.requested += core.types().filter((type) => type === 'effect.requested').length;
          expect(core.state?.outcome).not.toBeNull();
          expect(Object.values(core.state?.reserved ?? {}).filter((amount) => amount !== 0)).toEqual([]);
        },
      ),
      { seed, numRuns: 150 },
    );
    expect(seen.tripped).toBeGreaterThan(0);
    expect(seen.requested).toBeGreaterThan(0);
  });

  test('L4: what another branch holds is not there for this one', () => {
    const heads = [
      { name: 'l', to: 'a' },
      { name: 'r', to: 'b' },
    ];
    const draws = { charges: ['calls'], effect: { reserve: { toolCalls: 2 } } };
    const nodes = {
      fork: forkOver({ heads }, 'end'),
      a: tool('a', 'done', draws),
      b: tool('b', 'done', draws),
      done: end(),
      over: end('null', 'failed', 'BUDGET_EXHAUSTED'),
      end: end(),
    };
    const core = new Core(flowOf(nodes, { meters: { calls: meter('toolCalls', 3, 'over') } }));
    expect(core.owed).toEqual(['0:0.0#0 a']);
    expect(core.events.find(({ type }) => type === 'meter.tripped')).toMatchObject({
      meter: 'calls',
      left: 1,
      needs: 2,
      thread: '0:0.1',
    });
  });

  test('L4: unused amounts are released; unknown amounts count as spent', () => {
    const measure = (unit: Dimension): Core => {
      const node = { charges: ['m'], effect: { reserve: { [unit]: 10 } } };
      return new Core(
        flowOf({ a: tool('a', 'b', node), b: tool('b', 'end'), end: end() }, { meters: { m: meter(unit, 10) } }),
      );
    };
    const measured = measure('outputTokens');
    measured.answer('0#0', { ok: true, value: 1, used: { outputTokens: 3 } });
    expect(measured.state).toMatchObject({ spent: { m: 3 }, reserved: { m: 0 } });
    const late = measure('outputTokens');
    late.fail('0#0', 'timeout');
    expect(late.state).toMatchObject({ spent: { m: 10 }, reserved: { m: 0 } });
    const lost = measure('outputTokens');
    lost.answer('0#0', {
      ok: false,
      error: { class: 'transient', type: 'TransientError', message: 'cut', unmeasured: true },
      used: { outputTokens: 3 },
    });
    expect(lost.state).toMatchObject({ spent: { m: 10 }, reserved: { m: 0 }, usage: { outputTokens: 3 } });
    const counted = measure('sideEffects');
    counted.fail('0#0', 'fatal');
    expect(counted.state).toMatchObject({ spent: { m: 10 } });
  });

  test('L4: a retry reserves again, and is not made when that does not fit §controls/retry-storm', () => {
    const retry = { ...NO_RETRY, max: 5, on: ['transient'] as const };
    const core = new Core(
      flowOf(
        { a: tool('a', 'end', { charges: ['calls'], retry }), end: end() },
        { meters: { calls: meter('toolCalls', 2) } },
      ),
    );
    core.fail('0#0', 'transient');
    expect(core.owed).toEqual(['0#0 a']);
    core.fail('0#0', 'transient', 2, 2);
    expect(core.state?.outcome).toMatchObject({
      state: 'failed',
      code: 'REPEATED_FAILURE',
      error: { message: 'transient; it is not tried again: toolCalls has 0 left, and 1 is needed' },
    });
    expect(core.state?.spent['calls']).toBe(2);
  });

  test('L4: a lost reply that leaves too little for a retry names the connection and the budget', () => {
    const node = { charges: ['money'], effect: { reserve: { costMicros: 60_000 } } };
    const core = new Core(
      flowOf({ a: tool('a', 'end', node), end: end() }, { meters: { money: meter('costMicros', 100_000) } }),
    );
    const message = 'the connection was closed';
    const error = {
      class: 'transient',
      type: 'TransientError',
      message,
      unmeasured: true,
      transportRetries: 2,
    } as const;
    core.answer('0#0', { ok: false, error });
    expect(core.state?.outcome).toMatchObject({
      code: 'UNAVAILABLE_DEP',
      error: {
        type: 'TransientError',
        message: `${message}; it is not tried again: costMicros has $0.04 left, and $0.06 is needed`,
      },
    });
  });

  test('L4: a budget of zero denies what needs it and nothing else', () => {
    const meters = { none: meter('sideEffects', 0, 'over') };
    const nodes = {
      a: tool('a', 'b', { charges: ['none'], effect: { reserve: { toolCalls: 1 } } }),
      b: tool('b', 'end', { charges: ['none'], effect: { reserve: { sideEffects: 1 } } }),
      over: end('null', 'failed', 'BUDGET_EXHAUSTED'),
      end: end(),
    };
    const core = new Core(flowOf(nodes, { meters }));
    core.answer('0#0', 1);
    expect(core.state?.outcome?.code).toBe('BUDGET_EXHAUSTED');
    expect(core.types().filter((type) => type === 'effect.requested')).toHaveLength(1);
  });

  test('L4: a run that cannot finish any more stops before it spends §estimation/lower §estimation/remaining', () => {
    const nodes = {
      a: tool('a', 'end', { charges: ['calls'] }),
      over: end('null', 'failed', 'BUDGET_EXHAUSTED'),
      end: end(),
    };
    const core = new Core(
      flowOf(nodes, { meters: { calls: meter('toolCalls', 2, 'over') }, least: { a: { toolCalls: 3 } } }),
    );
    expect(core.types()).toEqual(['run.started', 'meter.tripped', 'run.ended']);
    expect(core.events[1]).toMatchObject({ why: 'foreseen', needs: 3, left: 2 });
  });
});
