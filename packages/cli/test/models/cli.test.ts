/** `sluice run --model` against providers on loopback, as a user with a key in the environment would call it. */
import { expect, test } from 'vitest';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { PROTOCOLS } from '../../../models/test/models/protocols.ts';
import type { ProtocolMock } from '../../../models/test/models/protocols.ts';
import { serve, text } from '../../../models/test/models/serve.ts';

const FLOW = `
agents: [ { id: writer, instructions: Be brief. } ]
flow:
  id: hello
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: writer, input: { message: "{{event.payload.message}}" } }
`;
const [openai] = PROTOCOLS as [ProtocolMock];
const KEY = 'sk-very-secret-key-0001';
const NOTHING = { OPENAI_API_KEY: '', SLUICE_MODEL: '' };

test('runs on the model that it is told, with the price of the day on the journal', async () => {
  await using served = await serve(text(200, openai.body({ text: 'Good day.' })));
  const cwd = folder({ 'hello.flow.yaml': FLOW });
  const env = { ...NOTHING, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: served.url };
  const ran = await sluice(['run', 'hello.flow.yaml', '--input', 'Hi', '--model', 'openai/gpt-4o', '--json'], {
    cwd,
    env,
  });
  const report = JSON.parse(ran.stdout) as { run: string; output: string; usage: { costUsd: number } };
  expect({ status: ran.status, ...report }).toMatchObject({
    status: 0,
    code: 'SUCCESS',
    output: 'Good day.',
    usage: { modelCalls: 1, inputTokens: 12, outputTokens: 5 },
  });
  expect(report.usage.costUsd).toBeCloseTo((12 * 2.5 + 5 * 10) / 1e6, 9);
  expect(served.asked).toHaveLength(1);
  expect(served.asked[0]?.body).toMatchObject({ model: 'gpt-4o' });

  const traced = await sluice(['trace', report.run, '--json', '--prompts'], { cwd, env });
  expect(traced.stdout).toContain('"served": "openai/gpt-4o"');
  expect(traced.stdout).toContain('Be brief.');
  expect(traced.stdout + ran.stderr).not.toContain(KEY);
});

test('the environment may name the model', async () => {
  await using served = await serve(text(200, openai.body({ text: 'Good day.' })));
  const cwd = folder({ 'hello.flow.yaml': FLOW });
  const ran = await sluice(['run', 'hello.flow.yaml', '--input', 'Hi', '--json'], {
    cwd,
    env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: served.url, SLUICE_MODEL: 'openai/gpt-4o' },
  });
  expect(JSON.parse(ran.stdout)).toMatchObject({ output: 'Good day.' });
});

test('a missing key is one clear line, and nothing is started', async () => {
  const cwd = folder({ 'hello.flow.yaml': FLOW });
  const ran = await sluice(['run', 'hello.flow.yaml', '--input', 'Hi', '--model', 'openai/gpt-4o'], {
    cwd,
    env: NOTHING,
  });
  expect(ran.status).toBe(2);
  expect(ran.stdout).toBe('');
  expect(ran.stderr.split('\n')[0]).toContain('the model `openai/gpt-4o` needs a key, and `OPENAI_API_KEY` is not set');
  const runs = await sluice(['runs', '--json'], { cwd, env: NOTHING });
  expect(JSON.parse(runs.stdout)).toEqual([]);
});

test('no model at all, and a model of an unknown provider', async () => {
  const cwd = folder({ 'hello.flow.yaml': FLOW });
  const none = await sluice(['run', 'hello.flow.yaml', '--input', 'Hi'], { cwd, env: NOTHING });
  expect({ status: none.status, stderr: none.stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining('no-model') as string,
  });
  const nobody = await sluice(['run', 'hello.flow.yaml', '--input', 'Hi', '--model', 'nobody/x'], {
    cwd,
    env: NOTHING,
  });
  expect({ status: nobody.status, stderr: nobody.stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining('`nobody`') as string,
  });
});

test('money is limited and the model has no price: said before anything is spent', async () => {
  await using served = await serve();
  const cwd = folder({ 'hello.flow.yaml': `budgets: { cost_usd: 1 }\n${FLOW}` });
  const env = { ...NOTHING, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: served.url };
  const ran = await sluice(['run', 'hello.flow.yaml', '--input', 'Hi', '--model', 'openai/of-our-own', '--json'], {
    cwd,
    env,
  });
  expect({ status: ran.status, ...(JSON.parse(ran.stdout) as object) }).toMatchObject({
    status: 1,
    ok: false,
    diagnostics: [{ code: 'missing-price', help: expect.stringContaining('price: {') as string }],
  });
  expect(served.asked).toHaveLength(0);
});

test('with --model and --script, the script replaces only what it names', async () => {
  await using served = await serve(text(200, openai.body({ text: 'Good day.' })));
  const cwd = folder({
    'two.flow.yaml': `
agents: [ { id: writer }, { id: critic } ]
tools: { mail.send: { effect: read } }
flow:
  id: two
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: writer, routes: [{ to: judge }] }
    - { id: judge, type: agent, agent: critic, input: { text: "{{ask.output}}" }, routes: [{ to: send }] }
    - { id: send, type: tool, tool: mail.send, routes: [{ to: done }] }
    - { id: done, type: terminal, output: "{{ask.output}} {{judge.output}} {{send.result}}" }
`,
    'part.script.yaml': 'agents: { critic: [ "Fine." ] }\ntools: { mail.send: [ { result: sent } ] }\n',
  });
  const env = { ...NOTHING, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: served.url };
  const ran = await sluice(['run', 'two.flow.yaml', '--script', 'part.script.yaml', '--model', 'openai/gpt-4o'], {
    cwd,
    env,
  });
  expect({ status: ran.status, output: ran.stdout.trim() }).toEqual({ status: 0, output: 'Good day. Fine. sent' });
  expect(served.asked).toHaveLength(1);
  expect(ran.stderr).toContain(
    'scripted: agents critic, tools mail.send; real: agents writer (default model openai/gpt-4o), tools none',
  );
});
