/** The certificate holds for calls that are never made, calls that are undone, and failures that a flow declares itself. */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow, Settled } from '@sluice-internal/kernel/ir';
import { usageOf } from '@sluice-internal/engine/report';
import { driveCore } from '../../../../test/support/harness.ts';
import { compileText } from '../../../notations/test/compile/compile-text.ts';

describe('the least of a call that may fail before it is made', () => {
  const refusable = (params: string, input: string, budgets = ''): string => `
${budgets}
tools:
  pay.out: { ${input} }
  look.up: { effect: read }
flow:
  id: demo
  entry: pay
  nodes:
    - { id: pay, type: tool, tool: pay.out, params: { cents: "${params}" }, routes: [{ to: look }], on_error: [{ default: true, to: look }] }
    - { id: look, type: tool, tool: look.up }`;
  const SCHEMA = 'input: { type: object, properties: { cents: { type: integer } }, required: [cents] }';

  test.each([
    ['arguments that need not fit', '{{event.payload.message}}', SCHEMA],
    ['arguments that cannot always be computed', '{{1 / size(event.payload.message)}}', ''],
  ])('leaves out what it would use: %s', (_, params, input) => {
    const { bounds, diagnostics } = compileText(refusable(params, input, 'budgets: { tool_calls: 1 }'));
    expect(bounds?.flow.toolCalls).toEqual({ least: 1, most: 1 });
    expect(bounds?.flow.sideEffects.least).toBe(0);
    expect(bounds?.flow.steps.least).toBe(2);
    expect(diagnostics).toEqual([]);
  });

  test('counts a call that is made in any case', () => {
    const { bounds, diagnostics } = compileText(
      refusable('{{event.payload.message}}', '', 'budgets: { tool_calls: 1 }'),
    );
    expect(bounds?.flow.toolCalls.least).toBe(2);
    expect(diagnostics.map(({ code }) => code)).toEqual(['budget-too-small']);
  });
});

describe('the most of calls that may be undone', () => {
  const undone = (head: string, more = ''): string => `
${head}
tools:
  stock.reserve: { compensate: stock.release }
  stock.release: {}
  pay.charge: {}
flow:
  id: demo
  entry: reserve
  ${more}
  nodes:
    - { id: reserve, type: tool, tool: stock.reserve, routes: [{ when: "event.payload.again == true", to: reserve }, { to: charge }] }
    - { id: charge, type: tool, tool: pay.charge }`;

  test('has one undo call for each of them', () => {
    const { bounds } = compileText(undone('', 'max_iterations: 4'));
    expect(bounds?.flow).toMatchObject({ toolCalls: { least: 2, most: 4 }, undoCalls: { least: 0, most: 4 } });
    expect(bounds?.nodes['charge']).toMatchObject({ toolCalls: { least: 1, most: 1 }, undoCalls: { most: 0 } });
  });

  test('is the budget of the calls, which does not hold undo calls', () => {
    const { bounds } = compileText(undone('budgets: { tool_calls: 3 }', 'max_iterations: 20'));
    expect(bounds?.flow).toMatchObject({ toolCalls: { least: 2, most: 3 }, undoCalls: { least: 0, most: 3 } });
  });
});

test('a turn that runs out of rounds is among the ends', () => {
  const { bounds } = compileText(`
agents: [{ id: bot, tools: [web.look] }]
tools: { web.look: { effect: read } }
flow: { id: demo, entry: ask, nodes: [{ id: ask, type: agent, agent: bot }] }`);
  expect(bounds?.codes).toContain('REPEATED_FAILURE');
});

test('a loop that reflects says how often it may', () => {
  const { bounds } = compileText(`
agents: [{ id: bot }, { id: judge }, { id: expert }]
loop: { id: demo, agent: bot, verifier: { confidence: 0.8 }, escalation: { timeout: 60 } }`);
  expect(bounds?.flow.reflections.least).toBe(0);
  expect(bounds?.flow.reflections.most ?? Infinity).toBeGreaterThanOrEqual(1);
});

test('a call that a protection holds back counts neither as a side effect nor as a retry', () => {
  const { flow, bounds } = compileText(`
budgets: { side_effects: 2, retries: 1 }
tools:
  mail.send: { effect: communication }
boundary: { tools: { allow: [mail.send] } }
flow:
  id: demo
  entry: one
  nodes:
    - { id: one, type: tool, tool: mail.send, retry: { max_attempts: 2 }, on_error: [{ default: true, to: two }] }
    - { id: two, type: tool, tool: mail.send, retry: { max_attempts: 2 }, on_error: [{ default: true, to: three }] }
    - { id: three, type: tool, tool: mail.send }`);
  const failed = (unsent?: 'breaker'): Settled => ({
    ok: false,
    error: { class: 'rate_limit', type: 'X', message: 'x', ...(unsent === undefined ? {} : { unsent }) },
  });
  const results = [failed(), failed('breaker'), failed('breaker'), failed('breaker')];
  const perform = (): Settled => results.shift() ?? { ok: true, value: null };
  const { state, events } = driveCore(flow as CompiledFlow, { perform }, {});
  const { sideEffects, retries, toolCalls } = usageOf(flow as CompiledFlow, state, events);
  expect({ sideEffects, toolCalls, retries }).toEqual({ sideEffects: 1, toolCalls: 1, retries: 0 });
  expect([bounds?.flow.sideEffects.most, bounds?.flow.retries.most]).toEqual([2, 1]);
});

test('a failure of a model and of its fallback is among the ends', () => {
  const { bounds } = compileText(`
models:
  big: { provider: openai, model: big, fallback: [small] }
  small: { provider: openai, model: small }
agents: [{ id: bot, model: big }]
flow: { id: demo, entry: ask, nodes: [{ id: ask, type: agent, agent: bot }] }`);
  expect(bounds?.codes).toContain('REPEATED_FAILURE');
});
