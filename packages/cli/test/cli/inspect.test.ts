import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { RUN, folder, json, report } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

interface EventJson {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly prev: string;
  readonly hash: string;
  readonly agent?: string;
  readonly prompt?: readonly { readonly role: string; readonly content: string }[];
}

test('where nothing has run, nothing is made and nothing fails', async () => {
  const cwd = folder();
  expect(report(await sluice(['runs', '--json'], { cwd }))).toEqual([]);
  expect(report(await sluice(['approvals', '--json'], { cwd }))).toEqual([]);
  expect(report(await sluice(['audit', 'verify', '--json'], { cwd }))).toEqual({
    ok: true,
    runs: [],
    shared: { ok: true, acts: 0, broken: null },
    memory: { ok: true, entries: 0, broken: null },
    tombstones: { ok: true, removed: 0, broken: null },
  });
  const shown = await sluice(['show', 'r_1'], { cwd });
  expect(shown.status).toBe(1);
  expect(shown.stderr).toContain('error[run-not-found]');
});

test('runs, show and approvals tell of one run in the same words §handoffs/telemetry', async () => {
  const cwd = await newProject();
  const started = report(await sluice([...RUN, '--json', '--tenant', 'acme', '--user', 'kim'], { cwd }));
  const runs = json(await sluice(['runs', '--json'], { cwd })) as readonly object[];
  expect(runs).toMatchObject([
    { run: started.run, flow: 'support', hash: started.hash, state: 'suspended', code: 'CONFIRM_REQUIRED' },
  ]);
  expect(report(await sluice(['show', started.run, '--json'], { cwd }))).toEqual(started);
  expect(report(await sluice(['show', started.run.slice(0, 8), '--json'], { cwd }))).toEqual(started);
  expect(report(await sluice(['approvals', started.run, '--json'], { cwd }))).toEqual(started.waiting);
  const page = await sluice(['show', started.run], { cwd });
  expect(page.stdout).toMatch(/^path\s+triage > size > gate$/m);
  const none = json(await sluice(['runs', '--state', 'failed', '--json'], { cwd })) as readonly object[];
  expect(none).toEqual([]);
});

test('the page of a run shows the first and the last nodes of a long path', async () => {
  const loop = `flow:
  id: f
  entry: step
  max_iterations: 90
  nodes:
    - { id: step, type: set, values: { n: "{{step.n == null ? 1 : step.n + 1}}" }, routes: [{ when: "step.n < 60", to: step }, { to: over }] }
    - { id: over, type: terminal, output: done }
`;
  const cwd = folder({ 'f.yaml': loop, 's.yaml': '{}\n' });
  const ran = report(await sluice(['run', 'f.yaml', '--script', 's.yaml', '--run', 'r1', '--json'], { cwd }));
  expect(ran.path).toHaveLength(61);
  const page = (await sluice(['show', 'r1'], { cwd })).stdout.replaceAll(/\s+/g, ' ');
  expect(page).toContain(`path ${'step > '.repeat(10)}… 41 more … ${'> step '.repeat(9)}> over usage`);
});

test('where no run is in a state, that is said, and help names every state', async () => {
  const cwd = folder({ 'w.yaml': 'steps: [{ name: one, agent_name: a }]\n', 's.yaml': 'agents: { a: [x] }\n' });
  await sluice(['run', 'w.yaml', '--script', 's.yaml', '--input', 'x'], { cwd });
  expect((await sluice(['runs', '--state', 'pending'], { cwd })).stderr).toBe('no run is pending\n');
  expect((await sluice(['runs', '--state', 'failed,cancelled'], { cwd })).stderr).toBe(
    'no run is failed or cancelled\n',
  );
  const { stdout } = await sluice(['runs', '--help'], { cwd });
  for (const state of ['pending', 'running', 'suspended', 'completed', 'failed', 'cancelled'])
    expect(stdout).toContain(state);
});

