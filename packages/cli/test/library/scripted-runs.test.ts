/** A program without a script does not continue a run that started with one: it would call the real tools of a rehearsal. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { SluiceError, createEngine, flow, openMemory, tool } from '@sluice-internal/library';
import type { CreateEngineOptions } from '@sluice-internal/library';
import { readRun } from '@sluice-internal/engine/journal';
import { openStore } from '@sluice-internal/library/host';
import { report, sluice } from '../cli/cli.ts';

const called: string[] = [];
beforeEach(() => {
  called.length = 0;
});

const back = tool('pay.back', { effect: 'financial', run: () => (called.push('back'), { ok: true }) });
const send = tool('pay.send', {
  effect: 'financial',
  compensate: back,
  run: () => (called.push('send'), { ok: true }),
});
const paying = flow('paying', { input: z.object({}) })
  .step(send, () => ({}))
  .approve('gate', () => 'Pay again?')
  .step(send, () => ({}), { as: 'again' });
const once = flow('once', { input: z.object({}) }).step(send, () => ({}));

const FILE = '/rehearsal/pay.script.yaml';
const SCRIPT = { tools: { 'pay.send': [{ result: { ok: true } }], 'pay.back': [{ result: { ok: true } }] } };
const freshPath = (): string => join(mkdtempSync(join(tmpdir(), 'sluice-scripted-')), 'runs.db');
const engineOn = (journal: string, options: CreateEngineOptions = {}) =>
  createEngine({ journal, flows: [paying, once], ...options });

/** A run that waits at `gate`, as `sluice run --script` leaves it. */
async function rehearsal(): Promise<{ readonly journal: string; readonly id: string; readonly question: string }> {
  const journal = freshPath();
  await using engine = engineOn(journal, { script: SCRIPT });
  const run = await engine.run(paying, {}, { origin: { pins: { script: FILE } } });
  const [question] = await run.waiting();
  return { journal, id: run.id, question: question?.id ?? '' };
}

async function codeOf(action: Promise<unknown>): Promise<string> {
  const error = await action.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof SluiceError ? error.code : `no SluiceError: ${String(error)}`;
}

describe('an answer of a script', () => {
  const gated = flow('gated', { input: z.object({}) }).approve('gate', () => 'Pay?');
  const answers = { approvals: { gate: { choice: 'approve', by: 'anna' } } };
  test('is marked in the journal, also if it names a person and the flow declares none', async () => {
    const journal = freshPath();
    await using engine = createEngine({ journal, flows: [gated], script: answers });
    const run = await engine.run(gated, {});
    expect(await run.result()).toMatchObject({ code: 'SUCCESS' });
    expect((await readOf(journal, run.id)).events).toContainEqual(
      expect.objectContaining({
        type: 'effect.settled',
        result: { ok: true, value: { choice: 'approve', by: 'anna', proof: { via: 'script' } } },
      }),
    );
  });

  test('does not count in a run that started without a script', async () => {
    const journal = freshPath();
    const real = createEngine({ journal, flows: [gated] });
    const { id } = await real.run(gated, {});
    await (await real.open(id, { definition: gated })).waiting();
    await real.close();
    await using engine = createEngine({ journal, flows: [gated], script: answers });
    await engine.resume(id);
    expect(await (await engine.open(id, { definition: gated })).waiting()).toHaveLength(1);
    const { events } = await readOf(journal, id);
    expect(events).toContainEqual(expect.objectContaining({ type: 'answer.refused', reason: 'identity-unproven' }));
    // A fork of it is a rehearsal.
    const fork = await engine.fork(id, { at: events.find(({ type }) => type === 'effect.requested')?.seq ?? 0 });
    expect(await fork.result()).toMatchObject({ code: 'SUCCESS', approvals: { gate: 'approve' } });
  });
});

