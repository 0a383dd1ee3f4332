/** Bound answers: `{{obs.N.field}}` is filled in by the engine, so such a value cannot be wrong. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { play } from '../../../guard/test/policy/play.ts';
import { compileLoop, drive } from './drive.ts';

const tools = { 'orders.get': { effect: 'read' } };
const look = { text: '', tools: [{ name: 'orders.get', args: {} }] };
const ORDER = { id: 'A-2291', total: 48.9, customer: 'Ann Lee', lines: [{ sku: 'SKU-7', count: 3 }] };
const loop = (grounding: object = {}) =>
  compileLoop({
    agents: [{ id: 'bot', tools: Object.keys(tools) }],
    tools,
    loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }], grounding },
  });
const script = (replies: readonly string[], result: Json = ORDER): Script => ({
  agents: { bot: [look, ...replies] },
  tools: { 'orders.get': [{ result }] },
});

describe('a reference', () => {
  test.each([
    ['a field', 'It costs {{obs.1.total}}.', 'It costs 48.9.'],
    ['a field of an item', 'You get {{obs.1.lines.0.count}} of {{ obs.1.lines.0.sku }}.', 'You get 3 of SKU-7.'],
    ['an object', 'See {{obs.1.lines.0}}.', 'See {"sku":"SKU-7","count":3}.'],
  ])('to %s', async (_, reply, output) => {
    const { report } = await drive(loop(), script([reply]));
    expect(report).toMatchObject({ code: 'SUCCESS', output });
  });

  test('into a result that is JSON text', async () => {
    const { report } = await drive(loop(), script(['It costs {{obs.1.total}}.'], JSON.stringify(ORDER)));
    expect(report.output).toBe('It costs 48.9.');
  });

  test.each(['{{obs.1.price}}', '{{obs.7.total}}', '{{obs.0.total}}', '{{obs.1.lines.9.sku}}'])(
    'to nothing (%s) goes back to the agent once',
    async (reference) => {
      const { report, prompts } = await drive(loop(), script([`It costs ${reference}.`, 'It costs {{obs.1.total}}.']));
      expect(report).toMatchObject({ code: 'SUCCESS', output: 'It costs 48.9.' });
      expect(prompts.at(-1)).toContain(reference);
    },
  );

  test('never reaches the output unfilled', async () => {
    const { report } = await drive(loop({ on_violation: 'halt' }), script(['It costs {{obs.1.price}}.']));
    expect(report.output).toBeNull();
  });

  test('is filled in for every notation, also in JSON', async () => {
    const document = {
      tools,
      agents: [{ id: 'bot', tools: Object.keys(tools) }],
      flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
    };
    const { report } = await play(document, script(['{"total": "{{obs.1.total}}", "who": "Dear {{obs.1.customer}}"}']));
    expect(report.output).toEqual({ total: 48.9, who: 'Dear Ann Lee' });
    const unknown = await play(document, script(['It costs {{obs.1.price}}.', 'It costs {{obs.1.total}}.']));
    expect(unknown.report.output).toBe('It costs 48.9.');
  });
});

describe('grounding.values: bound', () => {
  test.each(['It costs $48.90.', 'Your order is A-2291.', 'Dear Ann Lee, it is done.', 'It has 48.9 of them.'])(
    'a literal gets a repair turn: %s',
    async (literal) => {
      const { report, prompts } = await drive(
        loop({ values: 'bound' }),
        script([literal, 'It costs {{obs.1.total}}.']),
      );
      expect(report).toMatchObject({ code: 'SUCCESS', output: 'It costs 48.9.' });
      expect(prompts[0]).toContain('{{obs.1.total}} is the field');
    },
  );

  test('a literal that stays is not the output', async () => {
    const { report } = await drive(loop({ values: 'bound', on_violation: 'halt' }), script(['It costs $48.90.']));
    expect(report.output).toBeNull();
  });

  test('values that the user gave may be literal', async () => {
    const reply = 'Order A-2291 of Ann Lee costs {{obs.1.total}}.';
    const { report } = await drive(loop({ values: 'bound' }), script([reply]), {
      input: 'What does A-2291 of Ann Lee cost?',
    });
    expect(report).toMatchObject({ code: 'SUCCESS', output: 'Order A-2291 of Ann Lee costs 48.9.' });
  });
});