test('trace gives every event with its place in the chain, and on request what each model was sent', async () => {
  const cwd = await newProject();
  const { run } = report(await sluice([...RUN, '--json'], { cwd }));
  const events = json(await sluice(['trace', run, '--json'], { cwd })) as readonly EventJson[];
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events[0]?.type).toBe('run.started');
  for (const [index, event] of events.entries()) {
    expect(event.type).toMatch(/^[a-z]+\.[a-z]+$/);
    expect(new Date(event.at).toISOString()).toBe(event.at);
    expect(event.prev).toBe(events[index - 1]?.hash ?? event.prev);
    expect(event).not.toHaveProperty('prompt');
  }
  const told = json(await sluice(['trace', run, '--json', '--prompts'], { cwd })) as readonly EventJson[];
  const asked = told.filter(({ prompt }) => prompt !== undefined);
  expect(asked.map(({ agent, type }) => [agent, type])).toEqual([['triage_bot', 'effect.requested']]);
  expect(asked[0]?.prompt?.at(-1)?.content).toContain('My parcel never came.');
  const later = json(await sluice(['trace', run, '--json', '--after', '3'], { cwd })) as readonly EventJson[];
  expect(later).toEqual(events.slice(3));
  const journal = (await sluice(['trace', run, '--events'], { cwd })).stdout.trimEnd().split('\n');
  expect(journal).toHaveLength(events.length);
  const story = (await sluice(['trace', run], { cwd })).stdout;
  expect(story).toMatch(
    /^ +\d+ {2}\S+ {2}question\.asked {4} gate {2}Refund \$250 for order A-1001\? \(approve or reject\)$/m,
  );
  expect(story).toMatch(/ run\.started {7} support \{"message":/);
});

test('replay and audit agree on an untouched journal; a changed byte is named, and replay refuses §handoffs/replay-traces §modes/replay', async () => {
  const cwd = await newProject();
  const { run } = report(await sluice([...RUN, '--json'], { cwd }));
  const replayed = await sluice(['replay', run, '--json'], { cwd });
  expect(replayed.status).toBe(0);
  expect(report(replayed)).toMatchObject({ run, agrees: true, difference: null });
  expect((await sluice(['audit', 'verify', run], { cwd })).status).toBe(0);

  change(join(cwd, '.sluice/sluice.db'));
  const audited = await sluice(['audit', 'verify', '--json'], { cwd });
  expect(audited.status).toBe(1);
  const { runs } = json(audited) as {
    runs: readonly { ok: boolean; broken: { seq: number; message: string } | null }[];
  };
  expect(runs[0]?.broken?.message).toMatch(/event \d+/);
  const told = await sluice(['audit', 'verify', run], { cwd });
  expect(told.stderr).toMatch(/error\[chain-broken\]: event \d+/);
  const refused = await sluice(['replay', run], { cwd });
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain('error[chain-broken]');
});

/** As somebody would who has the file: one digit of the amount that the model gave. */
function change(file: string): void {
  const db = new DatabaseSync(file);
  const triggers = db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all() as unknown as {
    name: string;
  }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`);
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all() as unknown as { name: string }[];
  let changed = 0;
  for (const { name } of tables) {
    const columns = db.prepare(`PRAGMA table_info("${name}")`).all() as unknown as { name: string }[];
    if (!columns.some((column) => column.name === 'body') || !columns.some((column) => column.name === 'after'))
      continue;
    changed += Number(db.prepare(`UPDATE "${name}" SET body = replace(body, '250', '950')`).run().changes);
  }
  db.close();
  expect(changed).toBeGreaterThan(0);
}

test('cancel takes whole ids only: the beginning of an id stops no run', async () => {
  const cwd = folder({
    'f.yaml': 'flow: { id: f, entry: ask, nodes: [{ id: ask, type: approval, message: Go? }] }\n',
  });
  await sluice(['run', 'f.yaml', '--run', 'order-17'], { cwd });
  const begun = await sluice(['cancel', 'order', '--as', 'ann'], { cwd });
  expect([begun.status, begun.stderr]).toEqual([1, expect.stringContaining('Did you mean `order-17`?')]);
  expect(report(await sluice(['show', 'order-17', '--json'], { cwd })).state).toBe('suspended');
  const whole = await sluice(['cancel', 'order-17', '--as', 'ann'], { cwd });
  expect([whole.status, whole.stderr]).toEqual([
    0,
    expect.stringContaining('the question is closed: the run was stopped'),
  ]);
});

test('cancel ends a run that waits, and says so of one that has ended', async () => {
  const cwd = await newProject();
  const { run } = report(await sluice([...RUN, '--json'], { cwd }));
  const cancelled = await sluice(['cancel', run, '--why', 'changed my mind', '--as', 'kim', '--json'], { cwd });
  expect(cancelled.status).toBe(0);
  expect(report(cancelled)).toMatchObject({ run, state: 'cancelled', code: 'USER_CANCEL' });
  const again = await sluice(['cancel', run], { cwd });
  expect(again.status).toBe(1);
  expect(again.stderr).toContain('error[run-ended]');
  expect(report(await sluice(['resume', '--json'], { cwd }))).toEqual([]);
});
