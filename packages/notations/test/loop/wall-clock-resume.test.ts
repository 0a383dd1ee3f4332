/** A run that is out of time waits on disk; whoever takes it up later grants time from then on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openSqlite } from '@sluice-internal/store-sqlite';
import type { Settled } from '@sluice-internal/kernel/ir';
import { replay } from '@sluice-internal/engine/audit';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Performer } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { compileLoop } from './drive.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-clock-'));
afterAll(() => rmSync(folder, { recursive: true }));
const open = () => openSqlite(join(folder, 'runs.db'));

const flow = compileLoop({
  agents: [{ id: 'bot' }],
  budgets: { wall_clock_seconds: 0.05 },
  loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }], escalation: { expansions: 1 } },
});
const never: Performer = {
  perform: ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
};
const prompt: Performer = {
  perform: async ({ command }): Promise<Settled> =>
    command.kind === 'model'
      ? { ok: true, value: { text: 'done' } }
      : { ok: true, value: { ok: true, claimed: [], reason: null } },
};

test('the process dies while the run waits, and the deadline moves with the answer', async () => {
  const first = createRuntime({ store: open(), performer: never });
  const run = await first.start(flow, { input: 'x', seed: 1 });
  const waiting = await first.settled(run);
  expect(waiting).toMatchObject({ state: 'suspended', code: 'CONFIRM_REQUIRED', waiting: [{ expiresAt: null }] });
  await first.close();

  const second = createRuntime({ store: open(), performer: prompt });
  await second.resume(run);
  expect((await second.settled(run)).state).toBe('suspended');
  await second.answer(waiting.waiting[0]?.id ?? '', {
    choice: 'approve',
    by: 'ann',
    edit: { wall_clock_seconds: 60 },
  });
  expect((await second.settled(run)).code).toBe('SUCCESS');
  await second.close();

  const store = open();
  const { events, state } = await readRun(store.journal, run);
  const raised = events.find(({ type }) => type === 'meter.raised');
  expect(state.deadline).toBe((raised?.at ?? 0) + 60_000);
  expect((await replay(store.journal, run)).difference).toBeNull();
  await store.close();
});
