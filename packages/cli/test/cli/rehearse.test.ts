import { expect, test } from 'vitest';
import { folder, json, report } from './cli.ts';
import { sluice } from './in-process.ts';

const GATE = `agents: [{ id: bot }]
flow:
  id: demo
  entry: split
  nodes:
    - { id: split, type: parallel, branches: [{ to: work }, { to: gate }], routes: [{ to: done }] }
    - { id: work, type: agent, agent: bot, input: { task: "For {{event.payload.from}}" } }
    - { id: gate, type: approval, message: "Go on?", timeout: 50 }
    - { id: done, type: terminal, output: "{{split.output}}" }
`;

test('on the real clock a bounded wait for a person suspends the run at once, and the answer goes on', async () => {
  const cwd = folder({ 'a.yaml': GATE, 's.yaml': 'clock: real\nagents: { bot: worked }\n' });
  const first = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--json'], { cwd });
  expect(first.status).toBe(3);
  const { run, waiting } = report(first);
  const { id } = waiting[0] as { id: string };
  const events = json(await sluice(['trace', run, '--json'], { cwd })) as readonly { readonly type: string }[];
  expect(events.filter(({ type }) => type === 'value.missing')).toMatchObject([
    { node: 'work', paths: [['event', 'payload', 'from']] },
  ]);
  const answered = await sluice(['answer', id, 'approve', '--script', 's.yaml', '--json'], { cwd });
  expect(answered.status).toBe(0);
  expect(report(answered).output).toEqual({ work: 'worked', gate: 'approve' });
  expect((await sluice(['replay', run], { cwd })).status).toBe(0);
});

test('on the virtual clock the same wait passes at once, if the script says that nobody answers', async () => {
  const script = 'agents: { bot: worked }\napprovals: { gate: { expires: true } }\n';
  const cwd = folder({ 'a.yaml': GATE, 's.yaml': script });
  const ran = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--json'], { cwd });
  expect(report(ran)).toMatchObject({ state: 'completed', output: { work: 'worked', gate: 'reject' } });
});

test('a script may say numbers, and its conditions are checked before the run', async () => {
  const cwd = folder({
    'a.yaml': 'steps: [{ name: a, agent: x }, { name: b, agent: y }]\n',
    'good.yaml': 'agents: { x: 42, y: [{ text: true }] }\n',
    'bad.yaml': 'agents:\n  x: [{ when: "inptu.contains(\'a\')", text: a }]\n  y: [b]\n',
  });
  const good = await sluice(['run', 'a.yaml', '--script', 'good.yaml', '--json'], { cwd });
  expect(report(good)).toMatchObject({ code: 'SUCCESS', output: 'true' });
  const bad = await sluice(['run', 'a.yaml', '--script', 'bad.yaml', '--json'], { cwd });
  expect(bad.status).toBe(1);
  expect(json(bad)).toMatchObject({ ok: false, diagnostics: [{ code: 'unknown-name', file: 'bad.yaml', line: 2 }] });
});

test('a run that its budget ended says which bound left no room, and where', async () => {
  const cwd = folder({
    'a.yaml': 'budgets: { model_calls: 1 }\nsteps: [{ name: a, agent: x, mode: loop, until: DONE }]\n',
    's.yaml': 'agents: { x: [more] }\n',
  });
  const ran = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--json'], { cwd });
  expect(ran.status).toBe(1);
  const { state, code, error } = report(ran);
  expect({ state, code }).toEqual({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  expect(error).toMatchObject({
    class: 'budget',
    node: 'a',
    message: expect.stringContaining('budgets.model_calls') as string,
  });
});
