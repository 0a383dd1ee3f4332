/** `sluice watch` and `sluice logs` on runs of other processes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN, ended, folder, json, report, sluice, start } from './cli.ts';
import { newProject, sluice as inProcess } from './in-process.ts';

const SLOW = `clock: real
agents: { triage_bot: [ { delayMs: 1500, text: '{"category": "refund", "amount": 250}' } ] }
`;

test('follows a run of another process while it goes on, and ends when it waits', async () => {
  const cwd = await newProject();
  writeFileSync(join(cwd, 'slow.yaml'), SLOW);
  const args = ['run', 'support.flow.yaml', '--script', 'slow.yaml', '--input', '@input.json', '--run', 'far'];
  const child = start(args, { cwd });
  const other = ended(child);
  await new Promise<void>((ready) =>
    child.stderr?.on('data', (chunk: Buffer) => chunk.toString().includes('enter') && ready()),
  );
  const watched = await sluice(['watch', 'far'], { cwd });
  expect(watched.status).toBe(3);
  expect(watched.stdout).toMatch(/^\d\d:\d\d:\d\d {2}enter {4}triage\n/);
  expect(watched.stdout).toContain('waiting  gate  Refund $250 for order A-1001? (approve or reject)');
  expect(watched.stderr).toMatch(/answer a_far\.\S+ approve/);
  expect((await other).status).toBe(3);
});

test('a finished run: all of it, then its output and its status', async () => {
  const cwd = await newProject();
  const { run, waiting } = report(await inProcess([...RUN, '--json'], { cwd }));
  const [approval] = waiting;
  const reject = ['answer', approval?.id ?? '', 'reject', '--script', 'support.script.yaml'];
  expect((await inProcess(reject, { cwd })).status).toBe(0);
  const watched = await inProcess(['watch', run], { cwd });
  expect(watched.status).toBe(0);
  expect(watched.stdout).toContain('answer   gate  reject');
  expect(watched.stderr).toContain('✓ SUCCESS');
  const later = await inProcess(['watch', run, '--after', '9'], { cwd });
  expect(later.stdout).not.toContain('enter    triage');
});

test('a failed run exits with 1, and names what was undone', async () => {
  const cwd = folder({
    'a.flow.yaml': `tools:
  seat.book: { effect: write, compensate: seat.free }
  seat.free: { effect: write }
flow:
  id: trip
  entry: book
  nodes:
    - { id: book, type: tool, tool: seat.book, params: { seat: 4 }, routes: [{ to: stop }] }
    - { id: stop, type: fail, code: VALIDATION_FAIL, message: "No passport." }
`,
    's.yaml': 'tools: { seat.book: [{ result: 1 }], seat.free: [{ result: 1 }] }\n',
  });
  const ran = await inProcess(['run', 'a.flow.yaml', '--script', 's.yaml'], { cwd });
  expect(ran.status).toBe(1);
  for (const line of ['tool     book  seat.book {"seat":4}', 'undo     book  seat.free', 'undone   book  seat.free'])
    expect(ran.stderr).toContain(line);
  const logs = await inProcess(['logs'], { cwd });
  expect([logs.status, logs.stdout]).toEqual([0, expect.stringContaining('undone   book  seat.free')]);
  const [newest] = json(await inProcess(['runs', '--json'], { cwd })) as [{ run: string }];
  expect((await inProcess(['watch', newest.run], { cwd })).status).toBe(1);
});

test('with --json, watch prints one public event per line and logs one list', async () => {
  const cwd = await newProject();
  const { run } = report(await inProcess([...RUN, '--json'], { cwd }));
  const watched = await inProcess(['watch', run, '--json'], { cwd });
  expect(watched.status).toBe(3);
  expect(watched.stderr).toBe('');
  const events = watched.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; seq: number; type: string; node?: string });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['run.started', 'question.asked']));
  expect(events[0]).toMatchObject({ id: '1.0', seq: 1, type: 'run.started' });
  expect(json(await inProcess(['logs', run, '--json'], { cwd }))).toEqual(events);
});

test('a run that does not exist, and no run at all', async () => {
  const cwd = await newProject();
  const none = await inProcess(['logs'], { cwd });
  expect([none.status, none.stderr]).toEqual([1, expect.stringContaining('there are no runs yet')]);
  await inProcess([...RUN, '--run', 'monday', '--json'], { cwd });
  const near = await inProcess(['watch', 'mondya'], { cwd });
  expect([near.status, near.stdout]).toEqual([1, '']);
  expect(near.stderr).toContain('Did you mean `monday`?');
});

test('a signal ends the watching, and not the run', async () => {
  const cwd = await newProject();
  writeFileSync(join(cwd, 'slow.yaml'), SLOW.replace('1500', '60000'));
  const child = start(['run', 'support.flow.yaml', '--script', 'slow.yaml', '--run', 'long'], { cwd });
  const other = ended(child);
  await new Promise<void>((ready) =>
    child.stderr?.on('data', (chunk: Buffer) => chunk.toString().includes('enter') && ready()),
  );
  const watcher = start(['watch', 'long'], { cwd });
  const watched = ended(watcher);
  await new Promise<void>((ready) => watcher.stdout?.once('data', () => ready()));
  watcher.kill('SIGINT');
  const { status, stderr } = await watched;
  expect([status, stderr]).toEqual([1, expect.stringContaining('stopped watching run long; the run itself continues')]);
  const shown = report(await inProcess(['show', 'long', '--json'], { cwd }));
  expect(shown.state).toBe('running');
  child.kill('SIGKILL');
  await other;
});

test('the commands that `approvals` and `watch` print repeat the script that the run started with', async () => {
  const cwd = await newProject();
  await inProcess([...RUN, '--run', 'played', '-q'], { cwd });
  const command = 'sluice answer a_played.0.1 approve --script support.script.yaml';
  expect((await inProcess(['approvals'], { cwd })).stdout).toContain(command);
  expect((await inProcess(['watch', 'played'], { cwd })).stderr).toContain(command);
  const elsewhere = folder({});
  const far = await inProcess(['approvals', '--db', join(cwd, '.sluice/sluice.db')], { cwd: elsewhere });
  expect(far.stdout).toContain(`--script ${join(cwd, 'support.script.yaml')} --db `);
  const other = await inProcess(['approvals', '--script', 'other.yaml'], { cwd });
  expect(other.stdout).toContain('approve --script other.yaml');
  const answered = await inProcess(['answer', 'a_played.0.1', 'approve', '--script', 'support.script.yaml'], { cwd });
  expect(answered.status).toBe(0);
});
