import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { compileSteps, drive, driveFlow } from './steps-drive.ts';

const echo = (name: string) => (prompt: string) => `${name}(${prompt})`;
const all = { a: echo('a'), b: echo('b'), c: echo('c'), d: echo('d'), e: echo('e') };
const batch = (more = '', after = '') => `
steps:
  - { name: first, agent_name: a }
  - { name: x, agent_name: b, mode: FanOut, output_var: vx }
  - { name: y, agent_name: c, mode: fan_out ${more} }
  - { name: z, agent_name: d, mode: fanout }
${after}`;
const collect = '  - { name: gather, mode: collect }\n  - { name: last, agent_name: e, prompt: "{{input}}" }';

describe('FanOut', () => {
  test('all branches start with the same input, in any order of results', () => {
    const run = drive(batch(), all, 'in', (open) => open[open.length - 1] as (typeof open)[number]);
    expect(run.commands.slice(1).map(({ name, input }) => [name, input['prompt']])).toEqual([
      ['d', 'a(in)'],
      ['c', 'a(in)'],
      ['b', 'a(in)'],
    ]);
    expect(run.path).toEqual(['first', 'x', 'y', 'z']);
    expect(run.outcome.output).toBe('d(a(in))');
    expect(run.commands.slice(1).map(({ input }) => input['source'])).toMatchObject([
      { step: 3, upstream: 'a' },
      { step: 2, upstream: 'a' },
      { step: 1, upstream: 'a' },
    ]);
  });

  test('without a Collect the last declared output goes on, even if it is what went in', () => {
    const run = drive(batch('', '  - { name: last, agent_name: e }'), { ...all, a: () => 'same', d: () => 'same' });
    expect(run.outcome.output).toBe('e(same)');
  });

  test('a branch does not see the variables of its siblings, later steps do', () => {
    const source = batch(', prompt: "{{vx}} {{input}}"', '  - { name: last, agent_name: e, prompt: "{{vx}}" }');
    const run = drive(source, all);
    expect(run.commands.find(({ name }) => name === 'c')?.input['prompt']).toBe('{{vx}} a(in)');
    expect(run.outcome.output).toBe('e(b(a(in)))');
  });

  test('a failing branch fails the run once its siblings have finished', () => {
    const run = drive(batch(), { ...all, b: () => ({ error: 'refused' }) });
    expect(run.commands.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
    expect(run.outcome).toMatchObject({
      state: 'failed',
      code: 'IMPOSSIBLE',
      output: null,
      error: { class: 'refused', type: 'TestError', message: 'b said refused', node: 'x' },
    });
  });

  test('when several fail, the first declared decides and the message names all', () => {
    const run = drive(
      batch(),
      { ...all, c: () => ({ error: 'timeout' }), d: () => ({ error: 'fatal' }) },
      'in',
      (open) => open[open.length - 1] as (typeof open)[number],
    );
    expect(run.outcome).toMatchObject({ code: 'TIMEOUT', error: { class: 'timeout', node: 'y' } });
    expect(run.outcome.error?.message).toBe('y: TestError: c said timeout; z: TestError: d said fatal');
  });

  test('the error mode of a branch comes first: retries, then skips', () => {
    const retried = drive(batch(', error_mode: retry, max_retries: 2'), {
      ...all,
      c: (_, { attempt }) => (attempt < 3 ? { error: 'transient' } : 'C'),
    });
    expect(retried.outcome).toMatchObject({ code: 'SUCCESS' });
    const skipped = drive(batch(', error_mode: skip'), { ...all, c: () => ({ error: 'fatal' }) });
    expect(skipped.outcome).toMatchObject({
      state: 'completed',
      code: 'PARTIAL_SUCCESS',
      output: 'd(a(in))',
      error: null,
    });
  });

  test('when the last branch is skipped, the one before it goes on', () => {
    const source = `
steps:
  - { name: x, agent_name: a, mode: fan_out, error_mode: skip }
  - { name: y, agent_name: b, mode: fan_out, error_mode: skip }
  - { name: last, agent_name: c }`;
    const lost = () => ({ error: 'fatal' }) as const;
    expect(drive(source, all).outcome).toMatchObject({ code: 'SUCCESS', output: 'c(b(in))' });
    expect(drive(source, { ...all, b: lost }).outcome).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'c(a(in))' });
    const none = drive(source, { ...all, a: lost, b: lost });
    expect(none.outcome).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'c(in)' });
    expect(none.commands.at(-1)?.input['source']).toMatchObject({ upstream: null });
  });

  test('a timeout is its own branch’s', () => {
    const run = drive(batch(', timeout_secs: 7'), { ...all, c: () => 'never' });
    expect(run.outcome).toMatchObject({ code: 'TIMEOUT', error: { type: 'TimeoutError', node: 'y' } });
    const requested = run.events.find((event) => event.type === 'effect.requested' && event.name === 'c');
    const settled = run.events.findLast((event) => event.type === 'effect.settled');
    expect((settled?.at ?? 0) - (requested?.at ?? 0)).toBe(7000);
  });
});

