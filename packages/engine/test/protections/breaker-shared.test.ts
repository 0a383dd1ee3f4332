/** Circuit breakers that several processes share through the store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openMemory, openSqlite } from '@sluice-internal/library';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { AGENTS, DOWN, FLOW, flowOf, lab } from './run-flow.ts';

const ID = 'bot@openai/big';
const withBreaker = (breaker: object | false, more: object = {}) =>
  flowOf({ ...AGENTS, ...more, flow: FLOW, protections: { breaker } });

describe('shared through the store', () => {
  test('two processes on one database have one breaker', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
    const clock = createVirtualClock(0);
    const open = () => lab(() => DOWN, { store: openSqlite(join(dir, 'one.db')), clock });
    const [one, two] = [open(), open()];
    const flow = withBreaker({});
    for (let index = 0; index < 3; index++) {
      await one.run(flow);
      await two.run(flow);
    }
    expect(one.sent.length + two.sent.length).toBe(5);
    expect(await two.run(flow)).toMatchObject({ error: { type: 'BreakerOpenError' } });
    expect(await one.store.shared.list('breaker:')).toMatchObject([
      { key: `breaker:${ID}`, value: { status: 'open' } },
    ]);
    await one.close();
    await two.close();
    rmSync(dir, { recursive: true });
  });

  test.each(['memory', 'sqlite'])('%s: values and acts', async (kind) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
    const store = kind === 'memory' ? openMemory() : openSqlite(join(dir, 'one.db'));
    const { shared } = store;
    expect(await shared.get('a')).toBeNull();
    expect(await shared.update('a_', () => [1, 'done'])).toBe('done');
    await shared.update('ab', (value) => [value ?? 2, null]);
    expect(await shared.list('a_')).toEqual([{ key: 'a_', value: 1 }]);
    await shared.operate({ at: 1, by: 'anna', what: 'opened', key: 'a_', why: 'test' }, () => 5);
    await shared.operate({ at: 2, by: 'ben', what: 'closed', key: 'a_', why: '' }, (value) => Number(value) + 1);
    expect(await shared.get('a_')).toBe(6);
    const acts = await shared.acts();
    expect(acts).toMatchObject([{ by: 'anna' }, { by: 'ben' }]);
    expect(new Set(acts.map(({ link }) => link)).size).toBe(2);
    await store.close();
    rmSync(dir, { recursive: true });
  });
});
