import { describe, expect, test } from 'vitest';
import type { DoNode } from '@sluice-internal/kernel/ir';
import { compileSteps } from './steps-drive.ts';

/** Each as `severity code @line text`, with the text that it points at. */
const found = (source: string) =>
  compileSteps(source).diagnostics.map(({ severity, code, line, column, endColumn }) => {
    const pointed = source.split('\n')[line - 1]?.slice(column - 1, (endColumn ?? column) - 1) ?? '';
    return `${severity} ${code} @${line} ${pointed}`;
  });
const messages = (source: string) =>
  compileSteps(source).diagnostics.map(({ message, help }) => `${message} — ${help ?? ''}`);
const steps = (...lines: readonly string[]) => `steps:\n${lines.map((line) => `  - ${line}\n`).join('')}`;

describe('two spellings', () => {
  const rust = {
    name: 'w',
    steps: [
      {
        name: 'one',
        agent: { ByName: 'a' },
        prompt_template: 'x {{input}}',
        mode: 'Sequential',
        error_mode: { Retry: { max_retries: 2 } },
      },
      { name: 'two', agent: { ById: 'b' }, mode: 'FanOut', error_mode: 'Skip' },
      { name: 'three', mode: 'Collect' },
      { name: 'four', agent: { ByName: 'c' }, mode: { Conditional: { condition: 'yes' } }, error_mode: 'Fail' },
      { name: 'five', agent: { ByName: 'd' }, mode: { Loop: { max_iterations: 4, until: 'DONE' } }, output_var: null },
    ],
  };
  const flat = `
name: w
steps:
  - { name: one, agent_name: a, prompt: "x {{input}}", error_mode: retry, max_retries: 2 }
  - { name: two, agent_id: b, mode: fan_out, error_mode: skip }
  - { name: three, mode: collect }
  - { name: four, agent: { name: c }, mode: conditional, condition: yes }
  - { name: five, agent: d, mode: loop, max_iterations: 4, until: DONE }`.replace('condition: yes', 'condition: "yes"');

  test('mean the same flow, as JSON, YAML or an object, bare or under `workflow`', () => {
    const hash = compileSteps(flat).flow?.hash;
    expect(hash).toMatch(/^sha256:/);
    expect(compileSteps(JSON.stringify(rust)).flow?.hash).toBe(hash);
    expect(compileSteps(rust).flow?.hash).toBe(hash);
    expect(compileSteps({ workflow: rust }).flow?.hash).toBe(hash);
  });

  test('have the same defaults', () => {
    const { flow } = compileSteps(
      steps('{ agent_name: a }', '{ agent_name: b, error_mode: retry }', '{ agent_name: c, mode: loop, until: x }'),
    );
    const calls = Object.values(flow?.nodes ?? {}).filter((node): node is DoNode => node.op === 'do');
    expect(
      calls.map(({ label, timeoutMs, retry, effect }) => [label.name, timeoutMs, retry.max, effect.input['prompt']]),
    ).toEqual([
      ['step-1', 120_000, 0, 'text(input)'],
      ['step-2', 120_000, 3, '_in'],
      ['step-3', 120_000, 0, '_in'],
    ]);
    expect(flow?.meters['loop:step-3']).toMatchObject({ unit: 'visits', max: 5, label: 'max_iterations' });
  });
});

describe('agents', () => {
  const agents =
    'agents:\n  - { id: x1, name: Writer }\n  - { id: x2, name: Writer }\n  - { name: Editor }\n  - { id: lone }\n';
  const called = (step: string) =>
    Object.values(compileSteps(`${agents}steps: [${step}]`).flow?.nodes ?? {}).flatMap((node) =>
      node.op === 'do' && node.effect.kind === 'model' ? [node.effect.agent] : [],
    );

  test('by name the first of that name, by id that one', () => {
    expect(called('{ agent_name: Writer }')).toEqual(['x1']);
    expect(called('{ agent: { ById: x2 } }')).toEqual(['x2']);
    expect(called('{ agent_name: Editor }')).toEqual(['Editor']);
    expect(called('{ agent_name: lone }')).toEqual(['lone']);
    expect(called('{ agent: x2 }')).toEqual(['x2']);
    expect(called('{ agent: Writer }')).toEqual(['x1']);
  });

  test('one that is not declared is an error where it is named, with the nearest', () => {
    expect(compileSteps(`${agents}steps:\n  - { name: s, agent_name: Writter }`).diagnostics).toMatchObject([
      {
        code: 'unknown-agent',
        line: 7,
        column: 28,
        message: 'unknown agent `Writter` on step `s`',
        help: 'Did you mean `Writer`?',
      },
    ]);
    expect(messages(`${agents}steps: [{ name: s, agent_name: x1 }]`)).toEqual([
      'unknown agent `x1` on step `s` — An agent has this as its id: write `agent_id: x1`.',
    ]);
    expect(messages(`${agents}steps: [{ name: s, agent_id: Writer }]`)).toEqual([
      'unknown agent `Writer` on step `s` — An agent has this as its name: write `agent_name: Writer`.',
    ]);
  });

  test('without an `agents` section, each named agent is declared', () => {
    expect(compileSteps(steps('{ agent_name: a }')).flow?.agents).toMatchObject({
      a: { id: 'a', name: 'a', model: null },
    });
  });

  test('a reply must fit the schema that its agent declares', () => {
    const { flow } = compileSteps('agents: [{ id: a, output: { type: object } }]\nsteps: [{ agent_id: a }]');
    expect(Object.values(flow?.nodes ?? {}).find(({ op }) => op === 'do')).toMatchObject({
      schema: { type: 'object' },
    });
  });
});

