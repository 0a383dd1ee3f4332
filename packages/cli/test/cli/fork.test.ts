/** `sluice fork`: a new run off a past event, in every notation, with edits, and what is refused. */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const examples = new URL('../../../../examples/', import.meta.url).pathname;
const FLOW = join(examples, 'refund.flow.yaml');
const SCRIPT = join(examples, 'refund.script.yaml');

interface Shown {
  readonly run: string;
  readonly code: string;
  readonly output: unknown;
  readonly path: readonly string[];
  readonly parent?: { readonly run: string; readonly seq: number };
  readonly approvals: { readonly [node: string]: string };
}
interface Traced {
  readonly seq: number;
  readonly type: string;
  readonly node?: string;
  readonly origin?: { readonly parent?: { readonly seq: number } };
}

async function refund(): Promise<string> {
  const cwd = folder({});
  await sluice(['run', FLOW, '--script', SCRIPT, '--input', 'The kettle leaks', '--run', 'r1'], { cwd });
  return cwd;
}

async function json<T>(cwd: string, ...args: string[]): Promise<T> {
  return JSON.parse((await sluice([...args, '--json'], { cwd })).stdout) as T;
}

function forked(cwd: string, at: number, ...args: string[]): Promise<Shown> {
  return json<Shown>(cwd, 'fork', 'r1', '--at', String(at), '--script', SCRIPT, ...args);
}

async function eventAt(cwd: string, type: string, node: string): Promise<number> {
  const events = await json<readonly Traced[]>(cwd, 'trace', 'r1');
  return events.find((event) => event.type === type && event.node === node)?.seq ?? 0;
}

