import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { folder, json, newProject, RUN, sluice } from './cli.ts';

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
  expect(json(await sluice(['runs', '--json'], { cwd }))).toEqual([]);
  expect(json(await sluice(['approvals', '--json'], { cwd }))).toEqual([]);
  expect(json(await sluice(['audit', 'verify', '--json'], { cwd }))).toEqual({ ok: true, runs: [] });
  const shown = await sluice(['show', 'r_1'], { cwd });
  expect(shown.status).toBe(1);
  expect(shown.stderr).toContain('error[run-not-found]');
});

test('runs, show and approvals tell of one run in the same words', async () => {
  const cwd = await newProject();
  const started = json(await sluice([...RUN, '--json', '--tenant', 'acme', '--user', 'kim'], { cwd }));
  const runs = json<readonly object[]>(await sluice(['runs', '--json'], { cwd }));
  expect(runs).toMatchObject([
    { run: started.run, flow: 'support', hash: started.hash, state: 'suspended', code: 'CONFIRM_REQUIRED' },
  ]);
  expect(json(await sluice(['show', started.run, '--json'], { cwd }))).toEqual(started);
  expect(json(await sluice(['show', started.run.slice(0, 8), '--json'], { cwd }))).toEqual(started);
  expect(json(await sluice(['approvals', started.run, '--json'], { cwd }))).toEqual(started.waiting);
  const page = await sluice(['show', started.run], { cwd });
  expect(page.stdout).toMatch(/^path\s+triage > size > gate$/m);
  const none = json<readonly object[]>(await sluice(['runs', '--state', 'failed', '--json'], { cwd }));
  expect(none).toEqual([]);
});

test('trace gives every event with its place in the chain, and on request what each model was sent', async () => {
  const cwd = await newProject();
  const { run } = json(await sluice([...RUN, '--json'], { cwd }));
  const events = json<readonly EventJson[]>(await sluice(['trace', run, '--json'], { cwd }));
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events[0]?.type).toBe('run.started');
  for (const [index, event] of events.entries()) {
    expect(event.type).toMatch(/^[a-z]+\.[a-z]+$/);
    expect(new Date(event.at).toISOString()).toBe(event.at);
    if (index > 0) expect(event.prev).toBe(events[index - 1]?.hash);
    expect(event).not.toHaveProperty('prompt');
  }
  const told = json<readonly EventJson[]>(await sluice(['trace', run, '--json', '--prompts'], { cwd }));
  const asked = told.filter(({ prompt }) => prompt !== undefined);
  expect(asked.map(({ agent, type }) => [agent, type])).toEqual([['triage_bot', 'effect.requested']]);
  expect(asked[0]?.prompt?.at(-1)?.content).toContain('My parcel never came.');
  const later = json<readonly EventJson[]>(await sluice(['trace', run, '--json', '--after', '3'], { cwd }));
  expect(later).toEqual(events.slice(3));
  expect((await sluice(['trace', run], { cwd })).stdout.trimEnd().split('\n')).toHaveLength(events.length);
});

test('replay and audit agree on an untouched journal; a changed byte is named, and replay refuses', async () => {
  const cwd = await newProject();
  const { run } = json(await sluice([...RUN, '--json'], { cwd }));
  const replayed = await sluice(['replay', run, '--json'], { cwd });
  expect(replayed.status).toBe(0);
  expect(json(replayed)).toMatchObject({ run, agrees: true, difference: null });
  expect((await sluice(['audit', 'verify', run], { cwd })).status).toBe(0);

  change(join(cwd, '.sluice/sluice.db'));
  const audited = await sluice(['audit', 'verify', '--json'], { cwd });
  expect(audited.status).toBe(1);
  const { runs } = json<{ runs: readonly { ok: boolean; broken: { seq: number; message: string } | null }[] }>(audited);
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

test('cancel ends a run that waits, and says so of one that has ended', async () => {
  const cwd = await newProject();
  const { run } = json(await sluice([...RUN, '--json'], { cwd }));
  const cancelled = await sluice(['cancel', run, '--why', 'changed my mind', '--as', 'kim', '--json'], { cwd });
  expect(cancelled.status).toBe(0);
  expect(json(cancelled)).toMatchObject({ run, state: 'cancelled', code: 'USER_CANCEL' });
  const again = await sluice(['cancel', run], { cwd });
  expect(again.status).toBe(1);
  expect(again.stderr).toContain('error[run-ended]');
  expect(json(await sluice(['resume', '--json'], { cwd }))).toEqual([]);
});
