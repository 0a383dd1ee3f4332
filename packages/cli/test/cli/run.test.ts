import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN, folder, json, report } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

test('a new project runs offline, waits for a person, and goes on when answered', async () => {
  const cwd = await newProject();
  const first = await sluice([...RUN, '--json'], { cwd });
  expect(first.status).toBe(3);
  const suspended = report(first);
  expect(suspended).toMatchObject({
    flow: 'support',
    state: 'suspended',
    code: 'CONFIRM_REQUIRED',
    path: ['triage', 'size', 'gate'],
    approvals: {},
    error: null,
  });
  expect(suspended.hash).toMatch(/^sha256:/);
  expect(suspended.usage).toMatchObject({ steps: 3, modelCalls: 1, toolCalls: 0, inputTokens: 120, outputTokens: 20 });
  expect(suspended.waiting).toMatchObject([
    { node: 'gate', message: 'Refund $250 for order A-1001?', choices: ['approve', 'reject'] },
  ]);
  const { id } = suspended.waiting[0] as { id: string };

  const wrong = await sluice(['answer', id, 'perhaps', '--script', 'support.script.yaml'], { cwd });
  expect(wrong.status).toBe(1);
  expect(wrong.stderr).toContain('error[not-a-choice]');
  expect(json(await sluice(['approvals', '--json'], { cwd })) as readonly unknown[]).toHaveLength(1);

  const answered = await sluice(
    ['answer', id, 'approve', '--as', 'anna', '--script', 'support.script.yaml', '--json'],
    { cwd },
  );
  expect(answered.status).toBe(0);
  expect(report(answered)).toMatchObject({
    run: suspended.run,
    state: 'completed',
    code: 'SUCCESS',
    output: { refunded: 250, order: 'A-1001' },
    path: ['triage', 'size', 'gate', 'pay', 'done'],
    approvals: { gate: 'approve' },
    waiting: [],
  });

  const late = await sluice(['answer', id, 'approve', '--script', 'support.script.yaml'], { cwd });
  expect(late.status).toBe(1);
});

test('the output alone is on standard output; progress and hints are plain lines on standard error', async () => {
  const cwd = await newProject();
  const waiting = await sluice(RUN, { cwd });
  expect(waiting.status).toBe(3);
  expect(waiting.stdout).toBe('');
  expect(waiting.stderr).toMatch(/^enter {4}triage$/m);
  expect(waiting.stderr).toMatch(/^done {5}triage/m);
  const command = /^\s+sluice (answer a_\S+ approve .*)$/m.exec(waiting.stderr)?.[1];
  expect(command).toBeDefined();
  const done = await sluice((command as string).split(' '), { cwd });
  expect(done.status).toBe(0);
  expect(JSON.parse(done.stdout)).toEqual({ refunded: 250, order: 'A-1001' });
  expect(done.stderr).toMatch(/^enter {4}pay$/m);
  expect(done.stderr).not.toMatch(/^enter {4}triage$/m);
  expect(waiting.stderr + done.stderr).not.toContain('\u001B[');
});

test('--quiet says nothing on standard error', async () => {
  const cwd = await newProject();
  expect(await sluice([...RUN, '--quiet'], { cwd })).toEqual({ status: 3, stdout: '', stderr: '' });
});

test('a failed run exits with 1 and says where and why §handoffs/incident-response', async () => {
  const cwd = await newProject();
  writeFileSync(
    join(cwd, 'broken.yaml'),
    'agents: { triage_bot: [ { error: transient, message: "503 overloaded" } ] }\n',
  );
  const ran = await sluice(['run', 'support.flow.yaml', '--script', 'broken.yaml', '--json'], { cwd });
  expect(ran.status).toBe(1);
  expect(report(ran)).toMatchObject({
    state: 'failed',
    code: 'UNAVAILABLE_DEP',
    error: { class: 'transient', type: 'TransientError', message: '503 overloaded', node: 'triage' },
  });
  const quiet = await sluice(['run', 'support.flow.yaml', '--script', 'broken.yaml', '--quiet'], { cwd });
  expect(quiet.stderr).toBe('  TransientError at `triage`: 503 overloaded\n');
});

