/** Suites that would make a bad agent look good: each is refused, or fails. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isOnTheWay } from '../../../evals/src/suite/policy.ts';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const payer = (boundary: string) => `
agents: [{ id: bot, instructions: "Pay what is asked.", tools: [pay.send] }]
tools:
  pay.send:
    effect: financial
    input: { type: object, properties: { to: { type: string }, amount: { type: number } }, required: [to, amount] }
boundary: ${boundary}
flow:
  id: payer
  entry: work
  nodes: [{ id: work, type: agent, agent: bot, routes: [{ to: end }] }]
`;
// The fields of the arguments are not in the order of the alphabet.
const PAYS = `{ agents: { bot: [{ tools: [{ name: pay.send, args: { to: bob, amount: 5 } }] }, Paid.] }, tools: { pay.send: [{ result: 1 }] }, approvals: { pay.send: approve } }`;
const BROKEN = '{ agents: { bot: [{ error: fatal, message: broken }] } }';
const ASKS = '{ tools: { approve: [pay.send] } }';
const ALLOWS = '{ tools: { allow: [pay.send] }, untrusted: "off" }';
const DENIES = '{ tools: { deny: [pay.send] } }';
const suiteOf = (script: string, expectation: string, more = '') => `
flow: ./now.flow.yaml
${more}
cases: [{ name: one, input: pay 5 to bob, script: ${script}, expect: ${expectation} }]
`;

interface Evaluated {
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly { readonly name: string; readonly passed: boolean; readonly problems: readonly string[] }[];
  readonly metrics: { readonly [name: string]: number | null };
  readonly missed: readonly string[];
  readonly notInjected: readonly string[];
  readonly scriptedModels: readonly string[];
  readonly policy: readonly { readonly call: string; readonly before: string; readonly after: string }[];
}
async function evaluate(files: { readonly [name: string]: string }, ...args: readonly string[]) {
  const cwd = folder({ 'now.flow.yaml': payer(ASKS), ...files });
  const ran = await sluice(['eval', 'a.suite.yaml', '--json', ...args], { cwd });
  return { ...ran, cwd, result: (ran.stdout === '' ? null : JSON.parse(ran.stdout)) as Evaluated };
}

describe('a suite that checks nothing', () => {
  test.each(['{}', '{ never: { tools: [pay.send] } }', '{ atMost: { toolCalls: 3 }, asks: [] }'])(
    'a run that fails at once does not meet %s',
    async (expectation) => {
      const { status, result } = await evaluate({ 'a.suite.yaml': suiteOf(BROKEN, expectation) });
      expect([status, result.failed]).toEqual([1, 1]);
      expect(result.cases[0]?.problems.join()).toContain('expected SUCCESS or PARTIAL_SUCCESS');
      expect((await evaluate({ 'a.suite.yaml': suiteOf(PAYS, '{}') })).status).toBe(0);
    },
  );

  test('a soak in which every run fails', async () => {
    const { status, result } = await evaluate({
      'a.suite.yaml': suiteOf(BROKEN, '{ code: SUCCESS }', 'modes: [soak]\nsoak: { runs: 3 }'),
    });
    expect([status, result.cases[0]?.problems.join()]).toEqual([
      1,
      expect.stringContaining('3 of 3 runs did not meet'),
    ]);
  });

  test('only a replay of stored runs, and no run is stored', async () => {
    const { status, result } = await evaluate({ 'a.suite.yaml': 'flow: ./now.flow.yaml\nmodes: [replay]\n' });
    expect([status, result.passed, result.failed]).toEqual([1, 0, 0]);
    expect(result.missed).toEqual(['nothing was checked: no stored run was replayed']);
  });

  test.each([
    ['matrix: { faults: [{ tool: pay.snd, kind: fail }] }', 'has no tool `pay.snd`'],
    ['matrix: { faults: [{ agent: bott, kind: fail }] }', 'has no agent `bott`'],
    ['matrix: { prompts: { short: { bott: Be brief. } } }', 'has no agent `bott`'],
    ['policy: { before: ./now.flow.yaml, allowed: [pay.snd] }', 'has no tool `pay.snd`'],
    ['thresholds: { taskSuccessRate: { atLeast: 0.1, atMost: 0.2 } }', 'must have one bound'],
    ['thresholds: { taskSuccessRate: {} }', 'must have one bound'],
    ['thresholds: { retryRate: 5 }', 'is a share from 0 to 1'],
    ['matrix: { models: [] }', 'models'],
    ['matrix: { seeds: [] }', 'seeds'],
    ['strict: true', 'strict'],
  ])('%s is refused', async (more, message) => {
    const { status, result } = await evaluate({ 'a.suite.yaml': suiteOf(PAYS, '{ code: SUCCESS }', more) });
    expect(status).toBe(1);
    const { diagnostics } = result as unknown as { diagnostics: { message: string; line: number }[] };
    expect(diagnostics).toMatchObject([{ message: expect.stringContaining(message) as string, line: 3 }]);
  });

  test('a question that the flow does not ask', async () => {
    const suite = (flow: string, script: string, asks: string) =>
      evaluate({
        'asks.flow.yaml': flow,
        'a.suite.yaml': `flow: ./asks.flow.yaml\ncases:\n  - { name: one, script: ${script}, expect: { asks: [${asks}] } }\n`,
      });
    const gate = 'flow: { id: f, entry: gate, nodes: [{ id: gate, type: approval, message: Go? }] }';
    expect(await suite(gate, '{ approvals: { gate: approve } }', 'gate')).toMatchObject({ status: 0 });
    const { status, stdout } = await suite(gate, '{ approvals: { gate: approve } }', 'gat');
    expect([status, stdout]).toEqual([1, expect.stringContaining('flow `f` has no question `gat`')]);
    const clerk = 'tools: { pay: {} }\nagents: [{ id: clerk, tools: [pay] }]\nloop: { agent: clerk }';
    const calls =
      '{ agents: { clerk: [{ tools: [{ name: pay }] }, Paid.] }, tools: { pay: { result: 1 } }, approvals: { pay: approve } }';
    for (const asks of ['pay', 'clerk']) expect(await suite(clerk, calls, asks)).toMatchObject({ status: 0 });
  });

  test('a node under another name than the path has', async () => {
    const { status, stdout } = await evaluate({ 'a.suite.yaml': suiteOf(PAYS, '{ never: { nodes: [sub/work] } }') });
    expect([status, stdout]).toEqual([1, expect.stringContaining('has no node `sub/work`')]);
  });

  test.each(['"true"', '"1 == 1"'])('the condition %s reads nothing', async (when) => {
    const { status, stdout } = await evaluate({ 'a.suite.yaml': suiteOf(PAYS, `{ when: ${when} }`) });
    expect([status, stdout]).toEqual([1, expect.stringContaining('reads nothing of the run')]);
  });
});

test('a judge that says no lowers the success rate, and does not judge runs with a fault', async () => {
  const script = PAYS.replace('Paid.] }', `Paid.], judge: ['{"pass": false, "reason": "rude"}'] }`);
  const { result } = await evaluate({
    'a.suite.yaml': suiteOf(
      script,
      '{ code: SUCCESS, judge: { criteria: Be polite. } }',
      'matrix: { faults: [{ tool: pay.send, kind: fail }] }',
    ),
  });
  expect(result.cases.map(({ problems }) => problems)).toEqual([['the judge did not accept it: rude'], []]);
  expect(result.metrics['taskSuccessRate']).toBe(0);
});

test('a fault of the matrix that no call met is named', async () => {
  const { result } = await evaluate({
    'a.suite.yaml': suiteOf(
      PAYS,
      '{ code: SUCCESS }',
      'matrix: { faults: [{ agent: bot, kind: deny, at: 99 }, { agent: bot, kind: deny }] }',
    ),
  });
  expect(result.notInjected).toEqual(['one [deny bot #99]']);
});

test('agents that the script leaves out run on the model; its tools and answers still count', async () => {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { model, messages } = (await json(request)) as { model: string; messages: object[] };
    asked.push(model);
    const called = { name: 'pay_send', arguments: '{"to":"bob","amount":5}' };
    const calls = [{ id: 'c1', type: 'function', function: called }];
    const message = messages.length > 2 ? { content: 'Paid.' } : { content: null, tool_calls: calls };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', ...message }, finish_reason: 'stop' }] }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const env = { VLLM_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
  const script = '{ tools: { pay.send: [{ result: 1 }] }, approvals: { pay.send: approve } }';
  const matrix = 'matrix: { models: [vllm/one, vllm/two] }';
  const suite = suiteOf(script, '{ code: SUCCESS, tools: [pay.send], asks: [pay.send] }', matrix);
  const cwd = folder({ 'now.flow.yaml': payer(ASKS), 'a.suite.yaml': suite });
  const { stdout } = await sluice(['eval', 'a.suite.yaml', '--json'], { cwd, env });
  const { cases, scriptedModels } = JSON.parse(stdout) as Evaluated;
  expect(cases.map(({ name, problems }) => [name, problems])).toEqual([
    ['one [vllm/one]', []],
    ['one [vllm/two]', []],
  ]);
  expect(asked.toSorted()).toEqual(['one', 'one', 'two', 'two']);
  expect(scriptedModels).toEqual([]);
});

test('models of the matrix change only prices where a script answers, and the report says so', async () => {
  const matrix = 'matrix: { models: [openai/gpt-4o, openai/gpt-4o-mini] }';
  const { result, stdout } = await evaluate({ 'a.suite.yaml': suiteOf(PAYS, '{ code: SUCCESS }', matrix) });
  expect(result.scriptedModels).toEqual(['one [openai/gpt-4o]', 'one [openai/gpt-4o-mini]']);
  expect(stdout).toContain('scriptedModels');
  const plain = await evaluate({ 'a.suite.yaml': suiteOf(PAYS, '{ code: SUCCESS }', 'matrix: { seeds: [1, 2] }') });
  expect(plain.result.scriptedModels).toEqual([]);
});

test('faults hit every call of a model in turn', async () => {
  const { result } = await evaluate({ 'a.suite.yaml': suiteOf(PAYS, '{ code: SUCCESS }', 'modes: [faults]') });
  const names = result.cases.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['one [fail bot #1]', 'one [fail bot #2]', 'one [fatal pay.send #1]']));
  expect(names).not.toContain('one [fail bot #3]');
});

test('a run that exceeds a budget of its document fails under faults', async () => {
  const flow = payer(ALLOWS)
    .replace('boundary:', 'budgets: { output_tokens: 100 }\nboundary:')
    .replace('tools: [pay.send]', 'tools: [pay.send], max_output_tokens: 20');
  const script = PAYS.replace('Paid.', '{ text: Paid., usage: { input: 1, output: 500 } }');
  const { result } = await evaluate({
    'now.flow.yaml': flow,
    'a.suite.yaml': suiteOf(script, '{ code: SUCCESS }', 'modes: [faults]'),
  });
  const delayed = result.cases.find(({ name }) => name === 'one [delay bot #1]');
  expect(delayed?.problems).toEqual([expect.stringMatching(/^outputTokens is 5\d\d, above the limit of 100$/)]);
});

test('a mode that repeats runs does not really pay', async () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const flow = `
tools: { pay.send: { effect: financial, http: { method: POST, url: "http://127.0.0.1:${(server.address() as { port: number }).port}/pay" } } }
flow: { id: payer, entry: pay, nodes: [{ id: pay, type: tool, tool: pay.send, routes: [{ to: end }] }] }
`;
  const files = (script: string) => ({
    'now.flow.yaml': flow,
    'a.suite.yaml': suiteOf(script, '{ code: SUCCESS }', 'modes: [golden, faults]'),
  });
  const real = await evaluate(files('{ agents: {} }'));
  expect([real.status, real.stdout]).toEqual([2, expect.stringContaining('would really call `pay.send` (financial)')]);
  expect((await evaluate(files('{ tools: { pay.send: [{ result: 1 }] } }'))).status).toBe(0);
  expect(requests).toEqual([]);
});

test('a rejecting approver is one of the people who may answer, and says no in the words of the question', async () => {
  const flow = `
people: [{ id: anna, roles: [manager] }, { id: bob, roles: [manager] }]
tools: { pay.send: { effect: financial } }
flow:
  id: payer
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Pay?", choices: [grant, deny, later], approvers: { people: [anna] }, routes: [{ when: "approvals.gate == 'deny'", to: no }, { when: default, to: pay }] }
    - { id: pay, type: tool, tool: pay.send, routes: [{ to: end }] }
    - { id: no, type: fail, code: PERMISSION_DENIED, message: Denied. }
`;
  const script = '{ tools: { pay.send: [{ result: 1 }] }, approvals: { gate: { choice: grant, by: anna } } }';
  const { result } = await evaluate({
    'now.flow.yaml': flow,
    'a.suite.yaml': suiteOf(script, '{ code: SUCCESS }', 'modes: [escalations]'),
  });
  expect(result.cases).toMatchObject([
    { name: 'one [approver absent]', code: 'CONFIRM_REQUIRED' },
    { name: 'one [approver late]' },
    { name: 'one [approver rejecting]', code: 'PERMISSION_DENIED' },
  ]);
});

describe('policy regression', () => {
  test.each([
    [DENIES, ALLOWS, 'denied', 'allowed', 1],
    [DENIES, ASKS, 'denied', 'asked', 1],
    [ASKS, ALLOWS, 'asked', 'allowed', 1],
    [ALLOWS, ASKS, 'allowed', 'asked', 0],
    [ALLOWS, DENIES, 'allowed', 'denied', 0],
  ])('from %s to %s', async (before, after, was, is, status) => {
    const ran = await evaluate({
      'now.flow.yaml': payer(after),
      'old.flow.yaml': payer(before),
      'a.suite.yaml': suiteOf(PAYS, '{}', 'modes: [policy]\npolicy: { before: ./old.flow.yaml }'),
    });
    expect(ran.result.policy).toMatchObject([{ before: was, after: is }]);
    expect(ran.status).toBe(status);
  });

  const GATE = `{ id: gate, type: approval, message: "Pay?", choices: [approve, reject], routes: `;
  const PAY = `{ id: pay, type: tool, tool: pay.send, params: { to: bob, amount: 5 }, routes: [{ to: end }] }`;
  const graph = (nodes: string, entry: string) => `
tools: { pay.send: { effect: financial }, look: { effect: read } }
flow: { id: payer, entry: ${entry}, nodes: [${nodes}] }
`;
  const gated = graph(
    `${GATE} [{ when: "approvals.gate == 'approve'", to: pay }, { when: default, to: end }] }, ${PAY}`,
    'gate',
  );
  const beside = graph(
    `{ id: both, type: parallel, branches: [{ to: gate }, { to: first }], routes: [{ to: end }] },
     { id: first, type: tool, tool: look, routes: [{ to: pay }] }, ${GATE} [{ to: end }] }, ${PAY}`,
    'both',
  );
  test.each(['approve', 'reject'])('a gate beside the payment does not hold it (%s)', async (choice) => {
    const script = `{ tools: { pay.send: [{ result: 1 }], look: [{ result: 1, delayMs: 1000 }] }, approvals: { gate: ${choice} } }`;
    const ran = await evaluate({
      'now.flow.yaml': beside,
      'old.flow.yaml': gated,
      'a.suite.yaml': suiteOf(script, '{}', 'modes: [policy]\npolicy: { before: ./old.flow.yaml }'),
    });
    expect(ran.status).toBe(1);
    expect(ran.result.policy).toMatchObject([{ before: choice === 'approve' ? 'asked' : 'absent', after: 'allowed' }]);
    expect(ran.result.cases[0]?.problems.join()).toMatch(/^pay\.send .* and is now allowed$/);
  });

  test.each([
    ['0', '0', true],
    ['0', '0:3.1', true],
    ['0:3.1', '0', true],
    ['0:3.1', '0:3.0', false],
    ['0:3.1', '0:9.0', true],
    ['0:9.0', '0:3.1', false],
    ['0:3.1:2.0', '0:3.1', true],
    ['0:3.1:2.0', '0:3.0:4.0', false],
  ])('branch %s before branch %s: %s', (earlier, later, holds) => {
    expect(isOnTheWay(earlier, later)).toBe(holds);
  });
});

test('reports do not carry markup of names and model text', async () => {
  const evil = '@everyone [x](http://evil) <img src=x> | `code` **b**';
  const name = `"${evil}"`;
  const { cwd } = await evaluate(
    {
      'a.suite.yaml': `
flow: ./now.flow.yaml
cases: [{ name: ${name}, input: pay, script: { agents: { bot: ["</failure>\\u202E\\n# Heading\\n${evil}"] } }, expect: { output: { said: no } } }]
`,
    },
    '--report',
    'r.md',
    'r.xml',
    'r.html',
  );
  const read = (file: string): string => readFileSync(join(cwd, file), 'utf8');
  // A code span with a fence that is longer than the backticks inside.
  expect(read('r.md')).toContain(`- \`\` ${evil} \`\` (golden): `);
  expect(read('r.md')).not.toMatch(/^# Heading/m);
  for (const file of ['r.xml', 'r.html']) {
    expect(read(file)).not.toMatch(/<img|<\/failure>.*<\/failure>/);
    expect(read(file)).toContain('&lt;img src=x&gt;');
  }
  for (const file of ['r.md', 'r.xml', 'r.html']) expect(read(file)).not.toContain('\u202E');
});
