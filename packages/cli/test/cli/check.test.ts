import { expect, test } from 'vitest';
import { folder, json } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

const FIVE = `agents:
  - { id: triage_bot, instructions: "sort" }
flow:
  id: five
  entry: triage
  nodes:
    - id: triage
      type: agent
      agent: triage_bto
      routes:
        - { when: "triage.output ==", to: gate }
        - { when: "default", to: nowhere }
    - id: gate
      type: approval
      message: "ok?"
      choises: [yes, no]
      routes: [{ to: send }]
    - id: send
      type: tool
      tool: mail.send
      routes: [{ to: end }]
`;

interface CheckJson {
  readonly ok: boolean;
  readonly flow: string;
  readonly hash: string | null;
  readonly notation: string;
  readonly diagnostics: readonly {
    severity: string;
    code: string;
    message: string;
    file: string;
    line: number;
    column: number;
    help?: string;
  }[];
  readonly bounds: { readonly [measure: string]: { least: number; most: number | null } } | null;
}

test('a misspelt provider is one mistake', async () => {
  const document = `models: { fast: { provider: opnai, model: x } }
agents: [{ id: bot, model: fast }]
steps: [{ name: a, agent: bot }]
`;
  const cwd = folder({ 'steps.yaml': document });
  const report = json(await sluice(['check', 'steps.yaml', '--json'], { cwd })) as CheckJson;
  expect(report.diagnostics.map(({ code }) => code)).toEqual(['unknown-provider']);
});

test('five different mistakes are all reported at once, each with its line and column', async () => {
  const cwd = folder({ 'five.flow.yaml': FIVE });
  const ran = await sluice(['check', 'five.flow.yaml', '--json'], { cwd });
  expect(ran.status).toBe(1);
  const report = json(ran) as CheckJson;
  expect(report.ok).toBe(false);
  expect(report.notation).toBe('flow');
  const errors = report.diagnostics.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ code, line, column }) => [code, line, column])).toEqual([
    ['unknown-agent', 9, 14],
    ['bad-expression', 11, expect.any(Number)],
    ['unknown-target', 12, 34],
    ['unknown-key', 16, 7],
    ['unknown-tool', 20, 13],
  ]);
  expect(errors.every(({ file }) => file === 'five.flow.yaml')).toBe(true);
});

test('people see the same mistakes with the line itself and a mark under it', async () => {
  const cwd = folder({ 'five.flow.yaml': FIVE });
  const ran = await sluice(['check', 'five.flow.yaml'], { cwd });
  expect(ran.status).toBe(1);
  expect(ran.stderr).toContain('error[unknown-key]');
  expect(ran.stderr).toContain('--> five.flow.yaml:16:7');
  expect(ran.stderr).toContain('^');
  expect(ran.stdout).toContain('five.flow.yaml: 5 errors');
  expect(ran.stderr + ran.stdout).not.toContain('\u001B[');
});

