/** The metrics against a count that reads the events one by one, over random flows in random worlds with faults. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Event } from '@sluice-internal/kernel/ir';
import { openMemory } from '@sluice-internal/engine/memory';
import { figuresOf, measureRun, sampleOf, valuesOf } from '../../src/metrics/measure.ts';
import type { RunSample } from '../../src/metrics/measure.ts';
import { simulate } from '../../../testing/src/simulate.ts';
import { randomRun } from '../../../../test/simulate/random-run.ts';

const RUNS = 40;

interface Journaled {
  readonly events: readonly Event[];
  readonly sample: RunSample;
}

async function journaled(seed: number): Promise<Journaled> {
  const { flow, input, world } = randomRun(seed);
  const store = openMemory();
  await simulate({ flow, input, world, seed, faults: 'any', store });
  const measured = await measureRun(store.journal, `s_${seed >>> 0}`);
  return { events: measured.read.events, sample: sampleOf(measured) };
}

function count(all: readonly Journaled[], holds: (event: Event, before: readonly Event[]) => boolean): number {
  let found = 0;
  for (const { events } of all)
    for (const [index, event] of events.entries()) if (holds(event, events.slice(0, index))) found += 1;
  return found;
}

const toolKeys = (events: readonly Event[]): Set<string> =>
  new Set(events.flatMap((event) => (event.type === 'effect.requested' && event.kind === 'tool' ? [event.key] : [])));
const endOf = ({ events }: Journaled) => events.find((event) => event.type === 'run.ended');
const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

test('the counts of the metrics are those of the events', { timeout: 120_000 }, async () => {
  const first = Number(process.env['SEED'] ?? fc.sample(fc.nat(1_000_000), 1)[0]);
  const all: Journaled[] = [];
  for (let seed = first; seed < first + RUNS; seed++) all.push(await journaled(seed));
  const values = valuesOf(figuresOf(all.map(({ sample }) => sample)));
  const message = `SEED=${first}`;
  const ends = all.filter((each) => endOf(each) !== undefined);
  const good = ends.filter((each) => /^(PARTIAL_)?SUCCESS$/.test((endOf(each) as { code: string }).code));
  expect(values.taskSuccessRate, message).toBe(ratio(good.length, ends.length));
  const late = ends.filter((each) => (endOf(each) as { code: string }).code === 'TIMEOUT');
  expect(values.timeoutRate, message).toBe(ratio(late.length, ends.length));
  expect(values.correctTermination, message).toBe(good.length === 0 ? null : 1);
  expect(values.trajectoryValidity, message).toBe(1);
  expect(values.budgetAdherence, message).toBe(1);

  const calls = count(all, (event) => event.type === 'effect.requested' && event.kind === 'tool');
  const retries = count(all, (event, before) => {
    if (event.type !== 'effect.judged' || event.verdict !== 'retry') return false;
    return toolKeys(before).has(event.key);
  });
  expect(values.retryRate, message).toBe(ratio(retries, calls + retries));
  const answered = count(all, (event, before) => event.type === 'effect.settled' && toolKeys(before).has(event.key));
  let failed = 0;
  for (const { events } of all)
    for (const event of events) {
      if (event.type !== 'effect.settled' || !toolKeys(events).has(event.key)) continue;
      const after = events.find(
        (each) => each.type === 'effect.judged' && each.key === event.key && each.seq > event.seq,
      );
      if (!event.result.ok || (after?.type === 'effect.judged' && after.verdict !== 'accepted')) failed += 1;
    }
  expect(values.failedToolCalls, message).toBe(ratio(failed, answered));
  const texts = all.filter(({ events }) =>
    events.some((event) => {
      if (event.type !== 'effect.settled' || !event.result.ok) return false;
      const asked = events.some(
        (each) => each.type === 'effect.requested' && each.key === event.key && each.question !== undefined,
      );
      const value = (event.result.value ?? {}) as { text?: string; edit?: unknown; expired?: boolean };
      return asked && value.expired !== true && ((value.text ?? '') !== '' || (value.edit ?? null) !== null);
    }),
  );
  expect(values.userCorrectionRate, message).toBe(ratio(texts.length, all.length));
  const spent = all.reduce((sum, { sample }) => sum + sample.costUsd, 0);
  const micros = count(all, () => false) + all.reduce((sum, { events }) => sum + microsIn(events), 0);
  expect(spent, message).toBeCloseTo(micros / 1_000_000, 9);
});

function microsIn(events: readonly Event[]): number {
  return events.reduce(
    (sum, event) => sum + (event.type === 'effect.settled' ? (event.result.used?.costMicros ?? 0) : 0),
    0,
  );
}
