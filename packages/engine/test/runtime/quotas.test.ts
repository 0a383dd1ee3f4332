/** Quotas of tenants: use and reservations never exceed a limit, and every reservation is returned. */
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createEngine, openMemory } from '@sluice-internal/library';
import type { Json, Performer } from '@sluice-internal/library';
import { release, reserve } from '../../src/ports/quota.ts';
import { checkedQuota, takenOf, useAt, valueAt } from '@sluice-internal/engine/ports';
import type { Quota, QuotaUse } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { USE_PREFIX, setQuota, storedUse } from '@sluice-internal/engine/limits';
import { compiled } from '../../../../test/support/harness.ts';

const ASK = compiled({
  flow: {
    id: 'f',
    entry: 'ask',
    nodes: [{ id: 'ask', type: 'approval', message: 'go?', choices: ['yes', 'no'], routes: [{ to: 'end' }] }],
  },
});
const TALK = compiled({
  models: { m: { provider: 'openai', model: 'x', price: { input: 1, output: 2 } } },
  agents: [{ id: 'a', model: 'm' }],
  budgets: { tokens: 9000, cost_usd: 0.02 },
  flow: { id: 'talk', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'a' }] },
});
const UNBOUNDED = compiled({
  agents: [{ id: 'a' }],
  flow: { id: 'open', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'a' }] },
});

/** Replies when `gate` opens. */
function repliesAfter(gate: Promise<void> = Promise.resolve()): Performer {
  const used = { inputTokens: 100, outputTokens: 20, costMicros: 140 };
  return { perform: async () => gate.then(() => ({ ok: true, value: { text: 'hello' }, used })) };
}

function engineWith(quotas: { readonly [tenant: string]: Quota }, journal = openMemory(), gate?: Promise<void>) {
  return createEngine({ journal, tenant: 'acme', quotas, performer: repliesAfter(gate) });
}

