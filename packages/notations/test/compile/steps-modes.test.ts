import { describe, expect, test } from 'vitest';
import type { Command } from '@sluice-internal/kernel/ir';
import { drive } from './steps-drive.ts';

const echo = (name: string) => (prompt: string) => `${name}(${prompt})`;
const prompts = (commands: readonly Command[]) => commands.map(({ input }) => input['prompt']);

describe('Sequential', () => {
  test('each step receives the output of the one before', () => {
    const run = drive(
      'steps: [{ name: one, agent_name: a }, { name: two, agent_name: b, prompt: "do {{ input }}!" }]',
      { a: echo('a'), b: echo('b') },
    );
    expect(run.outcome).toMatchObject({ state: 'completed', code: 'SUCCESS', output: 'b(do a(in)!)' });
    expect(run.path).toEqual(['one', 'two']);
  });

  test('an input that is data is passed as its text', () => {
    const run = drive('steps: [{ name: one, agent_name: a }]', { a: echo('a') }, { n: [1, 2] });
    expect(run.outcome.output).toBe('a({"n":[1,2]})');
  });

  test('where a call comes from is part of what is asked', () => {
    const run = drive('{ id: w1, steps: [{ name: one, agent_name: a }, { name: two, agent_name: b }] }', {
      a: echo('a'),
      b: echo('b'),
    });
    expect(run.commands.map(({ input }) => input['source'])).toEqual([
      { workflow: 'w1', step: 0, upstream: null },
      { workflow: 'w1', step: 1, upstream: 'a' },
    ]);
  });

  test('the journal holds each output once, by reference after that', () => {
    const long = 'x'.repeat(1000);
    const run = drive(
      'steps: [{ name: one, agent_name: a, output_var: v }, { name: two, agent_name: b, prompt: "{{v}}" }]',
      { a: () => long, b: () => 'done' },
    );
    expect(JSON.stringify(run.events).split(long).length - 1).toBe(1);
  });
});

describe('variables', () => {
  test('last for the whole run and are filled in once', () => {
    const source = `
steps:
  - { name: one, agent_name: a, output_var: first }
  - { name: two, agent_name: b, output_var: second-one }
  - { name: three, agent_name: c, prompt: "{{first}} + {{ second-one }} + {{input}}" }`;
    const run = drive(source, { a: () => '{{input}} {{second-one}}', b: () => 'B', c: echo('c') });
    expect(run.outcome.output).toBe('c({{input}} {{second-one}} + B + B)');
  });

  test('what is not stored stays exactly as it is written', () => {
    const source = `
steps:
  - { name: one, agent_name: a, prompt: "{{ later }} {{nobody}} {{}} {{ a b }}" }
  - { name: two, agent_name: b, output_var: later }`;
    const run = drive(source, { a: echo('a'), b: echo('b') });
    expect(prompts(run.commands)[0]).toBe('{{ later }} {{nobody}} {{}} {{ a b }}');
  });

  test('what a skipped step would have stored stays as it is written', () => {
    const source = `
steps:
  - { name: one, agent_name: a, error_mode: skip, output_var: v }
  - { name: two, agent_name: b, prompt: "got {{ v }}" }`;
    expect(prompts(drive(source, { a: () => ({ error: 'fatal' }), b: echo('b') }).commands)[1]).toBe('got {{ v }}');
    expect(prompts(drive(source, { a: () => 'V', b: echo('b') }).commands)[1]).toBe('got V');
  });
});

