/** A run that started with a script goes on with it, so that a forgotten `--script` never calls a real tool. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bin, cleanEnvironment, folder, json, report, type RunJson } from './cli.ts';
import { sluice } from './in-process.ts';

const FILES = {
  'docs/pay.yaml': `tools:
  pay.send: { effect: financial, module: "./pay.mjs#send", compensate: pay.back }
  pay.back: { effect: financial, module: "./pay.mjs#back" }
flow:
  id: paying
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Pay?", choices: [approve, reject], routes: [{ when: "approvals.gate == 'approve'", to: send }, { when: default, to: end }] }
    - { id: send, type: tool, tool: pay.send, params: {}, routes: [{ to: hold }] }
    - { id: hold, type: wait, signal: shipped, routes: [{ to: again }] }
    - { id: again, type: tool, tool: pay.send, params: {}, routes: [{ to: end }] }
`,
  'docs/pay.mjs': `import { appendFileSync } from 'node:fs';
const real = (what) => { appendFileSync(new URL('./real.txt', import.meta.url), what); return { ok: true }; };
export const send = () => real('send');
export const back = () => real('back');
`,
  'docs/pay.script.yaml': 'tools: { pay.send: [{ result: { ok: true } }], pay.back: [{ result: { ok: true } }] }\n',
  'elsewhere/none.txt': '',
};

interface Project {
  readonly cwd: string;
  readonly run: string;
  readonly approval: string;
}

async function suspended(flags: readonly string[] = ['--script', 'docs/pay.script.yaml']): Promise<Project> {
  const cwd = folder(FILES);
  const { run, waiting } = report(await sluice(['run', 'docs/pay.yaml', ...flags, '--json'], { cwd }));
  return { cwd, run, approval: waiting[0]?.id ?? '' };
}

const isReal = (cwd: string): boolean => existsSync(join(cwd, 'docs/real.txt'));

describe('without --script', () => {
  test('an answer and a signal use the script of the start, from any folder, and say so', async () => {
    const { cwd, run, approval } = await suspended();
    const elsewhere = { cwd: join(cwd, 'elsewhere') };
    const db = ['--db', '../.sluice/sluice.db'];
    const answered = await sluice(['answer', approval, 'approve', ...db], elsewhere);
    expect(answered.status, answered.stderr).toBe(3);
    expect(answered.stderr).toContain(`run ${run} started with the script ${join(cwd, 'docs/pay.script.yaml')}`);
    expect(answered.stderr).toContain('--no-script');
    expect(answered.stdout + answered.stderr).toMatch(/sluice.* signal .* shipped --script .*pay\.script\.yaml/);
    const sent = await sluice(['signal', run, 'shipped'], { cwd });
    expect(sent.status, sent.stderr).toBe(0);
    expect(sent.stderr).toContain('started with the script docs/pay.script.yaml');
    expect(isReal(cwd)).toBe(false);
  });

  test('a cancelled run undoes its effects by the script', async () => {
    const { cwd, run, approval } = await suspended();
    await sluice(['answer', approval, 'approve', '--json'], { cwd });
    const cancelled = await sluice(['cancel', run, '--json'], { cwd });
    expect(report(cancelled)).toMatchObject({ state: 'cancelled' });
    expect(isReal(cwd)).toBe(false);
  });

  test('a fork of an ended run uses the script of its parent', async () => {
    const { cwd, run, approval } = await suspended();
    const events = json(await sluice(['trace', run, '--json'], { cwd })) as readonly unknown[];
    await sluice(['answer', approval, 'approve', '--json'], { cwd });
    await sluice(['signal', run, 'shipped', '--json'], { cwd });
    const forked = await sluice(['fork', run, '--at', String(events.length), '--answer', 'gate=approve', '--json'], {
      cwd,
    });
    expect(forked.status, forked.stderr).toBe(3);
    expect(isReal(cwd)).toBe(false);
  });

  test('resume goes on with each run in its own way', async () => {
    const { cwd, run } = await suspended();
    const real = report(await sluice(['run', 'docs/pay.yaml', '--json'], { cwd }));
    const scripted = await sluice(['resume', run], { cwd });
    expect(scripted.stderr).toContain('started with the script docs/pay.script.yaml');
    const other = await sluice(['resume', real.run], { cwd });
    expect(other.status, other.stderr).toBe(3);
    expect(other.stderr).not.toContain('started with the script');
  });
});

test('--no-script uses the real tools, and the next command repeats it', async () => {
  const { cwd, approval } = await suspended();
  const answered = await sluice(['answer', approval, 'approve', '--no-script'], { cwd });
  expect(answered.status, answered.stderr).toBe(3);
  expect(isReal(cwd)).toBe(true);
  expect(answered.stdout + answered.stderr).toMatch(/signal .* shipped --no-script/);
});

test('a run that moves to another version keeps its script, and `--no-script` moves it without', async () => {
  const { cwd, run } = await suspended();
  writeFileSync(join(cwd, 'docs/next.yaml'), FILES['docs/pay.yaml'].replace('signal: shipped', 'signal: sent'));
  const moved = await sluice(['migrate', run, 'docs/next.yaml', '--run', 'moved'], { cwd });
  expect(moved.status, moved.stderr).toBe(3);
  expect(moved.stderr).toContain('started with the script docs/pay.script.yaml');
  expect(moved.stderr).toContain('answer a_moved.0.0 approve --script docs/pay.script.yaml');
  writeFileSync(join(cwd, 'docs/last.yaml'), FILES['docs/pay.yaml'].replace('signal: shipped', 'signal: gone'));
  const bare = await sluice(['migrate', 'moved', 'docs/last.yaml', '--run', 'bare', '--no-script'], { cwd });
  expect(bare.status, bare.stderr).toBe(3);
  expect(bare.stderr).toContain('answer a_bare.0.0 approve --no-script');
});

test('the commands that `approvals --no-script` prints have the option', async () => {
  const { cwd, approval } = await suspended();
  const listed = await sluice(['approvals', '--no-script'], { cwd });
  expect(listed.stdout).toMatch(new RegExp(`answer ${approval} approve --no-script$`, 'm'));
});

test('a script that is gone is an error before anything is recorded', async () => {
  const { cwd, run, approval } = await suspended();
  rmSync(join(cwd, 'docs/pay.script.yaml'));
  for (const args of [
    ['answer', approval, 'approve'],
    ['cancel', run],
    ['resume', run],
  ]) {
    const refused = await sluice([...args, '--json'], { cwd });
    expect(refused.status).toBe(2);
    expect(json(refused)).toMatchObject({ error: { code: 'file-not-found' } });
  }
  expect(report(await sluice(['show', run, '--json'], { cwd })).waiting).toHaveLength(1);
  expect(isReal(cwd)).toBe(false);
});

test('a script from standard input must be named again', async () => {
  const cwd = folder(FILES);
  const { stdout } = spawnSync(process.execPath, [bin, 'run', 'docs/pay.yaml', '--script', '-', '--json'], {
    cwd,
    env: cleanEnvironment(),
    input: FILES['docs/pay.script.yaml'],
    encoding: 'utf8',
  });
  const [asked] = (JSON.parse(stdout) as RunJson).waiting;
  const forgotten = await sluice(['answer', asked?.id ?? '', 'approve'], { cwd });
  expect(forgotten.status).toBe(2);
  expect(forgotten.stderr).toContain('started with a script from standard input');
  const named = ['answer', asked?.id ?? '', 'approve', '--script', 'docs/pay.script.yaml', '--json'];
  expect(report(await sluice(named, { cwd }))).toMatchObject({ state: 'suspended' });
  expect(isReal(cwd)).toBe(false);
});
