/** A file that a document needs and that is missing: `check` shows the place, `run` refuses with 2, `doctor` fails. */
import { describe, expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const TEAM = `Agents: [{ Name: A }]
Validation:
  Validators: { hasNotes: "./nowhere.ts#hasNotes" }
Selection: { Type: keyword, Routes: [{ Keyword: DONE, Agent: A, SourceAgents: [A], Validator: hasNotes }] }
`;
const diagnostic = {
  severity: 'error',
  code: 'missing-prerequisite',
  line: 3,
  column: 27,
  message: expect.stringContaining('./nowhere.ts') as string,
  help: expect.stringContaining('Create it') as string,
};

test('the module of a validator', async () => {
  const cwd = folder({ 'team.yaml': TEAM, 's.yaml': 'agents: { A: ["DONE"] }\n' });
  const checked = await sluice(['check', 'team.yaml', '--json'], { cwd });
  expect([checked.status, JSON.parse(checked.stdout)]).toMatchObject([1, { ok: false, diagnostics: [diagnostic] }]);
  const ran = await sluice(['run', 'team.yaml', '--script', 's.yaml', '--json'], { cwd });
  expect([ran.status, JSON.parse(ran.stdout)]).toMatchObject([2, { ok: false, diagnostics: [diagnostic] }]);
  const examined = await sluice(['doctor', 'team.yaml', '--json'], { cwd });
  const { checks } = JSON.parse(examined.stdout) as { checks: readonly object[] };
  expect(examined.status).toBe(1);
  expect(checks).toContainEqual(
    expect.objectContaining({ name: 'team.yaml', status: 'bad', found: diagnostic.message }),
  );
});

test('a document with another mistake too does not compile: exit 1', async () => {
  const cwd = folder({ 'team.yaml': TEAM.replace('Agent: A,', 'Agent: B,'), 's.yaml': '{}\n' });
  expect((await sluice(['run', 'team.yaml', '--script', 's.yaml'], { cwd })).status).toBe(1);
});

test.each([
  [
    'a team',
    'Models:\n  fast: { ModelId: gpt-x, ApiKeyEnv: SLUICE_NO_KEY }\nAgents: [{ Name: A, Model: fast }]\n',
    2,
    3,
  ],
  [
    'a team under its key',
    'Orchestration:\n  Models:\n    fast: { ModelId: gpt-x, ApiKeyEnv: SLUICE_NO_KEY }\n  Agents: [{ Name: A, Model: fast }]\n',
    3,
    5,
  ],
])('the key of a model of %s', async (_, text, line, column) => {
  const { stdout } = await sluice(['check', 't.yaml', '--json'], { cwd: folder({ 't.yaml': text }) });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: object[] };
  expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'missing-prerequisite', line, column }));
});

test('MCP servers whose tools are granted as a whole, without a lock file', async () => {
  const cwd = folder({
    'a.flow.yaml': `mcp:
  near: { command: no-such-server, trusted: true }
  far: { url: "http://127.0.0.1:9/mcp", headers: { authorization: "Bearer {{env.SLUICE_NO_SUCH_KEY}}" }, trusted: true }
budgets: { tool_calls: 3 }
agents: [{ id: bot, tools: [near.*, far.*] }]
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }
`,
  });
  const checked = await sluice(['check', 'a.flow.yaml', '--json'], { cwd });
  const { diagnostics } = JSON.parse(checked.stdout) as { diagnostics: { code: string; message: string }[] };
  expect(checked.status).toBe(0);
  expect(diagnostics.filter(({ code }) => code === 'missing-prerequisite').map(({ message }) => message)).toEqual([
    'the program `no-such-server` of an MCP server is not installed, and `near` needs it',
    'the MCP server at http://127.0.0.1:9/mcp cannot be reached, and `far` needs it',
    'the environment variable `SLUICE_NO_SUCH_KEY` is not set, and `far` needs it',
  ]);
  const ran = await sluice(['run', 'a.flow.yaml', '--model', 'openai/gpt-4o'], { cwd });
  expect(ran.status).toBe(2);
});

test('a server that is not installed: run says how to install it', async () => {
  const cwd = folder({
    'a.flow.yaml': `mcp: { near: { command: no-such-server, trusted: true } }
budgets: { tool_calls: 3 }
agents: [{ id: bot, tools: [near.*] }]
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }
`,
  });
  const ran = await sluice(['run', 'a.flow.yaml', '--model', 'openai/gpt-4o'], { cwd });
  expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('Install `no-such-server`.')]);
});

describe('the module of a tool', () => {
  const document = (reference: string) => `agents: [{ id: bot }]
tools:
  erp.book: { effect: write, module: "${reference}" }
flow:
  id: f
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: bot, routes: [{ to: book }] }
    - { id: book, type: tool, tool: erp.book }
`;
  const script = 'agents: { bot: [ok] }\n';
  const found = async (cwd: string, args: readonly string[]) => {
    const { status, stdout } = await sluice([...args, '--json'], { cwd });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly object[] };
    return { status, diagnostics: diagnostics.filter((each) => (each as { code: string }).code === CODE) };
  };
  const CODE = 'missing-prerequisite';

  test('a misspelt export is found without running the module, at its line, with the nearest name', async () => {
    const module = "export const book = () => 1;\nexport { book as pay };\nthrow new Error('ran');\n";
    const cwd = folder({ 'f.yaml': document('./erp.mjs#boook'), 's.yaml': script, 'erp.mjs': module });
    const expected = { line: 3, column: 3, help: 'Did you mean `book`?' };
    expect(await found(cwd, ['check', 'f.yaml'])).toMatchObject({ status: 0, diagnostics: [expected] });
    expect(await found(cwd, ['run', 'f.yaml', '--script', 's.yaml'])).toMatchObject({
      status: 2,
      diagnostics: [{ ...expected, message: expect.stringContaining('exports no function `boook`') as string }],
    });
  });

  test('an export that only the loaded module shows is not reported', async () => {
    const cwd = folder({
      'f.yaml': document('./erp.mjs#book'),
      's.yaml': script,
      'erp.mjs': "export * from './all.mjs';\n",
      'all.mjs': 'export const book = () => 1;\n',
    });
    expect(await found(cwd, ['check', 'f.yaml'])).toEqual({ status: 0, diagnostics: [] });
    expect((await sluice(['run', 'f.yaml', '--script', 's.yaml'], { cwd })).status).toBe(0);
  });

  test('a module that cannot be loaded stops the run before its first call', async () => {
    const cwd = folder({
      'f.yaml': document('./erp.mjs#book'),
      's.yaml': script,
      'erp.mjs': "export const book = () => 1;\nthrow new Error('no key');\n",
    });
    const ran = await found(cwd, ['run', 'f.yaml', '--script', 's.yaml']);
    expect(ran).toMatchObject({ status: 2, diagnostics: [{ line: 3, column: 3 }] });
    expect(ran.diagnostics[0]).toMatchObject({ message: expect.stringContaining('no key') as string });
    expect(JSON.parse((await sluice(['runs', '--json'], { cwd })).stdout)).toEqual([]);
  });
});
