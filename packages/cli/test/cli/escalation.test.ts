/** Whoever looks at what waits, or at what failed, sees whose it is and how grave. */
import { expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';
import { wordsOf } from './page.ts';

const FILES = {
  'pay.flow.yaml': `
tools:
  pay.out: { effect: financial, input: { type: object, properties: { vendor: { type: string }, amount: { type: number } } } }
agents: [{ id: clerk, tools: [pay.out] }]
flow: { id: pay, entry: work, nodes: [{ id: work, type: agent, agent: clerk }] }
`,
  's.yaml': `
agents: { clerk: [{ text: "", tools: [{ name: pay.out, args: { vendor: acme, amount: 12 } }] }, done] }
tools: { pay.out: [{ result: paid }] }
`,
};

test('approvals and show name the row, whose it is, and what it demands', async () => {
  const cwd = folder(FILES);
  const ran = await sluice(['run', 'pay.flow.yaml', '--script', 's.yaml', '--input', 'x', '--json'], { cwd });
  expect(ran.status).toBe(3);
  const { run } = JSON.parse(ran.stdout) as { run: string };
  const data = {
    tool: 'pay.out',
    amount: 12,
    payee: 'acme',
    escalation: {
      row: 'financial_commitment',
      route: 'human_approval',
      severity: 'high',
      endpoint: 'manager or procurement',
    },
  };
  const approvals = await sluice(['approvals', '--json'], { cwd });
  expect(JSON.parse(approvals.stdout)).toMatchObject([{ run, data }]);
  const shown = await sluice(['show', run, '--json'], { cwd });
  expect(JSON.parse(shown.stdout)).toMatchObject({ waiting: [{ data }] });
  const line = /goes to +manager or procurement \(financial_commitment, severity high\)/;
  expect((await sluice(['approvals'], { cwd })).stdout).toMatch(line);
  expect((await sluice(['show', run], { cwd })).stdout).toMatch(line);
});

test('a run that failed says who looks at it now', async () => {
  const cwd = folder({
    ...FILES,
    'pay.flow.yaml': `${FILES['pay.flow.yaml']}boundary: { fail_closed: [{ what: never, when: "true" }] }\n`,
  });
  const ran = await sluice(['run', 'pay.flow.yaml', '--script', 's.yaml', '--input', 'x', '--json'], { cwd });
  const report = JSON.parse(ran.stdout) as { run: string };
  expect(report).toMatchObject({ code: 'UNSAFE_DETECTION', escalation: { row: 'security_breach' } });
  expect((await sluice(['show', report.run], { cwd })).stdout).toMatch(/goes to +security operations/);
});

test('a change that says not into what, and a reply without words, are wrong usage and change nothing', async () => {
  const cwd = folder(FILES);
  await sluice(['run', 'pay.flow.yaml', '--script', 's.yaml', '--input', 'x'], { cwd });
  const approvals = await sluice(['approvals', '--json'], { cwd });
  const [{ id }] = JSON.parse(approvals.stdout) as [{ id: string }];
  const answer = (...words: string[]): ReturnType<typeof sluice> =>
    sluice(['answer', id, ...words, '--script', 's.yaml', '--json'], { cwd });
  for (const [choice, words] of [
    ['edit', '`edit` needs the arguments'],
    ['respond', '`respond` needs a text'],
  ] as const) {
    const ran = await answer(choice);
    expect([ran.status, `${ran.stdout}${ran.stderr}`]).toEqual([2, expect.stringContaining(words)]);
  }
  expect(JSON.parse((await sluice(['approvals', '--json'], { cwd })).stdout)).toHaveLength(1);
  const edited = await answer('edit', '--edit', '{"vendor": "acme", "amount": 3}');
  expect(JSON.parse(edited.stdout)).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 1 } });
});

test('approvals prints the commands that work: what to call with instead, and what to say', async () => {
  const cwd = folder(FILES);
  await sluice(['run', 'pay.flow.yaml', '--script', 's.yaml', '--input', 'x'], { cwd });
  const { stdout } = await sluice(['approvals'], { cwd });
  const commands = [...stdout.matchAll(/^answer +sluice (answer \S+ (\S+).*)$/gm)];
  const after = new Map(commands.map(([, line = '', choice = '']) => [choice, line.slice(line.indexOf(choice))]));
  expect([...after.values()]).toEqual([
    'approve --script s.yaml',
    `edit --edit '{"vendor":"acme","amount":12}' --script s.yaml`,
    'reject --script s.yaml',
    'respond --text "…" --script s.yaml',
  ]);
  const [, edit = ''] = commands.find(([, , choice]) => choice === 'edit') ?? [];
  const ran = await sluice([...wordsOf(edit), '--json'], { cwd });
  expect(JSON.parse(ran.stdout)).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 1 } });
});

test('a question for words is answered with words, and a choice of the author with the choice alone', async () => {
  const cwd = folder({
    'ask.flow.yaml': `
flow:
  id: ask
  entry: gate
  nodes:
    - { id: gate, type: approval, message: Well?, choices: [respond, edit, leave], routes: [{ to: done }] }
    - { id: done, type: terminal }
`,
    's.yaml': 'agents: {}\n',
  });
  await sluice(['run', 'ask.flow.yaml', '--script', 's.yaml', '--input', 'x'], { cwd });
  const { stdout } = await sluice(['approvals'], { cwd });
  expect([...stdout.matchAll(/^answer +sluice answer \S+ (.*)$/gm)].map(([, rest]) => rest)).toEqual([
    'respond --script s.yaml',
    'edit --script s.yaml',
    'leave --script s.yaml',
  ]);
});

test('the question of a stage prints its result to edit, and check prints how many workers run at once', async () => {
  const cwd = folder({
    'a.staged.yaml': `
agents: [{ id: planner }, { id: worker }, { id: editor }, { id: critic }]
staged:
  plan: { agent: planner }
  workers: { agent: worker, max: 3 }
  aggregate: { agent: editor }
  validate: { agent: critic, confidence: 0.8 }
`,
    's.yaml': `
agents:
  planner: ['{"tasks": [{"id": "a", "brief": "Find A."}]}']
  worker: [A.]
  editor: ['{"best": "A"}']
  critic: ['{"ok": true, "confidence": 0.2}', '{"ok": true, "confidence": 0.9}']
`,
  });
  expect((await sluice(['check', 'a.staged.yaml'], { cwd })).stdout).toContain('up to 3 branches at workers');
  await sluice(['run', 'a.staged.yaml', '--script', 's.yaml', '--input', 'x'], { cwd });
  const { stdout } = await sluice(['approvals'], { cwd });
  const [, edit = ''] = /^answer +sluice (answer \S+ edit.*)$/m.exec(stdout) ?? [];
  expect(edit).toContain(`edit --edit '{"best":"A"}'`);
  const ran = await sluice([...wordsOf(edit), '--script', 's.yaml', '--json'], { cwd });
  expect(JSON.parse(ran.stdout)).toMatchObject({ code: 'SUCCESS', output: { best: 'A' } });
});