describe('Conditional', () => {
  const source = `
steps:
  - { name: one, agent_name: a }
  - { name: two, agent_name: b, mode: { Conditional: { condition: needs_review } } }
  - { name: three, agent_name: c }`;

  test('runs when the output before it contains the text, in any case', () => {
    const run = drive(source, { a: () => 'this NEEDS_Review now', b: echo('b'), c: echo('c') });
    expect(run.path).toEqual(['one', 'two', 'three']);
  });

  test('is passed by otherwise, and the input stays', () => {
    const run = drive(source, { a: () => 'fine', b: echo('b'), c: echo('c') });
    expect(run.path).toEqual(['one', 'three']);
    expect(run.outcome).toMatchObject({ code: 'SUCCESS', output: 'c(fine)' });
    expect(run.commands[1]?.input['source']).toMatchObject({ upstream: 'a' });
  });

  test('as the first step it reads the input of the run', () => {
    const first = 'steps: [{ name: one, agent_name: a, mode: conditional, condition: error }]';
    expect(drive(first, { a: echo('a') }, 'an ERROR').outcome.output).toBe('a(an ERROR)');
    const passed = drive(first, { a: echo('a') }, 'fine');
    expect(passed.path).toEqual([]);
    expect(passed.outcome).toMatchObject({ state: 'completed', code: 'SUCCESS', output: 'fine' });
  });

  test('after a condition that was not met, the next one reads the last output that there is', () => {
    const chain = `
steps:
  - { name: one, agent_name: a }
  - { name: two, agent_name: b, mode: conditional, condition: nothing }
  - { name: three, agent_name: c, mode: conditional, condition: a-said }`;
    expect(drive(chain, { a: () => 'a-said', b: echo('b'), c: echo('c') }).path).toEqual(['one', 'three']);
  });
});

describe('Loop', () => {
  const loop = (more: string) =>
    `steps: [{ name: refine, agent_name: a, prompt: "r {{input}}", mode: loop, until: done, ${more} }, { name: next, agent_name: b }]`;

  test('ends when the output contains the text, in any case', () => {
    const run = drive(loop('max_iterations: 5'), {
      a: (prompt, { ordinal }) => (ordinal === 2 ? 'it is Done' : `${prompt}.`),
      b: echo('b'),
    });
    expect(run.path).toEqual(['refine', 'refine', 'refine', 'next']);
    expect(prompts(run.commands).slice(0, 3)).toEqual(['r in', 'r r in.', 'r r r in..']);
    expect(run.outcome.output).toBe('b(it is Done)');
    expect(run.events.some(({ type }) => type === 'meter.tripped')).toBe(false);
    expect(run.commands.map(({ input }) => (input['source'] as { upstream: string }).upstream)).toEqual([
      null,
      'a',
      'a',
      'a',
    ]);
  });

  test('at the cap it goes on with the last output, and an event says so', () => {
    const run = drive(loop('max_iterations: 2'), { a: (prompt) => `${prompt}.`, b: echo('b') });
    expect(run.path).toEqual(['refine', 'refine', 'next']);
    expect(run.outcome).toMatchObject({ state: 'completed', code: 'SUCCESS', output: 'b(r r in..)' });
    expect(run.events.filter(({ type }) => type === 'meter.tripped')).toHaveLength(1);
  });

  test('runs five times by default', () => {
    expect(drive(loop(''), { a: () => 'x', b: echo('b') }).path).toHaveLength(6);
  });

  test('stores its variable when it is over', () => {
    const source = `
steps:
  - { name: draft, agent_name: a, output_var: text }
  - { name: refine, agent_name: b, mode: loop, until: ok, max_iterations: 3, prompt: "{{text}}|{{input}}", output_var: text }
  - { name: show, agent_name: c, prompt: "{{text}}" }`;
    const run = drive(source, { a: () => 'A', b: (prompt) => (prompt === 'A|again' ? 'OK' : 'again'), c: echo('c') });
    expect(prompts(run.commands)).toEqual(['in', 'A|A', 'A|again', 'OK']);
  });

  test('under Skip a failing iteration ends the loop with the last good output', () => {
    const source = loop('error_mode: skip, output_var: v').replace(
      'agent_name: b',
      'agent_name: b, prompt: "{{input}} {{v}}"',
    );
    const failingAt = (bad: number) =>
      drive(source, { a: (_, { ordinal }) => (ordinal === bad ? { error: 'fatal' } : `good${ordinal}`), b: echo('b') });
    const later = failingAt(1);
    expect(later.path).toEqual(['refine', 'refine', 'next']);
    expect(later.outcome).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'b(good0 good0)' });
    expect(failingAt(0).outcome).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'b(in {{v}})' });
  });

  test('retries belong to an iteration', () => {
    const run = drive(loop('error_mode: retry, max_retries: 1, max_iterations: 2'), {
      a: (_, { attempt }) => (attempt === 1 ? { error: 'transient' } : 'x'),
      b: echo('b'),
    });
    expect(run.commands.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2, 1]);
    expect(run.outcome.code).toBe('SUCCESS');
  });
});
