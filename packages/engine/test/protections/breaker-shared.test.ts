/** Circuit breakers that several processes share through the store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSqlite } from '@sluice-internal/library';
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
});
