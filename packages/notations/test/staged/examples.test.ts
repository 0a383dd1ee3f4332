/** Examples of staged flows: a saga whose third booking fails, and a plan that a critic refuses first. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';

const read = (name: string): string => readFileSync(new URL(`../../../../examples/${name}`, import.meta.url), 'utf8');

test('a saga undoes two of three bookings', async () => {
  const { flow, diagnostics } = compile(read('saga.staged.yaml'));
  expect(diagnostics).toEqual([]);
  const engine = createEngine({ journal: openMemory(), script: parse(read('saga.script.yaml')) as Script });
  const run = await engine.start(flow as NonNullable<typeof flow>, { input: 'Lisbon, 3 nights' });
  const report = await engine.settled(run);
  const undone: string[] = [];
  for await (const event of engine.events(run, { live: false }))
    if (event.type === 'undo.requested') undone.push(event.tool);
  await engine.close();
  expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', output: null });
  expect(undone).toEqual(['hotel.cancel', 'flight.cancel']);
  expect(report.receipts.map(({ tool, status }) => [tool, status])).toEqual([
    ['flight.book', 'compensated'],
    ['hotel.book', 'compensated'],
  ]);
  expect(report.decisions).toMatchObject([{ failure: 'schema_or_grounding', action: 'abort', tier: 'batch' }]);
});

test('a critic refuses the plan that leaves out the risks', async () => {
  const { flow, diagnostics } = compile(read('plan-critic.staged.yaml'));
  expect(diagnostics).toEqual([]);
  const engine = createEngine({ journal: openMemory(), script: parse(read('plan-critic.script.yaml')) as Script });
  const run = await engine.start(flow as NonNullable<typeof flow>, { input: 'Shall we buy the mill?' });
  const report = await engine.settled(run);
  await engine.close();
  expect(report).toMatchObject({ code: 'SUCCESS', decisions: [{ failure: 'malformed_plan', action: 'replan' }] });
  expect(report.path).toEqual(['plan', 'plan', 'workers/price', 'workers/risks', 'aggregate', 'validate', 'finalize']);
});