describe('the ledger', () => {
  const quota: Quota = { runs: 40, concurrent: 3, tokens: 1000, usd: 0.001, per: 'hour' };

  test('use and reservations stay within every limit, whatever starts, ends, dies and resumes', () => {
    const step = fc.record({
      run: fc.integer({ min: 0, max: 9 }),
      what: fc.constantFrom('start', 'resume', 'end', 'undo'),
      tokens: fc.integer({ min: 0, max: 600 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      hours: fc.constantFrom(0, 0, 0, 1),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let use: QuotaUse | null = null;
        let now = Date.UTC(2026, 0, 1);
        for (const { run, what, tokens, part, hours } of steps) {
          now += hours * 3_600_000;
          const current: QuotaUse = useAt(use, quota.per, now);
          const id = `r${run}`;
          if (what === 'start' || what === 'resume') {
            const request = {
              run: id,
              starts: what === 'start',
              worst: { tokens, costMicros: tokens },
              spent: NOTHING,
            };
            use = reserve(current, quota, request, now).use;
          } else {
            const held = current.reservations[id];
            const spent = Math.floor((held?.tokens ?? 0) * part);
            use = release(current, id, what === 'undo' ? null : { tokens: spent, costMicros: spent });
          }
          const taken = takenOf(use);
          expect(taken.runs).toBeLessThanOrEqual(40);
          expect(taken.concurrent).toBeLessThanOrEqual(3);
          expect(taken.tokens).toBeLessThanOrEqual(1000);
          expect(taken.usd).toBeLessThanOrEqual(1000);
        }
      }),
    );
  });

  test('a new period counts from zero, and open reservations still count', () => {
    const now = Date.UTC(2026, 0, 1, 10, 59);
    const request = { run: 'r', starts: true, worst: { tokens: 600, costMicros: 0 }, spent: NOTHING };
    const { use } = reserve(useAt(null, 'hour', now), quota, request, now);
    const later = useAt({ ...use, tokens: 300 }, 'hour', now + 60_000);
    expect([later.tokens, later.runs, takenOf(later).tokens]).toEqual([0, 0, 600]);
  });

  test('a run that continues reserves what it has left, and its earlier use counts once', () => {
    const request = {
      run: 'r',
      starts: false,
      worst: { tokens: 600, costMicros: 0 },
      spent: { tokens: 200, costMicros: 0 },
    };
    const { use } = reserve({ ...useAt(null, 'hour', 0), tokens: 200 }, quota, request, 0);
    expect(takenOf(use).tokens).toBe(600);
    expect(release(use, 'r', { tokens: 450, costMicros: 0 }).tokens).toBe(450);
  });

  test.each([
    [{}, 'no limit'],
    [{ per: 'day' }, 'no limit'],
    [{ run: 3 }, 'no field `run`'],
    [{ runs: -1 }, '`runs` is not a number'],
    [{ runs: 1.5 }, 'not a whole number'],
    [{ usd: '5' }, '`usd` is not a number'],
    [{ runs: 1, per: 'week' }, 'hour, day or month'],
    [null, 'not an object'],
  ])('%j is refused', (given, message) => {
    expect(() => checkedQuota('acme', given)).toThrow(message);
  });
});

const NOTHING = { tokens: 0, costMicros: 0 };

describe('an engine', () => {
  test('refuses a start above the number of runs at once, and starts again after one has ended', async () => {
    const journal = openMemory();
    const engine = engineWith({ acme: { concurrent: 2 } }, journal);
    const [one] = await Promise.all([engine.run(ASK, {}), engine.run(ASK, {})]);
    await expect(engine.start(ASK)).rejects.toMatchObject({ code: 'quota-exceeded' });
    expect(await engine.list()).toHaveLength(2);
    await one.cancel({ by: 'ann' });
    await engine.run(ASK, {});
    await expect(engine.start(ASK, { origin: { user: 'ann' } })).rejects.toThrow('2 of 2 runs at once');
    const acts = await journal.shared.acts();
    expect(acts.map(({ what, by }) => [what, by])).toEqual([
      ['quota.set', 'createEngine'],
      ['quota.refused', ''],
      ['quota.refused', 'ann'],
    ]);
    await engine.close();
  });

  test('holds for tenants without a quota of their own, and not for runs without a tenant', async () => {
    const journal = openMemory();
    const engine = createEngine({ journal, quotas: { '*': { runs: 1 } } });
    await engine.start(ASK, { origin: { tenant: 'a' } });
    await engine.start(ASK, { origin: { tenant: 'b' } });
    await expect(engine.start(ASK, { origin: { tenant: 'a' } })).rejects.toMatchObject({ code: 'quota-exceeded' });
    await engine.start(ASK);
    await engine.start(ASK);
    await engine.close();
  });

  test('a run reserves the most that it can spend, and returns the rest', async () => {
    const journal = openMemory();
    const { promise, resolve } = Promise.withResolvers<void>();
    const engine = engineWith({ acme: { tokens: 10_000, usd: 0.03 } }, journal, promise);
    const first = await engine.run(TALK, {});
    await expect(engine.start(TALK)).rejects.toThrow('9000 of 10000 tokens per day are taken, and the run needs 9000');
    resolve();
    await first.result();
    await (await engine.run(TALK, {})).result();
    await expect
      .poll(() => valueAt(journal.shared, `${USE_PREFIX}acme`))
      .toMatchObject({ runs: 2, tokens: 240, costMicros: 280, refused: 1, reservations: {} });
    await engine.close();
  });

  test('a flow without a bound is refused with the key that gives it one', async () => {
    const engine = engineWith({ acme: { tokens: 10_000 } });
    await expect(engine.start(UNBOUNDED)).rejects.toMatchObject({
      code: 'quota-exceeded',
      help: expect.stringContaining('budgets: { tokens: … }'),
    });
    await engine.close();
  });

  test('a start that fails or repeats takes nothing', async () => {
    const journal = openMemory();
    const engine = engineWith({ acme: { runs: 2 } }, journal);
    await expect(engine.start(ASK, { input: (() => 1) as unknown as Json })).rejects.toMatchObject({
      code: 'bad-start',
    });
    await engine.start(ASK, { run: 'one', input: {} });
    await engine.start(ASK, { run: 'one', input: {} });
    await expect(engine.start(ASK, { run: 'one', input: { other: 1 } })).rejects.toMatchObject({ code: 'run-exists' });
    await engine.start(ASK, { run: 'two' });
    await expect(engine.start(ASK)).rejects.toThrow('2 of 2 runs per day');
    await engine.close();
  });

  test('a fork counts as a run', async () => {
    const engine = engineWith({ acme: { concurrent: 1 } });
    const run = await engine.run(ASK, {});
    await expect(engine.fork(run.id, { at: 1 })).rejects.toMatchObject({ code: 'quota-exceeded' });
    expect(await engine.list()).toHaveLength(1);
    await engine.close();
  });

  test('many starts at once fill the quota exactly', async () => {
    const journal = openMemory();
    const engines = [0, 1, 2].map(() => engineWith({ acme: { concurrent: 7 } }, journal));
    const starts = engines.flatMap((engine) => Array.from({ length: 5 }, () => engine.start(ASK)));
    const done = await Promise.allSettled(starts);
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    await engines[0]?.close();
  });

  describe('a process that pauses before its run is stored', () => {
    /** A start that waits in the protection of its input while 11 seconds pass. */
    async function pausedStart() {
      vi.useFakeTimers({ toFake: ['Date', 'performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const journal = openMemory();
      const gate = Promise.withResolvers<void>();
      const protect = async (_: unknown, run: string, input: Json): Promise<Json> => {
        if (run === 'paused') await gate.promise;
        return input;
      };
      const quotas = { acme: { concurrent: 1, runs: 2 } };
      const paused = createRuntime({ store: journal, performer: { ...repliesAfter(), protect } });
      const other = engineWith(quotas, journal);
      await setQuota(journal.shared, 'acme', quotas.acme, { at: Date.now(), by: 'ann', why: '' });
      const start = paused.start(ASK, { run: 'paused', input: 'x', origin: { tenant: 'acme' } });
      start.catch(() => undefined);
      const held = async () =>
        Object.keys(storedUse(await valueAt(journal.shared, `${USE_PREFIX}acme`))?.reservations ?? {});
      await until(async () => (await held()).includes('paused'));
      vi.advanceTimersByTime(11_000);
      return { start, held, other, journal, resume: () => gate.resolve() };
    }

    test('is refused if its reservation went to another run', async () => {
      const { start, held, other, resume } = await pausedStart();
      await other.start(ASK, { run: 'second' });
      expect(await held()).toEqual(['second']);
      resume();
      await expect(start).rejects.toMatchObject({ code: 'quota-exceeded' });
      expect((await other.list()).map(({ run }) => run)).toEqual(['second']);
    });

    test('reserves again if there is room', async () => {
      const { start, held, other, journal, resume } = await pausedStart();
      await (await other.run(ASK, { id: 'second' })).cancel({ by: 'ann' });
      await until(async () => (await held()).length === 0);
      resume();
      expect(await start).toBe('paused');
      expect(await held()).toEqual(['paused']);
      expect(await valueAt(journal.shared, `${USE_PREFIX}acme`)).toMatchObject({ runs: 2 });
    });
  });

  test('refuses quotas that are not valid', () => {
    expect(() => engineWith({ acme: { rums: 1 } as Quota })).toThrow('no field `rums`');
  });
});

/** Does not read the clock, which some tests replace. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