describe('an engine without a script', () => {
  test('refuses every way to continue the run, records nothing, and still reads it', async () => {
    const { journal, id, question } = await rehearsal();
    await using engine = engineOn(journal);
    const run = await engine.open(id, { definition: paying });
    const before = await run.report();
    const answer = { choice: 'approve', by: 'anna' };
    expect(await codeOf(run.answer('gate', 'approve', { by: 'anna' }))).toBe('scripted-run');
    expect(await codeOf(engine.answer(question, answer))).toBe('scripted-run');
    expect(await codeOf(engine.resume(id))).toBe('scripted-run');
    expect(await codeOf(run.cancel({ by: 'anna' }))).toBe('scripted-run');
    expect(await codeOf(run.signal('shipped'))).toBe('scripted-run');
    expect(await codeOf(engine.fork(id, { at: 1 }))).toBe('scripted-run');
    expect(await codeOf(engine.migrate(id, paying, { by: 'anna' }))).toBe('scripted-run');
    expect(await run.report()).toEqual(before);
    expect(await run.waiting()).toHaveLength(1);
    expect(await engine.list()).toHaveLength(1);
    expect(called).toEqual([]);
  });

  test('says which script, and what to do', async () => {
    const { journal, id } = await rehearsal();
    await using engine = engineOn(journal);
    await expect(engine.resume(id)).rejects.toMatchObject({
      message: `run \`${id}\` started with the script \`${FILE}\`, and this engine has no script`,
      help: 'Pass the script to `createEngine({ script })`, or `script: false` to continue with the real models and tools.',
    });
  });

  test('does not pick up the run, and leaves it to other processes', async () => {
    const journal = freshPath();
    const id = await interrupted(journal);
    const { promise: noticed, resolve } = Promise.withResolvers<string>();
    await using engine = engineOn(journal, { onNotice: resolve });
    expect(await noticed).toContain(`run \`${id}\` started with the script`);
    expect(called).toEqual([]);
    await using other = engineOn(journal, { script: SCRIPT, pickUp: false });
    const run = await other.resume(id);
    expect((await run.result()).code).toBe('SUCCESS');
    expect((await engine.get(id)).code).toBe('SUCCESS');
    expect(called).toEqual([]);
  });

  test('continues its own runs', async () => {
    const { journal } = await rehearsal();
    await using engine = engineOn(journal);
    const run = await engine.run(paying, {});
    await run.answer('gate', 'approve', { by: 'anna' });
    expect((await run.result()).code).toBe('SUCCESS');
    expect(called).toEqual(['send', 'send']);
  });
});

describe('a run that a program with a script starts', () => {
  test('records the script beside the database', async () => {
    const journal = freshPath();
    await using engine = engineOn(journal, { script: SCRIPT });
    const ids = [(await engine.run(paying, {})).id, await engine.start(paying, { input: {} })];
    const folder = join(dirname(journal), 'scripts');
    const files = readdirSync(folder);
    expect(files).toHaveLength(1);
    const file = join(folder, files[0] ?? '');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(SCRIPT);
    for (const id of ids) expect((await stateOf(journal, id)).origin.pins?.script).toBe(file);
  });

  test('is not continued by a program without a script', async () => {
    const journal = freshPath();
    const { run } = await started(journal);
    await using engine = engineOn(journal);
    expect(await codeOf(engine.resume(run))).toBe('scripted-run');
    expect(called).toEqual([]);
  });

  test('is continued by the command with the script, from any folder', async () => {
    const journal = freshPath();
    const { run, question } = await started(journal);
    const result = await sluice(['answer', question, 'approve', '--db', journal, '--json'], { cwd: tmpdir() });
    expect(result.status, result.stderr).toBe(0);
    expect(report(result)).toMatchObject({ run, code: 'SUCCESS', path: ['send', 'gate', 'again'] });
    expect(called).toEqual([]);
  });

  test('is refused by the command without the file', async () => {
    const journal = freshPath();
    const { question } = await started(journal);
    rmSync(join(dirname(journal), 'scripts'), { recursive: true });
    const refused = await sluice(['answer', question, 'approve', '--db', journal], { cwd: tmpdir() });
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('which is not there');
    expect(refused.stderr).toContain('--script FILE');
  });

  test('says so if its store has no file', async () => {
    const journal = openMemory();
    await using first = createEngine({ journal, script: SCRIPT });
    const run = await first.run(paying, {});
    await run.waiting();
    await using second = createEngine({ journal, flows: [paying], pickUp: false });
    await expect(second.resume(run.id)).rejects.toThrow('started with a script of a program');
  });
});

/** A run that waits at `gate`, of a program that has ended. */
async function started(journal: string): Promise<{ readonly run: string; readonly question: string }> {
  await using engine = engineOn(journal, { script: SCRIPT });
  const run = await engine.run(paying, {});
  const [question] = await run.waiting();
  return { run: run.id, question: question?.id ?? '' };
}

async function stateOf(journal: string, id: string) {
  return (await readOf(journal, id)).state;
}

async function readOf(journal: string, id: string) {
  const store = openStore(journal);
  try {
    return await readRun(store.journal, id);
  } finally {
    await store.close();
  }
}

test('an engine with a script continues the run with it', async () => {
  const { journal, id } = await rehearsal();
  await using engine = engineOn(journal, { script: SCRIPT });
  const run = await engine.open(id, { definition: paying });
  await run.answer('gate', 'approve', { by: 'anna' });
  expect((await run.result()).code).toBe('SUCCESS');
  expect(called).toEqual([]);
});

test('`script: false` continues the run with the real tools', async () => {
  const { journal, id } = await rehearsal();
  await using engine = engineOn(journal, { script: false });
  const run = await engine.open(id, { definition: paying });
  await run.answer('gate', 'approve', { by: 'anna' });
  expect((await run.result()).code).toBe('SUCCESS');
  expect(called).toEqual(['send']);
});

/** A run whose process stopped during a call. */
async function interrupted(journal: string): Promise<string> {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  await using engine = createEngine({
    journal,
    script: {},
    tools: {
      'pay.send': (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          begin();
        }),
    },
  });
  const run = await engine.run(once, {}, { origin: { pins: { script: FILE } } });
  await begun;
  return run.id;
}