test('a good document gets its certificate: hash, nodes, bounds', async () => {
  const cwd = await newProject();
  const ran = await sluice(['check', 'support.flow.yaml', '--json'], { cwd });
  expect(ran.status).toBe(0);
  const report = json(ran) as CheckJson;
  expect(report).toMatchObject({ ok: true, flow: 'support', notation: 'flow' });
  expect(report.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(report.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(report.bounds).toMatchObject({
    steps: { least: 2, most: 5 },
    modelCalls: { least: 1, most: 2 },
    toolCalls: { least: 0, most: 1 },
  });
  const human = await sluice(['check', 'support.flow.yaml'], { cwd });
  expect(human.stdout).toMatch(/nodes\s+7: triage, size, gate, pay/);
  expect(human.stdout).toMatch(/steps\s+2\s+5/);
});

test('--max-cost fails a flow that nothing bounds', async () => {
  const cwd = await newProject();
  const ran = await sluice(['check', 'support.flow.yaml', '--max-cost', '0.5', '--json'], { cwd });
  expect(ran.status).toBe(1);
  expect((json(ran) as CheckJson).diagnostics.map(({ code }) => code)).toContain('unbounded-cost');
});

test('several documents are checked in one call, and one bad one fails it', async () => {
  const cwd = await newProject();
  const both = folder({ 'five.flow.yaml': FIVE });
  const ran = await sluice(['check', 'support.flow.yaml', `${both}/five.flow.yaml`, '--json'], { cwd });
  expect(ran.status).toBe(1);
  expect((json(ran) as readonly CheckJson[]).map(({ ok }) => ok)).toEqual([true, false]);
});

test('a module that exports a document is compiled like its text', async () => {
  const cwd = folder({
    'flow.mjs': `export const document = { flow: { id: 'tiny', entry: 'done', nodes: [{ id: 'done', type: 'terminal', output: { ok: true } }] } };`,
    'tiny.yaml': 'flow: { id: tiny, entry: done, nodes: [{ id: done, type: terminal, output: { ok: true } }] }',
    'empty.mjs': 'export const nothing = 1;',
  });
  const module = json(await sluice(['check', 'flow.mjs', '--json'], { cwd })) as CheckJson;
  const text = json(await sluice(['check', 'tiny.yaml', '--json'], { cwd })) as CheckJson;
  expect(module.hash).toBe(text.hash);
  expect(module.hash).not.toBeNull();
  const empty = await sluice(['check', 'empty.mjs'], { cwd });
  expect(empty.status).toBe(2);
  expect(empty.stderr).toContain('error[bad-module]');
});

test('the key that would bound what nothing bounds is named', async () => {
  const cwd = folder({
    'team.yaml': 'Agents: [{ Name: A, Plugins: [FileSystem] }]\nSelection: { Type: sequential }\n',
    'bound.yaml':
      'Agents: [{ Name: A, Plugins: [FileSystem], MaxToolCallsPerTurn: 2 }]\nSelection: { Type: sequential }\n',
  });
  const loose = await sluice(['check', 'team.yaml'], { cwd });
  expect(loose.stdout).toMatch(/tool calls +0 +no bound +set `MaxToolCallsPerTurn` or `budgets.tool_calls`/);
  expect(loose.stdout).toMatch(/tokens +0 +no bound +set `MaxTotalTokens` or `budgets.tokens`/);
  const bound = await sluice(['check', 'bound.yaml'], { cwd });
  expect(bound.stdout).toMatch(/tool calls +0 +\d+\n/);
});

test('a tool with serious effects and no people is one warning of `check`, and `run` does not repeat it', async () => {
  const text = `tools:
  pay.out: { effect: financial, input: { type: object } }
  mail.send: { effect: communication, input: { type: object } }
flow: { id: f, entry: pay, nodes: [{ id: pay, type: tool, tool: pay.out, routes: [{ to: mail }] }, { id: mail, type: tool, tool: mail.send }] }
`;
  const cwd = folder({ 'a.yaml': text, 'b.yaml': `people: [{ id: anna }]\n${text}`, 'script.yaml': 'tools: {}\n' });
  const { diagnostics } = json(await sluice(['check', 'a.yaml', '--json'], { cwd })) as CheckJson;
  expect(diagnostics).toMatchObject([
    {
      severity: 'warning',
      code: 'nobody-approves',
      message: expect.stringContaining('`pay.out` is financial, and 1 tool more'),
    },
  ]);
  expect((json(await sluice(['check', 'b.yaml', '--json'], { cwd })) as CheckJson).diagnostics).toEqual([]);
  const ran = await sluice(['run', 'a.yaml', '--script', 'script.yaml'], { cwd });
  expect(ran.stderr).not.toContain('nobody-approves');
});

test('items of a team without a limit run all at once', async () => {
  const agents = ['S', 'M', 'R'].map((name) => `{ Name: ${name}, Instructions: Work. }`).join(', ');
  const selection = '{ Type: mapreduce, MapReduce: { Splitter: S, Mapper: M, Reducer: R } }';
  const cwd = folder({ 'team.yaml': `Orchestration: { Name: t, Agents: [${agents}], Selection: ${selection} }\n` });
  expect((await sluice(['check', 'team.yaml'], { cwd })).stdout).toMatch(/at once\s+all items at mapreduce/);
});
