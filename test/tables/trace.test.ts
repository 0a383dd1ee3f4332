/** The fields of a trace: each is there, is right, and changes when what it stands for changes. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from '../loop/drive.ts';
import { traceFields } from './trace-fields.ts';

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
  return { ...traceFields(read), report };
}

describe('the fields of a trace', () => {
  test('the run §trace/run-id', async () => {
    const { run, report } = await fields();
    expect(run).toBe(report.run);
    expect(run).toMatch(/^r_/);
  });

  test('for whom it ran §trace/tenant-user', async () => {
    const pins = { store: expect.any(String) as string };
    expect((await fields()).origin).toEqual({ tenant: 'acme', user: 'ann', by: 'cli', pins });
  });

  test('the goal §trace/goal-object', async () => {
    expect((await fields()).goal).toBe('what is it?');
  });

  test('the version of the boundary §trace/boundary-version', async () => {
    expect((await fields()).boundaries).toEqual({ bot: 'v7' });
    expect((await fields(documentOf({}, { boundary: { version: 'v8' } }))).boundaries).toEqual({ bot: 'v8' });
  });

  test.each([
    [
      'the graph of another version make another hash §trace/workflow-graph-version',
      documentOf({}, { loop: { agent: 'bot', criteria: ['short'] } }),
    ],
    [
      'the instructions of another version make another hash §trace/prompt-template-versions',
      documentOf({ instructions: 'Be long.' }),
    ],
    [
      'the tools of another version make another hash §trace/tool-registry-version',
      documentOf({}, { tools: { find: { effect: 'read', input: { type: 'object' } }, save: { effect: 'write' } } }),
    ],
    [
      'the models of another version make another hash §trace/model-versions',
      documentOf({}, { models: { m: { provider: 'test', model: 'm-3', price: { input: 2, output: 6 } } } }),
    ],
  ])('%s', async (_, changed) => {
    const [one, other] = [await fields(), await fields(changed)];
    expect(one.graph).toBe(one.report.hash);
    expect(one.graph).toMatch(/^sha256:/);
    expect(other.graph).not.toBe(one.graph);
  });

  test('models, instructions and tools themselves are with the run §trace/model-versions §trace/prompt-template-versions §trace/tool-registry-version', async () => {
    const { models, prompts, tools } = await fields();
    expect(models).toEqual({ bot: 'm' });
    expect(prompts).toEqual({ bot: 'Be brief.' });
    expect(Object.keys(tools).toSorted()).toEqual(['find', 'save']);
  });

  test('the state after each transition §trace/state-checkpoints', async () => {
    const { checkpoints } = await fields();
    expect(checkpoints.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
  });

  test('calls with name, hash of the arguments, key, outcome and where it stands §trace/tool-calls', async () => {
    const { calls } = await fields();
    expect(calls).toMatchObject([
      { tool: 'find', ok: true },
      { tool: 'save', ok: true },
    ]);
    expect(new Set(calls.map(({ request }) => request)).size).toBe(2);
    expect(new Set(calls.map(({ args }) => args)).size).toBe(2);
    expect(calls.every(({ observed }) => observed !== null)).toBe(true);
  });

  test('use in every dimension §trace/budget-vector', async () => {
    expect((await fields()).budget).toMatchObject({
      steps: 3,
      modelCalls: 3,
      toolCalls: 2,
      inputTokens: 350,
      outputTokens: 27,
      costUsd: 0.000862,
      retries: 0,
      reflections: 0,
      contextTokens: 130,
      memoryWrites: 0,
      sideEffects: 1,
      reviews: 1,
    });
  });

  test('verdicts: what was refused is there as well §trace/validation-results', async () => {
    const { validations } = await fields();
    expect(validations.filter((verdict) => verdict === 'failed')).toHaveLength(1);
    expect(validations).toContain('accepted');
  });

  test('who was asked and what they said §trace/escalation-events', async () => {
    expect((await fields()).escalations).toMatchObject([{ about: 'save', answer: { choice: 'approve' } }]);
  });

  test('how it ended §trace/terminal-code', async () => {
    expect((await fields()).code).toBe('SUCCESS');
  });
});
