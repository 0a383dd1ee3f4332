/** `eval` and `simulate` through the command line, from another folder. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder, root } from './cli.ts';
import { sluice } from './in-process.ts';

const FLOW = `
agents:
  - { id: triage_bot, output: { type: object, properties: { amount: { type: number } }, required: [amount] } }
tools: { pay: { effect: financial }, mail: { effect: communication } }
flow:
  id: support
  entry: triage
  nodes:
    - { id: triage, type: agent, agent: triage_bot, routes: [{ when: "amount < 50", to: pay }, { to: gate }] }
    - { id: gate, type: approval, message: "Pay?", choices: [approve, reject], routes: [{ when: "approvals.gate == 'approve'", to: pay }, { to: end }] }
    - { id: pay, type: tool, tool: pay, routes: [{ to: end }] }
`;
const SCRIPT = (amount: number, gate = 'approve') =>
  `{ agents: { triage_bot: ['{"amount": ${amount}}'] }, tools: { pay: [{ result: { paid: ${amount} } }] }, approvals: { gate: ${gate} } }`;
const SUITE = `
flow: ./support.flow.yaml
cases:
  - name: small
    input: { message: "refund" }
    script: ${SCRIPT(20)}
    tags: [smoke]
    expect: { code: SUCCESS, output: { paid: 20 }, when: "output.paid == 20", path: [triage, pay], includes: [pay],
              never: { nodes: [gate], tools: [mail] }, atMost: { modelCalls: 1 }, asks: [] }
  - name: large
    script: ${SCRIPT(200)}
    expect: { code: SUCCESS, path: [triage, gate, pay], asks: [gate] }
  - name: rejected
    script: ${SCRIPT(200, 'reject')}
    expect: { code: SUCCESS, never: { tools: [pay] }, asks: [gate] }
thresholds: { taskSuccessRate: 0.98 }
`;
interface Evaluated {
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly { readonly name: string; readonly passed: boolean; readonly problems: readonly string[] }[];
  readonly metrics: { readonly [name: string]: number | null };
}
const files = (suite = SUITE) => folder({ 'flows/support.flow.yaml': FLOW, 'flows/support.suite.yaml': suite });
const run = async (cwd: string, ...args: readonly string[]) => {
  const { status, stdout, stderr } = await sluice(['eval', 'flows/support.suite.yaml', '--json', ...args], { cwd });
  return { status, stderr, result: (stdout === '' ? null : JSON.parse(stdout)) as Evaluated };
};

describe('eval', () => {
  test('passes, fails with problems, and chooses by tag', { timeout: 60_000 }, async () => {
    const cwd = files();
    const good = await run(cwd);
    expect(good).toMatchObject({
      status: 0,
      result: { passed: 3, failed: 0, metrics: { taskSuccessRate: 1, correctTermination: 1, escalationAccuracy: 1 } },
    });
    expect((await run(cwd, '--tag', 'smoke')).result.passed).toBe(1);
    const wrong = SUITE.replace('path: [triage, pay]', 'path: [triage, gate]')
      .replace('asks: [] }', 'asks: [gate] }')
      .replace('modelCalls: 1', 'modelCalls: 0');
    const bad = await run(files(wrong));
    expect(bad.status).toBe(1);
    expect(bad.result.cases[0]).toMatchObject({ name: 'small', passed: false });
    expect(bad.result.cases[0]?.problems.join('\n')).toMatch(
      /modelCalls is 1[\s\S]*the path is triage > pay[\s\S]*no person was asked about gate/,
    );
    expect(bad.result.metrics).toMatchObject({ taskSuccessRate: 1 });
    const other = await run(files(SUITE.replace('output: { paid: 20 }', 'output: { paid: 21 }')));
    expect(other).toMatchObject({ status: 1, result: { failed: 1, metrics: { taskSuccessRate: 2 / 3 } } });
  });

  test('a missed threshold fails the suite; the baseline finds what got worse', { timeout: 60_000 }, async () => {
    const cwd = files(SUITE.replace('taskSuccessRate: 0.98', 'toolCallCount: 0.1'));
    const missed = await run(cwd, '--report', 'before.json', 'r.md', 'r.html', 'r.xml');
    expect([missed.status, missed.result.failed]).toEqual([1, 0]);
    expect(readFileSync(join(cwd, 'r.xml'), 'utf8')).toContain('classname="thresholds"');
    expect(readFileSync(join(cwd, 'r.md'), 'utf8')).toContain('Missed thresholds');
    writeFileSync(join(cwd, 'flows/support.suite.yaml'), SUITE);
    expect((await run(cwd, '--baseline', 'before.json')).status).toBe(0);
  });

  test('all modes, and the same results for the same seed', { timeout: 120_000 }, async () => {
    const suite = SUITE.replace(
      'cases:',
      'modes: [golden, faults, budgets, escalations, replay, soak, policy]\nsoak: { runs: 20 }\npolicy: { before: ./support.flow.yaml }\nrepeat: 2\nmatrix: { seeds: [1, 7], faults: [{ tool: pay, kind: fail }] }\ncases:',
    );
    const cwd = files(suite);
    const [one, two] = [await run(cwd), await run(cwd)];
    expect(one.result.cases.filter(({ passed }) => !passed)).toEqual([]);
    expect(new Set(one.result.cases.map((each) => (each as unknown as { mode: string }).mode))).toEqual(
      new Set(['golden', 'faults', 'budgets', 'escalations', 'soak', 'policy']),
    );
    expect(two.result.cases).toEqual(one.result.cases);
    expect(one.result.cases.length).toBeGreaterThan(200);
  });

  test('a loosened policy is found', { timeout: 60_000 }, async () => {
    const doc = (boundary: string) => `
agents: [{ id: bot, tools: [pay] }]
tools: { pay: { effect: financial } }
boundary: ${boundary}
loop: { agent: bot }
`;
    const suite = `
flow: ./new.loop.yaml
modes: [policy]
policy: { before: ./old.loop.yaml }
cases:
  - name: pays
    input: pay 5
    script: { agents: { bot: [{ text: "", tools: [{ name: pay, args: { amount: 5 } }] }, "paid 5"] }, tools: { pay: [{ result: { ok: true } }] }, approvals: { pay: approve } }
`;
    const cwd = folder({
      'flows/support.suite.yaml': suite,
      'flows/old.loop.yaml': doc('{ tools: { approve: [pay] } }'),
      'flows/new.loop.yaml': doc('{ tools: { allow: [pay] }, untrusted: "off" }'),
    });
    const { status, result } = await run(cwd);
    expect([status, result.failed]).toEqual([1, 1]);
    expect(result.cases[0]?.problems).toEqual(['pay {"amount":5} was asked and is now allowed']);
  });

  test('a way around an approval node is a loosened policy', { timeout: 60_000 }, async () => {
    const cwd = folder({
      'flows/support.suite.yaml': `
flow: ./new.flow.yaml
modes: [policy]
policy: { before: ./old.flow.yaml }
cases:
  - { name: middle, input: { message: refund }, script: ${SCRIPT(200)} }
  - { name: small, input: { message: refund }, script: ${SCRIPT(20)} }
`,
      'flows/old.flow.yaml': FLOW,
      'flows/new.flow.yaml': FLOW.replace('amount < 50', 'amount < 500'),
    });
    const { status, result } = await run(cwd);
    expect([status, result.passed, result.failed]).toEqual([1, 1, 1]);
    expect(result.cases[0]?.problems).toEqual(['pay {} was asked and is now allowed']);
  });

  test('mistakes have a line, a column and the nearest name', { timeout: 60_000 }, async () => {
    const wrong = await sluice(['eval', 'flows/support.suite.yaml'], {
      cwd: files(SUITE.replace('path: [triage, pay]', 'path: [triage, payy]')),
    });
    expect([wrong.status, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(/has no node `payy`[\s\S]*support\.suite\.yaml:\d+:\d+[\s\S]*Did you mean `pay`/),
    ]);
    const key = await sluice(['eval', 'flows/support.suite.yaml'], {
      cwd: files(SUITE.replace('expect:', 'expects:')),
    });
    expect(key.stderr).toMatch(/expects[\s\S]*Did you mean `expect`/);
    expect((await sluice(['eval', 'nope.yaml'], { cwd: files() })).status).toBe(2);
  });

  test('a stored run becomes a case that passes, and runs are chosen by a condition', { timeout: 60_000 }, async () => {
    const cwd = folder({
      'support.flow.yaml': FLOW,
      's.script.yaml': SCRIPT(200),
      'bad.script.yaml': '{ agents: { triage_bot: [{ error: fatal }] } }',
    });
    await sluice(['run', 'support.flow.yaml', '--script', 's.script.yaml', '-q', '--run', 'good'], { cwd });
    await sluice(['run', 'support.flow.yaml', '--script', 'bad.script.yaml', '-q', '--run', 'bad'], { cwd });
    expect(
      (await sluice(['eval', 'record', 'good', '--flow', 'support.flow.yaml', '--out', 'golden.suite.yaml'], { cwd }))
        .status,
    ).toBe(0);
    expect((await sluice(['eval', 'golden.suite.yaml'], { cwd })).status).toBe(0);
    const golden = readFileSync(join(cwd, 'golden.suite.yaml'), 'utf8');
    writeFileSync(join(cwd, 'golden.suite.yaml'), golden.replace('code: SUCCESS', 'code: TIMEOUT'));
    const again = ['eval', 'record', 'good', '--flow', 'support.flow.yaml', '--out', 'golden.suite.yaml'];
    expect((await sluice(again, { cwd })).stderr).toBe(
      'wrote golden.suite.yaml\n-       code: TIMEOUT\n+       code: SUCCESS\n',
    );
    expect((await sluice(again, { cwd })).stderr).toBe('wrote golden.suite.yaml\n');
    const made = await sluice(
      [
        'eval',
        'from-runs',
        '--where',
        'code == "SUCCESS"',
        '--sample',
        '50',
        '--flow',
        'support.flow.yaml',
        '--out',
        'runs.suite.yaml',
      ],
      { cwd },
    );
    expect([made.status, made.stderr]).toEqual([0, expect.stringContaining('1 case from 1 run')]);
    expect((await sluice(['eval', 'runs.suite.yaml'], { cwd })).status).toBe(0);
    expect((await sluice(['eval', 'from-runs', '--where', 'code =='], { cwd })).status).toBe(2);
  });
});

test('the suite among the examples passes', { timeout: 60_000 }, async () => {
  const { status, stdout } = await sluice(['eval', join(root, 'examples/refund.suite.yaml')], { cwd: folder() });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/\d+ passed, 0 failed/)]);
});

describe('simulate', () => {
  test('the shape of the contract, a replayable worst run, and mistakes', { timeout: 60_000 }, async () => {
    const cwd = files();
    const { status, stdout, stderr } = await sluice(
      [
        'simulate',
        'flows/support.flow.yaml',
        '--runs',
        '200',
        '--seed',
        '7',
        '--json',
        '--junit',
        'r.xml',
        '--html',
        'r.html',
      ],
      { cwd },
    );
    const result = JSON.parse(stdout) as { worst: { seed: number; code: string }; codes: { [code: string]: number } };
    expect([status, stderr]).toEqual([0, '']);
    expect(result).toMatchObject({
      runs: 200,
      nodes: { reached: 3, never: [] },
      edges: { never: [] },
      costUsd: { p50: 0, p95: 0, max: 0 },
      steps: { max: 3 },
    });
    expect(Object.values(result.codes).reduce((sum, count) => sum + count, 0)).toBe(200);
    const again = await sluice(
      ['simulate', 'flows/support.flow.yaml', '--runs', '1', '--seed', String(result.worst.seed), '--json'],
      { cwd },
    );
    expect(JSON.parse(again.stdout)).toMatchObject({ runs: 1, worst: result.worst });
    expect(readFileSync(join(cwd, 'r.html'), 'utf8')).toContain('Rehearsal of support');
    const wrong = await sluice(['simulate', 'flows/support.flow.yaml', '--runs', 'many'], { cwd });
    expect(wrong.status).toBe(2);
  });
});