test('1,000 orders of coming back give one path, one output and one code', () => {
  const flow = compileSteps(batch(', error_mode: retry', collect)).flow as CompiledFlow;
  const agents = {
    ...all,
    c: (prompt: string, { attempt }: { attempt: number }) =>
      attempt === 1 ? ({ error: 'transient' } as const) : `c(${prompt})`,
  };
  const seen = new Set<string>();
  const orders = new Set<string>();
  let state = 1;
  for (let n = 0; n < 1000; n++) {
    const run = driveFlow(flow, agents, 'in', (open) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return open[Math.floor((state / 2 ** 32) * open.length)] as (typeof open)[number];
    });
    seen.add(JSON.stringify([run.path, run.outcome.output, run.outcome.code]));
    orders.add(run.commands.map(({ name }) => name).join());
  }
  expect(orders.size).toBeGreaterThan(5);
  expect([...seen]).toHaveLength(1);
});

describe('Collect', () => {
  test('joins the batch in declaration order, in any order of results', () => {
    const run = drive(batch('', collect), all, 'in', (open) => open[open.length - 1] as (typeof open)[number]);
    expect(run.outcome.output).toBe('e(b(a(in))\n\n---\n\nc(a(in))\n\n---\n\nd(a(in)))');
    expect(run.path).toEqual(['first', 'x', 'y', 'z', 'gather', 'last']);
    expect(run.commands.at(-1)?.input['source']).toMatchObject({ step: 5, upstream: null });
  });

  test('leaves out a skipped branch', () => {
    const source = batch(', error_mode: skip', collect);
    expect(drive(source, { ...all, c: () => ({ error: 'fatal' }) }).outcome).toMatchObject({
      code: 'PARTIAL_SUCCESS',
      output: 'e(b(a(in))\n\n---\n\nd(a(in)))',
    });
    expect(drive(source, all).outcome.code).toBe('SUCCESS');
  });

  test('of nothing but skipped branches is empty', () => {
    const source =
      'steps: [{ name: x, agent_name: a, mode: fan_out, error_mode: skip }, { name: g, mode: collect, output_var: all }, { name: l, agent_name: b, prompt: "<{{input}}|{{all}}>" }]';
    expect(drive(source, { ...all, a: () => ({ error: 'fatal' }) }).outcome.output).toBe('b(<|>)');
  });

  test('as the last step it is what the run returns, and a variable keeps it', () => {
    const end =
      'steps: [{ name: x, agent_name: a, mode: fan_out }, { name: y, agent_name: b, mode: fan_out }, { name: g, mode: collect, output_var: all }';
    expect(drive(`${end}]`, all).outcome.output).toBe('a(in)\n\n---\n\nb(in)');
    const later = drive(
      `${end}, { name: s, agent_name: c, prompt: "-" }, { name: l, agent_name: d, prompt: "{{all}}" }]`,
      all,
    );
    expect(later.outcome.output).toBe('d(a(in)\n\n---\n\nb(in))');
  });

  test('joins only the batch right before it', () => {
    const source = `
steps:
  - { name: x, agent_name: a, mode: fan_out }
  - { name: g, mode: Collect }
  - { name: y, agent_name: b, mode: fan_out, prompt: y }
  - { name: z, agent_name: c, mode: fan_out, prompt: z }
  - { name: h, mode: Collect }`;
    expect(drive(source, all).outcome.output).toBe('b(y)\n\n---\n\nc(z)');
  });

  test('repeats no output on the journal', () => {
    const long = 'x'.repeat(500);
    const run = drive(batch('', collect), { ...all, b: () => long, e: () => 'done' });
    expect(JSON.stringify(run.events).split(long).length - 1).toBe(1);
  });

  test('a condition after it reads the joined text', () => {
    const source =
      'steps: [{ name: x, agent_name: a, mode: fan_out }, { name: y, agent_name: b, mode: fan_out }, { name: g, mode: collect }, { name: l, agent_name: c, mode: conditional, condition: "A(IN)\\n\\n---" }]';
    expect(drive(source, all).path).toEqual(['x', 'y', 'g', 'l']);
  });
});
