/** Loops, teams and workflows that are written in TypeScript compile to the graph of their YAML. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { agent, compile, createEngine, loop, openMemory, staged, team, text, workflow } from '../../src/index.ts';

const worker = agent('worker', { instructions: 'Work.' });
const judge = agent('judge', {
  instructions: 'Judge.',
  output: z.object({ ok: z.boolean(), score: z.number(), tags: z.array(z.string()) }),
});

describe('loops, teams and workflows have the hash of their YAML', () => {
  test('an agent with every setting of its calls', () => {
    const careful = agent('careful', {
      reasoningEffort: 'high',
      topP: 0.5,
      seed: 7,
      stop: ['END'],
      parallelToolCalls: false,
      toolChoice: { tool: 'calculator' },
      maxOutputTokens: 900,
      toolWidth: 2,
      tools: ['calculator'],
    });
    const yaml = compile(`
agents:
  - { id: careful, reasoning_effort: high, top_p: 0.5, seed: 7, stop: [END], parallel_tool_calls: false,
      tool_choice: { tool: calculator }, max_output_tokens: 900, tool_width: 2, tools: [calculator] }
loop: { id: l, agent: careful }`);
    expect(yaml.flow?.agents['careful']?.settings).toMatchObject({ reasoningEffort: 'high', seed: 7 });
    expect(compile(loop('l', { agent: careful }).document).flow?.hash).toBe(yaml.flow?.hash);
  });

  test('loop', () => {
    const value = loop('work', {
      agent: worker,
      goal: 'Find it',
      guards: [{ when: ({ goal }) => goal.contains('bomb'), reason: 'unsafe' }],
      budgets: { modelCalls: 4 },
    });
    const yaml = compile(`
agents: [{ id: worker, instructions: Work. }]
budgets: { model_calls: 4 }
loop: { id: work, agent: worker, goal: Find it, guards: [{ when: "goal.contains('bomb')", reason: unsafe }] }`);
    expect(yaml.flow?.hash).toBeDefined();
    expect(compile(value.document).flow?.hash).toBe(yaml.flow?.hash);
  });

  test('staged', () => {
    const value = staged('work', {
      plan: { agent: agent('planner', {}) },
      workers: { agent: worker, max: 2 },
      validate: { agent: judge, confidence: 0.8 },
    });
    const yaml = compile({
      agents: [{ id: 'planner' }, worker.definition, judge.definition],
      staged: {
        id: 'work',
        plan: { agent: 'planner' },
        workers: { agent: 'worker', max: 2 },
        validate: { agent: 'judge', confidence: 0.8 },
      },
    });
    expect(yaml.flow?.hash).toBeDefined();
    expect(compile(value.document).flow?.hash).toBe(yaml.flow?.hash);
  });

  test('team', () => {
    const value = team('pair', {
      agents: [worker, agent('editor', { instructions: 'Edit.', tools: ['FileSystem'] })],
      selection: { Type: 'roundrobin' },
      termination: { Type: 'maxiterations', MaxIterations: 4 },
    });
    const yaml = compile(`
Orchestration:
  Name: pair
  Agents: [{ Name: worker, Instructions: Work. }, { Name: editor, Instructions: Edit., Plugins: [FileSystem] }]
  Selection: { Type: roundrobin }
  Termination: { Type: maxiterations, MaxIterations: 4 }`);
    expect(yaml.flow?.hash).toBeDefined();
    expect(compile(value.document).flow?.hash).toBe(yaml.flow?.hash);
    expect(() => team('t', { agents: [judge] })).toThrow('`output` of the agent `judge` has no meaning in a team');
  });

  test('workflow', async () => {
    const editor = agent('editor', { instructions: 'Edit.' });
    const value = workflow('page')
      .step(worker, ({ input }) => text`Write about ${input}`)
      .gather([editor, agent('second', {})])
      .step(agent('last', {}), ({ input, worker: first }) => text`${first} and ${input}`);
    const yaml = compile(`
agents: [{ id: worker, instructions: Work. }, { id: editor, instructions: Edit. }, { id: second }, { id: last }]
workflow:
  id: page
  steps:
    - { name: worker, agent: { id: worker }, prompt: "Write about {{input}}", output_var: worker }
    - { name: editor, agent: { id: editor }, mode: fan_out }
    - { name: second, agent: { id: second }, mode: fan_out }
    - { name: collect_1, mode: collect }
    - { name: last, agent: { id: last }, prompt: "{{worker}} and {{input}}" }`);
    expect(yaml.flow?.hash).toBeDefined();
    expect(compile(value.document).flow?.hash).toBe(yaml.flow?.hash);
    const script = {
      agents: {
        worker: ['W'],
        editor: ['E'],
        second: ['S'],
        last: [{ when: "input.contains('W and E')", text: 'done' }],
      },
    };
    await using engine = createEngine({ journal: openMemory(), script });
    expect((await (await engine.run(value, 'rain')).result()).output).toBe('done');
    expect(() =>
      workflow('w')
        .step(worker)
        .step(editor, ({ worker: w }) => text`${(w as unknown as { size(): number }).size()}`),
    ).toThrow('cannot compute');
    const quoting = (words: string) => workflow('w').step(worker, ({ input }) => text`Explain ${words}, ${input}`);
    expect(() => quoting('{{ input }}')).toThrow('cannot have `{{ input }}` as text');
    expect(() => workflow('w').step(worker, () => text`{{${'input'}}}`)).toThrow('cannot have `{{input}}` as text');
    expect(JSON.stringify(quoting('{{ other }}').document)).toContain('{{ other }}');
  });
});
