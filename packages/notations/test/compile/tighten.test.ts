/** `check` names the keys that bound a measure without a bound, and those that lower a bound far above the least. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tighteningKeys } from '@sluice-internal/compile/prove';
import type { Tightening } from '../../../compile/src/prove/tighten.ts';
import { compileText } from './compile-text.ts';

function keysOf(document: string | object): Tightening {
  const { flow, bounds } = compileText(document);
  if (flow === undefined || bounds === undefined) throw new Error('the document does not compile');
  return tighteningKeys(flow, bounds);
}

function exampleKeys(name: string): Tightening {
  return keysOf(exampleText(name));
}

/** The text of an example without a part of it. */
function without(name: string, part: string): string {
  const text = exampleText(name);
  expect(text).toContain(part);
  return text.replaceAll(part, '');
}

function exampleText(name: string): string {
  return readFileSync(new URL(`../../../../examples/${name}.yaml`, import.meta.url), 'utf8');
}

test('a team without MaxIterations', () => {
  const { modelCalls, steps, tokens } = exampleKeys('graph.team');
  expect(modelCalls).toEqual(['MaxIterations', 'budgets.model_calls']);
  expect(steps).toEqual(['MaxIterations', 'budgets.steps']);
  expect(tokens).toEqual(['MaxTotalTokens', 'budgets.tokens']);
});

test('a team whose agents have tools', () => {
  const { toolCalls, sideEffects, retries } = keysOf(without('dev-team.team', 'MaxToolCallsPerTurn: 20, '));
  expect(toolCalls).toEqual(['MaxToolCallsPerTurn', 'budgets.tool_calls']);
  expect(sideEffects).toEqual(['MaxToolCallsPerTurn', 'budgets.side_effects']);
  expect(retries).toEqual(['MaxToolCallsPerTurn', 'budgets.retries']);
});

test('a team that works on a list of its own', () => {
  const { steps, modelCalls, outputTokens } = keysOf(without('mapreduce.team', 'protections: { spawn: { max: 20 } }'));
  expect(steps).toEqual(['protections.spawn.max', 'budgets.steps']);
  expect(modelCalls).toEqual(['protections.spawn.max', 'budgets.model_calls']);
  expect(outputTokens).toEqual(['budgets.output_tokens']);
});

test('a node with max_visits', () => {
  expect(exampleKeys('letters.flow').modelCalls).toEqual(['max_visits of each/answer/write', 'budgets.model_calls']);
});

test('a bound that is exact, or that the document declares, needs no key', () => {
  const keys = exampleKeys('refund.flow');
  expect(keys.modelCalls).toBeUndefined();
  expect(keys.toolCalls).toBeUndefined();
  expect(exampleKeys('profile-coding.flow').modelCalls).toBeUndefined();
});

test('a budget takes the hint away', () => {
  const agents = [{ id: 'a', instructions: 'Go on.' }];
  const flow = {
    id: 'again',
    entry: 'n',
    max_iterations: 60,
    nodes: [{ id: 'n', type: 'agent', agent: 'a', routes: [{ when: "n.output == 'x'", to: 'end' }, { to: 'n' }] }],
  };
  expect(keysOf({ agents, flow }).modelCalls).toEqual(['max_iterations', 'budgets.model_calls']);
  expect(keysOf({ agents, flow, budgets: { model_calls: 20 } }).modelCalls).toBeUndefined();
});

test.each([
  [{ MaxTotalTokens: 30 }, {}, 'MaxTotalTokens'],
  [{ MaxTotalTokens: 30 }, { budgets: { tokens: 20 } }, 'budgets.tokens'],
  [{ MaxTotalTokens: 30 }, { budgets: { tokens: 40 } }, 'MaxTotalTokens'],
  [{ Termination: { Type: 'tokenbudget', MaxTokens: 20 }, MaxTotalTokens: 30 }, {}, 'MaxTokens of Termination'],
])('the tokens of a team are limited by %j and %j, which is %s', (keys, sections, label) => {
  const team = { Name: 't', Agents: [{ Name: 'A', Instructions: 'Go.' }], Selection: { Type: 'sequential' } };
  const { flow } = compileText({ Orchestration: { ...team, ...keys }, ...sections });
  expect(flow?.meters['budget.tokens']?.label).toBe(label);
});
