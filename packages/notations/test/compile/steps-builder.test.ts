import { describe, expect, test } from 'vitest';
import { workflow } from '../../src/workflow/builder.ts';
import { compileSteps } from './steps-drive.ts';

describe('workflow()', () => {
  test('gives the flow that the same YAML gives', () => {
    const built = workflow(
      {
        name: 'decide',
        steps: [
          { name: 'extract', agent_name: 'extractor', prompt: 'Extract from {{input}}', output_var: 'data' },
          { name: 'left', agent_name: 'l', mode: 'FanOut', prompt: '{{ data }}', output_var: 'left' },
          { name: 'right', agent_name: 'r', mode: 'fan_out', prompt: '{{data}}' },
          { name: 'gather', mode: 'Collect' },
          {
            name: 'decide',
            agent_name: 'extractor',
            prompt: '{{data}}, {{left}}: {{input}}',
            mode: { Loop: { until: 'DONE' } },
          },
        ],
      },
      { agents: [{ id: 'x1', name: 'extractor' }, { name: 'l' }, { name: 'r' }] },
    );
    const written = `
agents: [{ id: x1, name: extractor }, { name: l }, { name: r }]
workflow:
  name: decide
  steps:
    - { name: extract, agent_name: extractor, prompt: "Extract from {{input}}", output_var: data }
    - { name: left, agent_name: l, mode: FanOut, prompt: "{{ data }}", output_var: left }
    - { name: right, agent_name: r, mode: fan_out, prompt: "{{data}}" }
    - { name: gather, mode: Collect }
    - { name: decide, agent_name: extractor, prompt: "{{data}}, {{left}}: {{input}}", mode: { Loop: { until: DONE } } }`;
    expect(compileSteps(built).diagnostics).toEqual([]);
    expect(compileSteps(built).flow?.hash).toBe(compileSteps(written).flow?.hash);
  });

  test('refuses, while it is written, a variable that no earlier step stores', () => {
    const late = workflow({
      steps: [
        // @ts-expect-error `draft` is stored by the next step only
        { name: 'one', agent_name: 'a', prompt: 'Use {{draft}}' },
        { name: 'two', agent_name: 'b', output_var: 'draft' },
      ],
    });
    const sibling = workflow({
      steps: [
        { name: 'one', agent_name: 'a', mode: 'fan_out', output_var: 'draft' },
        // @ts-expect-error branches of one batch do not see each other
        { name: 'two', agent_name: 'b', mode: 'fan_out', prompt: '{{draft}}' },
      ],
    });
    for (const document of [late, sibling])
      expect(compileSteps(document).diagnostics).toMatchObject([{ code: 'unknown-variable', severity: 'warning' }]);
  });

  test('refuses, while it is written, an agent that is not in the list', () => {
    const document = workflow(
      {
        steps: [
          // @ts-expect-error there is no agent `writter`
          { name: 'one', agent_name: 'writter' },
        ],
      },
      { agents: [{ name: 'writer' }] },
    );
    expect(compileSteps(document).diagnostics).toMatchObject([{ code: 'unknown-agent', severity: 'error' }]);
  });

  test('takes prompts that are made at run time as they are', () => {
    const prompt: string = ['{{', 'anything', '}}'].join('');
    expect(workflow({ steps: [{ name: 'one', agent_name: 'a', prompt }] }).workflow.steps[0]?.prompt).toBe(
      '{{anything}}',
    );
  });
});