describe('mistakes', () => {
  test.each([
    ['an unknown key', steps('{ name: s, agent_name: a, promt: x }'), ['error unknown-key @2 promt']],
    ['an unknown mode', steps('{ name: s, agent_name: a, mode: fan_outt }'), ['error bad-value @2 fan_outt']],
    [
      'an unknown variant',
      steps('{ name: s, agent_name: a, mode: { Looop: { until: x } } }'),
      ['error unknown-key @2 Looop'],
    ],
    [
      'a misspelt until',
      steps('{ name: s, agent_name: a, mode: { Loop: { untl: x } } }'),
      ['error unknown-key @2 untl'],
    ],
    ['a misspelt agent', steps('{ name: s, agent_nam: a }'), ['error unknown-key @2 agent_nam']],
    [
      'two variants',
      steps('{ name: s, agent_name: a, mode: { Loop: { until: x }, Conditional: { condition: x } } }'),
      ['error bad-value @2 Loop'],
    ],
    ['no agent', steps('{ name: s, prompt: x }'), ['error missing-agent @2 name']],
    ['two agents', steps('{ name: s, agent_name: a, agent_id: b }'), ['error bad-value @2 agent_id']],
    [
      'two prompts',
      steps('{ name: s, agent_name: a, prompt: x, prompt_template: y }'),
      ['error bad-value @2 prompt_template'],
    ],
    ['a loop without until', steps('{ name: s, agent_name: a, mode: loop }'), ['error empty-condition @2 loop']],
    ['an empty until', steps('{ name: s, agent_name: a, mode: loop, until: "" }'), ['error empty-condition @2 ""']],
    [
      'an empty until in a variant',
      steps('{ name: s, agent_name: a, mode: { Loop: { until: "" } } }'),
      ['error empty-condition @2 ""'],
    ],
    [
      'a condition that is missing',
      steps('{ name: s, agent_name: a, mode: { Conditional: {} } }'),
      ['error empty-condition @2 Conditional'],
    ],
    [
      'an empty condition',
      steps('{ name: s, agent_name: a, mode: conditional, condition: "" }'),
      ['error empty-condition @2 ""'],
    ],
    [
      'until in both places',
      steps('{ name: s, agent_name: a, mode: { Loop: { until: x } }, until: y }'),
      ['error bad-value @2 until'],
    ],
    ['no time', steps('{ name: s, agent_name: a, timeout_secs: 0 }'), ['error bad-value @2 0']],
    ['too much time', steps('{ name: s, agent_name: a, timeout_secs: 3601 }'), ['error bad-value @2 3601']],
    [
      'no iterations',
      steps('{ name: s, agent_name: a, mode: loop, until: x, max_iterations: 0 }'),
      ['error bad-value @2 0'],
    ],
    [
      'negative retries',
      steps('{ name: s, agent_name: a, error_mode: retry, max_retries: -1 }'),
      ['error bad-value @2 -1'],
    ],
    ['an unknown error mode', steps('{ name: s, agent_name: a, error_mode: ignore }'), ['error bad-value @2 ignore']],
    ['no steps', 'steps: []', ['error bad-value @1 []']],
    ['steps that are no list', 'steps: 3', ['error wrong-type @1 3']],
    [
      'a Collect with nothing before it',
      steps('{ name: s, agent_name: a }', '{ name: g, mode: collect }'),
      ['error collect-without-fanout @3 collect'],
    ],
    [
      'a second Collect',
      steps('{ name: s, agent_name: a, mode: fan_out }', '{ name: g, mode: collect }', '{ name: h, mode: collect }'),
      ['error collect-without-fanout @4 collect'],
    ],
    [
      'the same agent twice',
      steps('{ name: s, agent_name: a }', '{ name: t, agent_name: a }'),
      ['error same-agent @3 name'],
    ],
    [
      'the agent before the batch in it',
      steps(
        '{ name: s, agent_name: a }',
        '{ name: t, agent_name: b, mode: fan_out }',
        '{ name: u, agent_name: a, mode: fan_out }',
      ),
      ['error same-agent @4 name'],
    ],
    [
      'the last of a batch after it',
      steps(
        '{ name: s, agent_name: a, mode: fan_out }',
        '{ name: t, agent_name: b, mode: fan_out }',
        '{ name: u, agent_name: b }',
      ),
      ['error same-agent @4 name'],
    ],
    [
      'a loop by the agent before it',
      steps('{ name: s, agent_name: a }', '{ name: t, agent_name: a, mode: loop, until: x }'),
      ['error same-agent @3 name'],
    ],
    ['`input` as a variable', steps('{ name: s, agent_name: a, output_var: input }'), ['error reserved-id @2 input']],
    [
      'a variable that cannot be named',
      steps('{ name: s, agent_name: a, output_var: "a}" }'),
      ['error bad-value @2 "a}"'],
    ],
    [
      'two branches that store one variable',
      steps(
        '{ name: s, agent_name: a, mode: fan_out, output_var: v }',
        '{ name: t, agent_name: b, mode: fan_out, output_var: v }',
      ),
      ['warning duplicate-variable @3 v'],
    ],
  ])('%s', (_, source, expected) => {
    expect(found(source)).toEqual(expected);
  });

  test('are reported all at once', () => {
    const source = `name: w
stepz: 1
steps:
  - { name: s, promt: x, agent_name: a, timeout_secs: 0 }
  - { name: t, prompt: x }
  - { name: u, agent_name: b, mode: loop }`;
    expect(found(source)).toEqual([
      'error unknown-key @2 stepz',
      'error unknown-key @4 promt',
      'error bad-value @4 0',
      'error missing-agent @5 name',
      'error empty-condition @6 loop',
    ]);
  });
});

