/** L7: a call with effects whose result is refused took effect. It is not repeated, it is undone, and it has a receipt. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '@sluice-internal/library';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import { Core, end, flowOf, tool } from '../../../../test/laws/flow.ts';
import { compiled, playOn } from '../../../../test/support/harness.ts';
import { receiptsOf } from '../../src/report/receipts.ts';

const OUTPUT = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

async function called(effect: string, idempotent = false) {
  const calls: string[] = [];
  const performed = (tool: string, result: object) => () => {
    calls.push(tool);
    return result as { [field: string]: string };
  };
  const engine = createEngine({
    journal: openMemory(),
    tools: { 'pay.do': performed('pay.do', { n: 'many' }), 'pay.undo': performed('pay.undo', {}) },
  });
  const flow = compiled({
    tools: {
      'pay.do': { effect, idempotent, output: OUTPUT, ...(effect === 'read' ? {} : { compensate: 'pay.undo' }) },
      'pay.undo': { effect: 'financial' },
    },
    flow: {
      id: 'f',
      entry: 'pay',
      nodes: [{ id: 'pay', type: 'tool', tool: 'pay.do', retry: { max_attempts: 3, backoff_ms: 1 } }],
    },
  });
  const { report } = await playOn(engine, flow, { input: {} });
  expect(report.error).toMatchObject({ type: 'SchemaError', message: '`n` must be number' });
  return { calls, report };
}

test('a tool with effects', async () => {
  const { calls, report } = await called('financial');
  expect(calls).toEqual(['pay.do', 'pay.undo']);
  expect(report.code).toBe('VALIDATION_FAIL');
  expect(report.receipts).toMatchObject([{ tool: 'pay.do', result: { n: 'many' }, status: 'compensated' }]);
});

test('a tool that is idempotent is tried again, and undone once', async () => {
  const { calls, report } = await called('financial', true);
  expect(calls).toEqual(['pay.do', 'pay.do', 'pay.do', 'pay.undo']);
  expect(report.receipts).toMatchObject([{ tool: 'pay.do', status: 'compensated' }]);
});

test('a tool that only reads is tried again, and has no receipt', async () => {
  const { calls, report } = await called('read');
  expect(calls).toEqual(['pay.do', 'pay.do', 'pay.do']);
  expect(report).toMatchObject({ code: 'REPEATED_FAILURE', receipts: [] });
});

test('a further attempt that is not sent any more does not take the receipt away', () => {
  const retry = { max: 1, baseMs: 1_000, capMs: 1_000, on: ['semantic'] } as const;
  const pay = tool('pay', 'end', { accept: 'it == "paid"', retry });
  const def = { effect: 'write', idempotent: true } as ToolDef;
  const core = new Core(flowOf({ pay, end: end() }, { tools: { pay: def } }));
  core.sent = 'no';
  core.answer('0#0', 'perhaps');
  expect(core.owed).toEqual(['0#0 pay']);
  core.tell({ type: 'cancel', by: 'ann', why: '' }, 2);
  expect(core.state?.outcome).toMatchObject({ code: 'USER_CANCEL' });
  expect(receiptsOf(core.program, core.events)).toMatchObject([
    { tool: 'pay', result: 'perhaps', status: 'committed' },
  ]);
});
