/** The fields of a trace: each is there, is right, and changes when what it stands for changes. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import { agentRunTrace, recordOf } from '@sluice-internal/evals/journal';

function documentOf(agent: object = {}, more: object = {}): object {
  return {
    models: { m: { provider: 'test', model: 'm-2', price: { input: 2, output: 6 } } },
    agents: [{ id: 'bot', model: 'm', instructions: 'Be brief.', tools: ['find', 'save'], ...agent }],
    tools: { find: { effect: 'read' }, save: { effect: 'write', verify: 'result == 1' } },
    boundary: { version: 'v7' },
    loop: { agent: 'bot' },
    ...more,
  };
}

const SCRIPT = {
  agents: {
    bot: [
      { tools: [{ name: 'find', args: { q: 1 } }], text: '', usage: { input: 100, output: 10 } },
      { tools: [{ name: 'save', args: { q: 2 } }], text: '', usage: { input: 120, output: 12 } },
      { text: 'it is 7', usage: { input: 130, output: 5 } },
    ],
  },
  tools: { find: [{ result: 7 }], save: [{ result: 2 }] },
  approvals: { save: 'approve' },
};

async function fields(document: object = documentOf()) {
  const origin = { tenant: 'acme', user: 'ann', by: 'cli' };
  const { read, report } = await drive(compileLoop(document), SCRIPT, { origin });
  return { ...agentRunTrace(recordOf(read)), report };
}

describe('the fields of a trace', () => {
  test('the run §trace/run-id', async () => {
    const { run_id: run, report } = await fields();
    expect(run).toBe(report.run);
    expect(run).toMatch(/^r_/);
  });

  test('for whom it ran §trace/tenant-user', async () => {
    expect(await fields()).toMatchObject({ tenant_id: 'acme', user_scope: 'ann' });
  });

  test('the goal §trace/goal-object', async () => {
    expect((await fields()).goal_object).toBe('what is it?');
  });

  test('the version of the boundary §trace/boundary-version', async () => {
    expect((await fields()).autonomy_boundary_version).toMatchObject({ bot: 'v7' });
    const other = await fields(documentOf({}, { boundary: { version: 'v8' } }));
    expect(other.autonomy_boundary_version).toMatchObject({ bot: 'v8' });
  });

  test.each([
    [
      'another graph has another version §trace/workflow-graph-version',
      'workflow_graph_version',
      documentOf({}, { loop: { agent: 'bot', criteria: ['short'] } }),
    ],
    [
      'other instructions have another version §trace/prompt-template-versions',
      'prompt_template_versions',
      documentOf({ instructions: 'Be long.' }),
    ],
    [
      'other tools have another version §trace/tool-registry-version',
      'tool_registry_version',
      documentOf({}, { tools: { find: { effect: 'read', input: { type: 'object' } }, save: { effect: 'write' } } }),
    ],
    [
      'another model has another version §trace/model-versions',
      'model_versions',
      documentOf({}, { models: { m: { provider: 'test', model: 'm-3', price: { input: 2, output: 6 } } } }),
    ],
  ] as const)('%s', async (_, field, changed) => {
    const [one, other] = [await fields(), await fields(changed)];
    expect(JSON.stringify(one[field])).toMatch(/sha256:|m-2/);
    expect(other[field]).not.toEqual(one[field]);
    expect(other.workflow_graph_version).not.toBe(one.workflow_graph_version);
  });

  test('the state after each transition §trace/state-checkpoints', async () => {
    const { state_checkpoints: checkpoints } = await fields();
    expect(checkpoints.filter(({ slots }) => slots.includes('task')).length).toBeGreaterThanOrEqual(4);
    const observed = checkpoints.filter(({ verified_by: by }) => by !== null);
    // The other call of a tool was not accepted. What a model replied has no observation.
    expect(observed).toHaveLength(1);
    expect(observed.every(({ seq, verified_by: by }) => (by ?? 0) < seq)).toBe(true);
  });

  test('calls with name, hash of the arguments, key, outcome and observation §trace/tool-calls', async () => {
    const { tool_calls: calls } = await fields();
    expect(calls).toMatchObject([
      { tool: 'find', status: 'ok', attempts: 1 },
      // The result does not fit `verify`.
      { tool: 'save', status: 'failed', attempts: 1 },
    ]);
    expect(new Set(calls.map(({ request_id: id }) => id)).size).toBe(2);
    expect(new Set(calls.map(({ arguments_hash: hash }) => hash)).size).toBe(2);
    expect(calls.every(({ observation }) => observation !== null)).toBe(true);
  });

  test('use and limit in every dimension §trace/budget-vector', async () => {
    const { budget_vector: vector } = await fields(
      documentOf(
        {},
        {
          budgets: { tool_calls: 9, cost_usd: 0.5 },
          loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
        },
      ),
    );
    const used = Object.fromEntries(Object.entries(vector).map(([key, each]) => [key, each.used]));
    expect(used).toMatchObject({
      steps: 3,
      model_calls: 3,
      tool_calls: 2,
      input_tokens: 350,
      output_tokens: 27,
      cost_usd: 0.000862,
      retries: 0,
      reflections: 0,
      context_tokens: 130,
      memory_writes: 0,
      side_effects: 1,
    });
    expect(vector['tool_calls']?.limit).toBe(9);
    expect(vector['cost_usd']?.limit).toBe(0.5);
    expect(Object.keys(vector)).toContain('wall_clock_seconds');
  });

  test('verdicts: a refused result is among them §trace/validation-results', async () => {
    const { validation_results: results } = await fields();
    expect(results.filter(({ passed }) => !passed)).toMatchObject([{ kind: 'grounding' }, { kind: 'schema' }]);
    expect(results.filter(({ passed }) => passed).length).toBeGreaterThan(3);
  });

  test('the questions and the answers §trace/escalation-events', async () => {
    expect((await fields()).escalation_events).toMatchObject([
      { about: 'save', decision: 'approve', decided_by: 'script', outcome: 'answered' },
    ]);
  });

  test('the end §trace/terminal-code', async () => {
    expect((await fields()).terminal_code).toBe('SUCCESS');
  });
});