describe('warnings', () => {
  test.each([
    [
      'a variable that nobody stores',
      steps(
        '{ name: s, agent_name: a, output_var: draft }',
        '{ name: t, agent_name: b, prompt: "a {{ draft }} b {{ drfat }}" }',
      ),
      ['warning unknown-variable @3 {{ drfat }}'],
    ],
    [
      'a variable that is stored later',
      steps('{ name: s, agent_name: a, prompt: "{{v}}" }', '{ name: t, agent_name: b, output_var: v }'),
      ['warning unknown-variable @2 {{v}}'],
    ],
    [
      'a variable that is replaced',
      steps('{ name: s, agent_name: a, output_var: v }', '{ name: t, agent_name: b, output_var: v }'),
      ['warning duplicate-variable @3 v'],
    ],
    [
      'two steps of one name',
      steps('{ name: s, agent_name: a }', '{ name: s, agent_name: b }'),
      ['warning duplicate-id @3 s'],
    ],
    [
      'a field that the mode has no use for',
      steps('{ name: s, agent_name: a, until: x, max_retries: 1 }'),
      ['warning unused-field @2 until', 'warning unused-field @2 max_retries'],
    ],
    [
      'a Collect with an agent',
      steps('{ name: s, agent_name: a, mode: fan_out }', '{ name: g, agent_name: b, prompt: unused, mode: collect }'),
      ['warning unused-field @3 agent_name', 'warning unused-field @3 prompt'],
    ],
    [
      'a Collect as the source system stores it',
      steps(
        '{ name: s, agent: { ByName: a }, mode: FanOut }',
        '{ name: g, agent: { ByName: b }, prompt_template: "", mode: Collect, timeout_secs: 120, error_mode: Fail }',
        '{ name: t, agent: { ByName: c }, mode: FanOut }',
        '{ name: h, agent: { ById: b }, prompt_template: "{{input}}", mode: Collect, error_mode: fail }',
      ),
      [],
    ],
    [
      'a stored Collect whose agent has work to do',
      steps(
        '{ name: s, agent: { ByName: a }, mode: FanOut }',
        '{ name: g, agent: { ByName: b }, prompt_template: "Sum up {{input}}", mode: Collect, error_mode: Skip }',
      ),
      [
        'warning unused-field @3 agent',
        'warning unused-field @3 prompt_template',
        'warning unused-field @3 error_mode',
      ],
    ],
    [
      'an agent that may meet itself',
      steps(
        '{ name: s, agent_name: a }',
        '{ name: t, agent_name: b, mode: conditional, condition: x }',
        '{ name: u, agent_name: a }',
      ),
      ['warning same-agent @4 name'],
    ],
  ])('%s', (_, source, expected) => {
    expect(found(source)).toEqual(expected);
    expect(compileSteps(source).flow).not.toBeNull();
  });

  test.each([
    ['a loop’s own iterations', steps('{ name: s, agent_name: a, mode: loop, until: x }')],
    [
      'after a Collect',
      steps('{ name: s, agent_name: a, mode: fan_out }', '{ name: g, mode: collect }', '{ name: t, agent_name: a }'),
    ],
    [
      'a variable refined in place',
      steps('{ name: s, agent_name: a, output_var: v }', '{ name: t, agent_name: b, prompt: "{{v}}", output_var: v }'),
    ],
    [
      'one agent in two branches',
      steps('{ name: s, agent_name: a, mode: fan_out }', '{ name: t, agent_name: a, mode: fan_out }'),
    ],
  ])('none for %s', (_, source) => {
    expect(found(source)).toEqual([]);
  });
});
