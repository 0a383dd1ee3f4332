/** A person's answer counts before anything else happens to the run. An answer that cannot be used changes nothing. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { folder, json, report } from './cli.ts';
import { sluice } from './in-process.ts';

const PAY = `tools:
  pay.out: { effect: financial, approval: always, input: { type: object, properties: { n: { type: number } } }, compensate: pay.back }
  pay.back: { effect: financial }
flow:
  id: pay
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Go on?", choices: ["yes", "no"], routes: [{ when: "approvals.gate == 'yes'", to: pay }, { when: default, to: end }] }
    - { id: pay, type: tool, tool: pay.out, params: { n: 5 }, routes: [{ to: last }] }
    - { id: last, type: approval, message: "Keep it?" }
`;
const SCRIPT = 'tools: { pay.out: { result: { paid: true } }, pay.back: { result: {} } }\n';
const files = {
  'pay.yaml': PAY,
  'tools.yaml': SCRIPT,
  'eager.yaml': `${SCRIPT}approvals: { gate: "yes", pay: approve, last: approve }\n`,
};

test("a person's answer is judged before a script gives its own", async () => {
  const cwd = folder(files);
  await sluice(['run', 'pay.yaml', '--script', 'tools.yaml', '--run', 'r', '--json'], { cwd });
  const bogus = await sluice(['answer', 'a_r.0.0', 'maybe', '--script', 'eager.yaml', '--json'], { cwd });
  expect([bogus.status, json(bogus)]).toMatchObject([1, { error: { code: 'not-a-choice' } }]);
  const { state, approvals } = report(await sluice(['show', 'r', '--json'], { cwd }));
  expect({ state, approvals }).toEqual({ state: 'suspended', approvals: {} });
  const no = await sluice(['answer', 'a_r.0.0', 'no', '--script', 'eager.yaml', '--json'], { cwd });
  expect(report(no)).toMatchObject({ state: 'completed', approvals: { gate: 'no' }, usage: { toolCalls: 0 } });
});

test('a cancelled run whose compensation failed names that failure', async () => {
  const broken = `tools: { pay.out: { result: {} }, pay.back: { error: fatal, message: gone } }\n`;
  const cwd = folder({ ...files, 'broken.yaml': `${broken}approvals: { gate: "yes", pay: approve }\n` });
  await sluice(['run', 'pay.yaml', '--script', 'broken.yaml', '--run', 'r', '--json'], { cwd });
  const cancelled = report(await sluice(['cancel', 'r', '--json'], { cwd }));
  expect(cancelled).toMatchObject({
    state: 'failed',
    code: 'REVIEW_REQUIRED',
    error: { class: 'fatal', type: 'FatalError', message: 'gone', node: 'pay' },
  });
});

test('a database with another schema is refused by every command and left alone', async () => {
  const cwd = folder(files);
  await sluice(['run', 'pay.yaml', '--script', 'tools.yaml', '--run', 'r', '--db', 'old.db', '--json'], { cwd });
  const file = new DatabaseSync(join(cwd, 'old.db'));
  file.exec('PRAGMA user_version = 8');
  file.close();
  for (const args of [
    ['show', 'r'],
    ['answer', 'a_r.0.0', 'no', '--script', 'tools.yaml'],
    ['resume', 'r', '--script', 'tools.yaml'],
    ['erase', 'r'],
  ]) {
    const refused = await sluice([...args, '--db', 'old.db', '--json'], { cwd });
    expect([refused.status, json(refused)]).toMatchObject([1, { error: { code: 'journal-older' } }]);
  }
});

test('an answer that the run could not go on from is not recorded', async () => {
  const cwd = folder(files);
  await sluice(['run', 'pay.yaml', '--script', 'tools.yaml', '--run', 'r', '--json'], { cwd });
  await sluice(['answer', 'a_r.0.0', 'yes', '--script', 'tools.yaml', '--json'], { cwd });
  const bare = await sluice(['answer', 'a_r.0.1', 'approve', '--no-script', '--json'], { cwd });
  expect([bare.status, json(bare)]).toMatchObject([2, { error: { code: 'no-implementation' } }]);
  expect(report(await sluice(['show', 'r', '--json'], { cwd }))).toMatchObject({ approvals: { gate: 'yes' } });
  // Nothing is needed to say no.
  const no = await sluice(['answer', 'a_r.0.1', 'reject', '--no-script', '--json'], { cwd });
  expect(report(no)).toMatchObject({ state: 'failed', code: 'PERMISSION_DENIED' });
});

test('an edit without effect is refused, and the run keeps waiting', async () => {
  const cwd = folder(files);
  await sluice(['run', 'pay.yaml', '--script', 'tools.yaml', '--run', 'r', '--json'], { cwd });
  await sluice(['answer', 'a_r.0.0', 'yes', '--script', 'tools.yaml', '--json'], { cwd });
  const edited = ['answer', 'a_r.0.1', 'approve', '--edit', '{"n": 9}', '--script', 'tools.yaml', '--json'];
  const refused = await sluice(edited, { cwd });
  expect([refused.status, json(refused)]).toMatchObject([1, { error: { code: 'bad-answer' } }]);
  expect(report(await sluice(['show', 'r', '--json'], { cwd }))).toMatchObject({
    state: 'suspended',
    usage: { toolCalls: 0 },
  });
});

test('a run is cancelled without a model, and a second cancel goes on with what the first began', async () => {
  const cwd = folder(files);
  const through = ['--script', 'tools.yaml', '--json'];
  await sluice(['run', 'pay.yaml', '--run', 'r', ...through], { cwd });
  await sluice(['answer', 'a_r.0.0', 'yes', ...through], { cwd });
  await sluice(['answer', 'a_r.0.1', 'approve', ...through], { cwd });
  const bare = await sluice(['cancel', 'r', '--no-script', '--json'], { cwd });
  expect([bare.status, json(bare)]).toMatchObject([2, { error: { code: 'no-implementation' } }]);
  expect(report(await sluice(['show', 'r', '--json'], { cwd }))).toMatchObject({ state: 'suspended' });
  const stopped = await sluice(['cancel', 'r', ...through], { cwd });
  expect([stopped.status, report(stopped)]).toMatchObject([
    0,
    { state: 'cancelled', usage: { toolCalls: 1 }, receipts: [{ status: 'compensated' }] },
  ]);

  await sluice(['run', 'pay.yaml', '--run', 'q', ...through], { cwd });
  const early = await sluice(['cancel', 'q', '--no-script', '--json'], { cwd });
  expect([early.status, report(early)]).toMatchObject([0, { state: 'cancelled', code: 'USER_CANCEL' }]);
});

test('a script with an answer that is not a choice is refused before the run', async () => {
  const cwd = folder({ ...files, 'slip.yaml': `${SCRIPT}approvals:\n  gate: yse\n  last: [approve, "no"]\n` });
  const ran = await sluice(['run', 'pay.yaml', '--script', 'slip.yaml', '--json'], { cwd });
  expect(ran.status).toBe(1);
  expect(json(ran)).toMatchObject({
    ok: false,
    diagnostics: [
      { code: 'bad-script', line: 3, column: 9, message: '`yse` is not a choice of `gate`' },
      { code: 'bad-script', line: 4, column: 19, message: '`no` is not a choice of `last`' },
    ],
  });
});

test('a script with an answer to a question that the flow does not have names the one that was meant', async () => {
  const cwd = folder({ ...files, 'slip.yaml': `${SCRIPT}approvals: { gaet: approve }\n` });
  const ran = await sluice(['run', 'pay.yaml', '--script', 'slip.yaml'], { cwd });
  expect(ran.status, ran.stderr).toBe(3);
  expect(ran.stderr).toMatch(/warning\[bad-script\]: flow `\w+` has no question `gaet`[^]*Did you mean `gate`\?/);
});

test('more budget is granted in numbers of what is limited, or not at all', async () => {
  const cwd = folder({
    'a.yaml': `agents: [{ id: bot, tools: [lib.search] }]
tools: { lib.search: { effect: read } }
budgets: { tool_calls: 1 }
loop: { agent: bot, escalation: { expansions: 1 } }
`,
    's.yaml': `agents:
  bot:
    - { tools: [{ name: lib.search, args: { q: a } }] }
    - { tools: [{ name: lib.search, args: { q: b } }] }
    - done
tools: { lib.search: { result: [] } }
`,
  });
  const first = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--input', 'go', '--json'], { cwd });
  expect(first.status).toBe(3);
  const { id } = report(first).waiting[0] as { id: string };
  for (const edit of [
    '{"tool_callz": 2}',
    '{"tool_calls": "2"}',
    '{"tool_calls": -2}',
    '{}',
    '5',
    '{"tool_calls": 0.5}',
  ]) {
    const given = await sluice(['answer', id, 'approve', '--edit', edit, '--script', 's.yaml', '--json'], { cwd });
    expect([edit, given.status, json(given)]).toMatchObject([edit, 1, { error: { code: 'bad-answer' } }]);
  }
  // What is lacking is granted with whatever else there is to be more of.
  const granted = ['answer', id, 'approve', '--edit', '{"steps": 2}', '--script', 's.yaml', '--json'];
  expect(report(await sluice(granted, { cwd }))).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 2 } });
});