test('a document that does not compile makes run print what check prints', async () => {
  const cwd = folder({ 'bad.yaml': 'flow: { id: x, entry: nowhere, nodes: [{ id: a, type: terminal }] }\n' });
  const run = await sluice(['run', 'bad.yaml', '--json'], { cwd });
  const check = await sluice(['check', 'bad.yaml', '--json'], { cwd });
  expect(run.status).toBe(1);
  expect(run.stdout).toBe(check.stdout);
  expect(existsSync(join(cwd, '.sluice'))).toBe(false);
});

test('without a script or a model, nothing is started and one line says what to do', async () => {
  const cwd = await newProject();
  const ran = await sluice(['run', 'support.flow.yaml'], { cwd });
  expect(ran.status).toBe(2);
  expect(ran.stderr).toContain('error[no-model]: the agent `triage_bot` has no model');
  expect(ran.stderr).toContain('--script FILE');
  expect(existsSync(join(cwd, '.sluice'))).toBe(false);
});

test('a run that comes to need a script stops there and can be resumed; what was answered is kept', async () => {
  const cwd = folder({
    'a.yaml': `tools: { own.tool: { effect: read } }
flow:
  id: later
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Go on?", routes: [{ to: look }] }
    - { id: look, type: tool, tool: list_directory, params: { path: . }, routes: [{ to: own }] }
    - { id: own, type: tool, tool: own.tool }
`,
    's.yaml': 'tools: { own.tool: { result: done } }\n',
  });
  const { waiting, run } = report(await sluice(['run', 'a.yaml', '--script', 's.yaml', '--json'], { cwd }));
  const answered = await sluice(['answer', (waiting[0] as { id: string }).id, 'approve', '--no-script'], { cwd });
  expect(answered.status).toBe(2);
  expect(answered.stderr).toContain('error[no-implementation]');
  expect(answered.stderr).toContain(`sluice resume ${run}`);
  const resumed = await sluice(['resume', run, '--script', 's.yaml', '--json'], { cwd });
  expect(resumed.status).toBe(0);
  expect(report(resumed)).toMatchObject({ run, code: 'SUCCESS', approvals: { gate: 'approve' }, output: 'done' });
});

test('a run id of the caller makes the start idempotent', async () => {
  const cwd = await newProject();
  const first = report(await sluice([...RUN, '--run', 'order-7', '--json'], { cwd }));
  const second = report(await sluice([...RUN, '--run', 'order-7', '--json'], { cwd }));
  expect(second).toEqual(first);
  expect(json(await sluice(['runs', '--json'], { cwd })) as readonly unknown[]).toHaveLength(1);
  const other = await sluice(
    ['run', 'support.flow.yaml', '--script', 'support.script.yaml', '--input', 'else', '--run', 'order-7'],
    { cwd },
  );
  expect(other.status).toBe(1);
  expect(other.stderr).toContain('error[run-exists]');
});

test('init refuses to overwrite, and does so when told', async () => {
  const cwd = await newProject();
  writeFileSync(join(cwd, 'desk.loop.yaml'), 'mine');
  const refused = await sluice(['init', '.'], { cwd });
  expect(refused.status).toBe(2);
  expect(readFileSync(join(cwd, 'desk.loop.yaml'), 'utf8')).toBe('mine');
  expect((await sluice(['init', '.', '--force'], { cwd })).status).toBe(0);
  expect(readFileSync(join(cwd, 'desk.loop.yaml'), 'utf8')).not.toBe('mine');
});

test('a gate that refuses a turn has a line with its reason', async () => {
  const cwd = folder({
    'page.yaml': `Agents: [{ Name: Writer, Plugins: [FileSystem] }]
Selection: { Type: keyword, Routes: [{ Keyword: DONE, Agent: Writer, SourceAgents: [Writer], Validator: RequireWriteFile }] }
`,
    's.yaml': `agents:
  Writer:
    - "I wrote it.\\nDONE"
    - { tools: [{ name: write_file, args: { path: page.md, content: Hello } }] }
    - DONE
`,
  });
  const { status, stderr } = await sluice(['run', 'page.yaml', '--script', 's.yaml', '--input', 'A page'], { cwd });
  expect(status).toBe(0);
  expect(stderr).toMatch(/^refused {2}Writer {2}RequireWriteFile: No file was written this turn\./m);
});
