/** What a person may put in the place of a plan: words, steps, or both in the manager's own form, and nothing else. */
import { expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { scriptedPerformer } from '@sluice-internal/library/host';
import type { Json } from '@sluice-internal/kernel/expr';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { compileTeam } from './team-drive.ts';

const flow = compileTeam({
  Agents: [{ Name: 'A' }],
  Selection: { Type: 'magentic', Magentic: { Model: 'm', EnablePlanReview: true } },
});
const manager = [
  { tools: [{ name: 'magentic_orientation', args: { plan: 'theirs' } }] },
  { tools: [{ name: 'magentic_ledger_update', args: { task_complete: true, stalling: false } }] },
];

test.each<[Json, boolean]>([
  ['mine', true],
  [['first', 'second'], true],
  [{ plan: 'mine' }, true],
  [{ plan: ['first'] }, true],
  ['', false],
  [[], false],
  [[''], false],
  [5, false],
  [{}, false],
  [{ steps: ['first'] }, false],
  [{ plan: '' }, false],
  [{ plan: 5 }, false],
])('%j', async (edit, taken) => {
  const performer = scriptedPerformer({ agents: { manager } });
  const engine = createRuntime({ store: openMemory(), performer, clock: createVirtualClock(), pickUp: false });
  try {
    const run = await engine.start(flow, { input: 'x', seed: 1 });
    const id = (await engine.settled(run)).waiting[0]?.id ?? '';
    const refusal = await engine.answer(id, { choice: 'edit', edit, by: 'ann' }).then(
      () => null,
      (error: { readonly code: string }) => error.code,
    );
    const { state } = await engine.settled(run);
    expect({ refusal, state }).toEqual(
      taken ? { refusal: null, state: 'completed' } : { refusal: 'bad-answer', state: 'suspended' },
    );
  } finally {
    await engine.close();
  }
});