describe('fork', () => {
  test('continues from an event with another slot, and is linked to its parent', async () => {
    const cwd = await refund();
    const at = await eventAt(cwd, 'slots.written', 'triage');
    const report = await forked(cwd, at, '--set', 'triage.output={"category":"tech"}', '--run', 'f1');
    expect(report).toMatchObject({
      run: 'f1',
      code: 'SUCCESS',
      output: 'Turn it off and on again.',
      path: ['triage', 'by_category', 'tech_support'],
      parent: { run: 'r1', seq: at },
    });
    const [first] = await json<readonly Traced[]>(cwd, 'trace', 'f1');
    expect(first?.origin?.parent).toMatchObject({ run: 'r1', seq: at, hash: expect.stringMatching(/^[\w-]{43}$/) });
    const runs = await json<readonly { run: string; parent: string | null }[]>(cwd, 'runs');
    expect(runs.map(({ run, parent }) => [run, parent])).toEqual([
      ['f1', 'r1'],
      ['r1', null],
    ]);
    expect((await sluice(['show', 'f1'], { cwd })).stdout).toMatch(new RegExp(`fork of +r1 at event ${at}\\n`));
    await sluice(['audit', 'export', 'f1', '--out', 'f1.json'], { cwd });
    expect(readFileSync(join(cwd, 'f1.json'), 'utf8')).toContain('"parent": "r1"');
    for (const args of [
      ['audit', 'verify'],
      ['audit', 'verify', 'f1.json'],
      ['replay', 'f1'],
    ])
      expect((await sluice(args, { cwd })).status, args.join(' ')).toBe(0);
  });

  test('a run forks at each of its events but the last, at the end of the step that the event belongs to', async () => {
    const cwd = await refund();
    const { length } = await json<readonly Traced[]>(cwd, 'trace', 'r1');
    const ends: number[] = [];
    for (let at = 1; at < length; at++) {
      const args = ['fork', 'r1', '--at', String(at), '--script', SCRIPT, '--run', `f${at}`, '-q'];
      const { stdout, stderr } = await sluice(args, { cwd });
      expect(JSON.parse(stdout), stderr).toEqual({ refunded: true, receipt: 're_7f3a' });
      expect((await sluice(['replay', `f${at}`], { cwd })).stderr).toBe('');
      const [first] = await json<readonly Traced[]>(cwd, 'trace', `f${at}`);
      ends.push(first?.origin?.parent?.seq ?? 0);
    }
    expect(ends).toEqual([1, 2, 3, 4, 7, 7, 7, 8, 9, 10, 13, 13, 13, 14, 17, 17, 17, 18, 19, 22, 22, 22, 23]);
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  });

  test('makes no effect of the past again, and later ones under other keys', async () => {
    const calls = folder({});
    const tool = `import { appendFileSync } from 'node:fs';
export const pay = (args, { idempotencyKey }) => { appendFileSync(${JSON.stringify(join(calls, 'log'))}, args.n + ' ' + idempotencyKey + '\\n'); return { n: args.n }; };`;
    const flow = `tools:
  pay.one: { module: ./pay.mjs#pay }
flow:
  id: f
  entry: a
  nodes:
    - { id: a, type: tool, tool: pay.one, params: { n: 1 }, routes: [{ to: b }] }
    - { id: b, type: tool, tool: pay.one, params: { n: 2 } }
`;
    const cwd = folder({ 'f.yaml': flow, 'pay.mjs': tool });
    expect(await sluice(['run', 'f.yaml', '--run', 'r1'], { cwd })).toMatchObject({ status: 0 });
    const at = await eventAt(cwd, 'slots.written', 'a');
    expect((await sluice(['fork', 'r1', '--at', String(at)], { cwd })).status).toBe(0);
    const log = readFileSync(join(calls, 'log'), 'utf8').trim().split('\n');
    expect(log.map((line) => line.split(' ')[0])).toEqual(['1', '2', '2']);
    expect(new Set(log).size).toBe(3);
  });

  test('answers a question otherwise, with the name of the person', async () => {
    const cwd = await refund();
    const at = await eventAt(cwd, 'effect.requested', 'gate');
    const report = await forked(cwd, at, '--answer', 'gate=reject', '--as', 'anna', '--run', 'f1');
    expect(report).toMatchObject({ output: { refunded: false }, approvals: { gate: 'reject' } });
    expect(JSON.stringify(await json(cwd, 'trace', 'f1'))).toContain('"by":"anna"');
    const unknown = await sluice(['fork', 'r1', '--at', String(at), '--answer', 'gate=perhaps', '--run', 'f2'], {
      cwd,
    });
    expect([unknown.status, unknown.stderr]).toEqual([1, expect.stringContaining('error[not-a-choice]')]);
    const early = await sluice(['fork', 'r1', '--at', '4', '--answer', 'gate=reject', '--run', 'f2'], { cwd });
    expect([early.status, early.stderr]).toEqual([1, expect.stringContaining('error[approval-not-found]')]);
    // A refused fork leaves nothing behind.
    expect((await sluice(['show', 'f2'], { cwd })).status).toBe(1);
  });

  test('changes instructions and models of agents', async () => {
    const cwd = await refund();
    const at = await eventAt(cwd, 'effect.requested', 'review');
    await forked(
      cwd,
      at,
      ...['--instructions', 'refund_specialist=Be brief.', '--agent-model', 'refund_specialist=openai/gpt-5-mini'],
      ...['--run', 'f1'],
    );
    const prompts = JSON.stringify(await json(cwd, 'trace', 'f1', '--prompts'));
    expect(prompts).toContain('Be brief.');
    const events = await json<readonly Traced[]>(cwd, 'trace', 'f1');
    expect(events.find(({ type }) => type === 'run.forked')).toMatchObject({
      agents: { refund_specialist: { instructions: 'Be brief.', model: 'openai/gpt-5-mini' } },
    });
    expect((await sluice(['replay', 'f1'], { cwd })).status).toBe(0);
    for (const [option, value, near] of [
      ['--instructions', 'refund_specialst=x', 'Did you mean `refund_specialist`?'],
      ['--agent-model', 'refund_specialst=openai/gpt-5-mini', 'Did you mean `refund_specialist`?'],
      ['--agent-model', 'refund_specialist=nothing', 'provider/model'],
    ] as const) {
      const refused = await sluice(['fork', 'r1', '--at', String(at), option, value], { cwd });
      expect([refused.status !== 0, refused.stderr]).toEqual([true, expect.stringContaining(near)]);
    }
  });

  test('a fork of a fork, and of a run that still waits', async () => {
    const cwd = folder({});
    await sluice(['run', FLOW, '--script', SCRIPT, '--input', 'x', '--run', 'r1'], { cwd });
    const at = await eventAt(cwd, 'effect.requested', 'gate');
    const waiting = await sluice(['fork', 'r1', '--at', String(at), '--run', 'f1', '--no-script', '--json'], { cwd });
    expect([waiting.status, JSON.parse(waiting.stdout)]).toMatchObject([3, { waiting: [{ node: 'gate' }] }]);
    const second = await json<Shown>(cwd, 'fork', 'f1', '--at', String(at), '--answer', 'gate=reject', '--run', 'f2');
    expect(second).toMatchObject({ output: { refunded: false }, parent: { run: 'f1' } });
    const [question] = await json<readonly { id: string }[]>(cwd, 'approvals', 'f1');
    const answered = await json<Shown>(cwd, 'answer', question?.id ?? '', 'approve', '--script', SCRIPT);
    expect(answered).toMatchObject({ run: 'f1', output: { refunded: true } });
    for (const run of ['f1', 'f2']) expect((await sluice(['replay', run], { cwd })).status, run).toBe(0);
  });

  test('refuses what is not there, in one line with a way out', async () => {
    const cwd = await refund();
    const cases: readonly (readonly [args: readonly string[], status: number, text: string])[] = [
      [['r1', '--at', '0'], 1, 'It has the events 1 to 24.'],
      [['r1', '--at', '25'], 1, 'run `r1` has no event 25'],
      [['r1', '--at', '24'], 1, 'has ended with SUCCESS'],
      [['r1', '--at', 'x'], 2, '--at'],
      [['r1'], 2, '--at'],
      [['r2', '--at', '1'], 1, 'run-not-found'],
      [['r1', '--at', '7', '--set', 'triage.outptu=1'], 1, 'Did you mean `triage.output`?'],
      [['r1', '--at', '4', '--set', 'triage.output=1'], 1, 'The run wrote it with event 7.'],
      [['r1', '--at', '7', '--set', 'triage.output={"a"'], 2, '--set triage.output'],
      [['r1', '--at', '7', '--set', 'triage'], 2, 'SLOT=JSON'],
      [['r1', '--at', '7', '--run', 'r1'], 1, 'run-exists'],
    ];
    for (const [args, status, text] of cases) {
      const { status: found, stderr } = await sluice(['fork', ...args], { cwd });
      expect([args, found, stderr]).toEqual([args, status, expect.stringContaining(text)]);
    }
    const db = new DatabaseSync(join(cwd, '.sluice/sluice.db'));
    db.exec(`DROP TRIGGER log_update; UPDATE log SET body = replace(body, 'A-1042', 'A-1043')`);
    db.close();
    const broken = await sluice(['fork', 'r1', '--at', '7'], { cwd });
    expect([broken.status, broken.stderr]).toEqual([1, expect.stringContaining('error[chain-broken]')]);
  });

  test('of a run with personal data shares its tokens, and works after they are erased', async () => {
    const flow = join(examples, 'personal-data.flow.yaml');
    const script = join(examples, 'personal-data.script.yaml');
    const input = /--input (['"])(.*?)\1/.exec(readFileSync(flow, 'utf8'))?.[2] ?? 'mail anna@example.com';
    const cwd = folder({});
    await sluice(['run', flow, '--script', script, '--input', input, '--run', 'r1'], { cwd });
    const before = await json<Shown>(cwd, 'show', 'r1');
    const args = ['fork', 'r1', '--at', '1', '--script', script] as const;
    expect(await json<Shown>(cwd, ...args, '--run', 'f1')).toMatchObject({ code: before.code, path: before.path });
    expect((await sluice(['erase', 'f1', '--json'], { cwd })).stdout).toMatch(/"erased": [1-9]/);
    const late = await json<Shown>(cwd, ...args, '--set', 'input=write to otto@example.com', '--run', 'f2');
    expect(late.run).toBe('f2');
    // A new value gets a token that no erased one had.
    const text = JSON.stringify(await json(cwd, 'trace', 'f2'));
    expect(text).not.toContain('otto@example.com');
    expect(text).toMatch(/PII_EMAIL_00[2-9]/);
  });
});

describe('every notation', () => {
  test.each([
    ...['gather.flow.yaml', 'letters.flow.yaml', 'parcel.flow.yaml'],
    ...['extract-validate-decide.workflow.yaml', 'refine-loop.workflow.yaml'],
    ...['graph.team.yaml', 'magentic.team.yaml', 'mapreduce.team.yaml'],
    ...['market-report.staged.yaml', 'debate.staged.yaml', 'incident.loop.yaml', 'plan-and-do.loop.yaml'],
  ])('%s is forked at its start and in its middle', async (name) => {
    const cwd = folder({});
    const file = join(examples, name);
    const script = join(examples, name.replace(/\.\w+\.yaml$/, '.script.yaml'));
    const given = /--input (?:"([^"\n]*)"|'([^'\n]*)'|(\S+))/.exec(readFileSync(file, 'utf8')) ?? [];
    const input = (given[1] ?? given[2] ?? given[3] ?? 'x').replace(/^@examples\//, `@${examples}`);
    await sluice(['run', file, '--script', script, '--input', input, '--run', 'r1'], { cwd });
    const parent = await json<Shown>(cwd, 'show', 'r1');
    const events = await json<readonly Traced[]>(cwd, 'trace', 'r1');
    const written = events.filter(({ type }) => type === 'slots.written');
    const places = [1, written[Math.floor(written.length / 2)]?.seq ?? 1];
    for (const [index, at] of places.entries()) {
      const run = `f${index}`;
      const made = await sluice(['fork', 'r1', '--at', String(at), '--script', script, '--run', run], { cwd });
      const fork = await json<Shown>(cwd, 'show', run);
      expect([at, fork.code, fork.path], made.stderr).toEqual([at, parent.code, parent.path]);
      expect((await sluice(['replay', run], { cwd })).stderr).toBe('');
    }
    expect((await sluice(['audit', 'verify'], { cwd })).stderr).toBe('');
  });
});
