/** The four checks of a gate in order: schema, policy, invariants, grounding. §flow/validation-gates */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agent, code, compile, createEngine, openMemory, staged } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { AGENTS, GOOD, ONE, PLAN, SUPERVISOR, YES, actions, play } from './drive.ts';

const ALL = 'permit(principal, action, resource);';
const errors = (document: object) =>
  compile({ agents: AGENTS, ...document }).diagnostics.filter(({ severity }) => severity === 'error');

describe('policies of stages', () => {
  const policies = (rule: string) => ({ all: ALL, rule });
  const enter = 'forbid(principal, action == Action::"stage.enter", resource == Stage::"finalize");';
  test('off: without a policy about stages none is asked; on: a forbidden stage does not begin', async () => {
    const free = await play({ policies: { all: ALL }, staged: SUPERVISOR }, { agents: GOOD });
    expect(free.report.code).toBe('SUCCESS');
    expect(free.events.some((event) => event.type === 'effect.requested' && event.name === 'policy:stage')).toBe(false);
    const { report, events } = await play({ policies: policies(enter), staged: SUPERVISOR }, { agents: GOOD });
    expect(report).toMatchObject({ state: 'failed', code: 'PERMISSION_DENIED', output: null });
    expect(report.error?.message).toBe('the stage `finalize` may not begin: forbidden by `rule`');
    expect(actions(report)).toEqual(['unsafe_output: block', 'unsafe_output: abort']);
    expect(events.some((event) => event.type === 'effect.requested' && event.name === 'writer')).toBe(false);
    const results = events.flatMap((event) =>
      event.type === 'slots.written' ? event.writes.filter(({ slot }) => slot === 'validation') : [],
    );
    expect(JSON.stringify(results.at(-1))).toContain('policy');
  });
  test('the result of a stage can be held back by its text', async () => {
    const leave = 'forbid(principal, action == Action::"stage.leave", resource) when { context.text like "*secret*" };';
    const staged = { ...SUPERVISOR, tier: 'regulated' };
    const { report } = await play(
      { policies: policies(leave), staged },
      { agents: { ...GOOD, worker: ['A is secret.', 'B is 2.'] } },
      [{ choice: 'edit', edit: [{ id: 'a', summary: 'A is 1.' }] }],
    );
    expect(actions(report)).toEqual(['unsafe_output: block', 'unsafe_output: escalate']);
    expect(report).toMatchObject({ code: 'SUCCESS' });
  });
  test('who runs it and which agent performs it', async () => {
    const rule =
      'forbid(principal, action == Action::"stage.enter", resource) when { context.agent == "writer" && context.stage == "finalize" } unless { principal == User::"kim" };';
    const { flow } = compile({ agents: AGENTS, policies: policies(rule), staged: SUPERVISOR });
    for (const [user, code] of [
      ['kim', 'SUCCESS'],
      ['lee', 'PERMISSION_DENIED'],
    ] as const) {
      const engine = createEngine({ journal: openMemory(), script: { agents: GOOD } });
      const run = await engine.start(flow as CompiledFlow, { input: 'x', origin: { user } });
      expect(await engine.settled(run)).toMatchObject({ code });
      await engine.close();
    }
  });
  test('if policies name stages, a stage that none of them permits is denied', async () => {
    const only = 'permit(principal, action == Action::"stage.enter", resource == Stage::"plan");';
    const { report } = await play({ policies: { only }, staged: SUPERVISOR }, { agents: GOOD });
    expect(report).toMatchObject({ code: 'PERMISSION_DENIED', path: ['plan'] });
  });
  test('a policy about a stage that does not exist is an error, with the nearest name', () => {
    const rule = 'forbid(principal, action == Action::"stage.enter", resource == Stage::"finalise");';
    expect(errors({ policies: policies(rule), staged: SUPERVISOR })).toMatchObject([
      { code: 'bad-policy', help: 'Did you mean `finalize`?' },
    ]);
  });
  test('only a staged flow has stages', () => {
    const { diagnostics } = compile({
      agents: AGENTS,
      policies: policies('forbid(principal, action == Action::"stage.enter", resource);'),
      workflow: { steps: [{ name: 's', agent_id: 'ann' }] },
    });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([{ code: 'bad-policy' }]);
  });
});

describe('the result cites at least one retrieved document', () => {
  const tools = { 'web.read': { description: 'Reads.', input: { type: 'object' }, effect: 'read' } };
  const agents = AGENTS.map((each) => (each.id === 'worker' ? { ...each, tools: ['web.read'] } : each));
  const call = { text: '', tools: [{ name: 'web.read', args: { url: 'https://a.example/tea' } }] };
  const run = (
    editor: string,
    invariants: readonly object[],
    found: object = { title: 'The Book of Tea', doc_id: 'T-17' },
  ) =>
    play(
      { agents, tools, staged: { ...SUPERVISOR, replans: 0, validate: { agent: 'critic', invariants } } },
      {
        agents: { ...GOOD, planner: [ONE], worker: [call, 'Tea is old.'], editor: [editor] },
        tools: { 'web.read': [{ result: found as never }] },
      },
    );
  const CITES = [{ cites: 1 }];
  test('off: any result passes; on: one without a citation does not', async () => {
    expect((await run('Tea is old.', [])).report.code).toBe('SUCCESS');
    const { report } = await run('Tea is old.', CITES);
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
    expect(report.error?.message).toBe('the result must cite at least 1 of the retrieved documents: it cites 0 of 2');
    expect(report.usage.modelCalls).toBe(4);
  });
  test.each(['Tea is old (https://a.example/tea).', 'Tea is old, says The book of tea.', 'Tea is old [T-17].'])(
    'cited: %s',
    async (text) => {
      expect((await run(text, CITES)).report.code).toBe('SUCCESS');
    },
  );
  test.each([
    'Tea is old (https://a.example/teapot).',
    'Tea is old (https://b.example/tea).',
    'Tea is old [T-178].',
    'Tea is old [1].',
  ])('not cited: %s', async (text) => {
    expect((await run(text, CITES)).report.code).toBe('VALIDATION_FAIL');
  });
  test('a number of documents, and words of the author', async () => {
    const found = [
      { id: 'doc-1', text: 'x' },
      { id: 'doc-2', text: 'y' },
    ];
    const two = [{ cites: 2, reason: 'cite two sources' }];
    expect((await run('As doc-1 and doc-2 say.', two, found)).report.code).toBe('SUCCESS');
    expect((await run('As doc-1 and doc-1 say.', two, found)).report.error?.message).toBe('cite two sources');
  });
  test('nothing was retrieved: a made-up address does not count', async () => {
    const { report } = await play(
      { staged: { ...SUPERVISOR, replans: 0, validate: { invariants: CITES } } },
      { agents: { ...GOOD, editor: ['See https://a.example/tea.'] } },
    );
    expect(report.error?.message).toContain('none was retrieved');
  });
});

describe('an invariant as a function', () => {
  const tools = { 'checks.sane': { description: 'Judges.', effect: 'read' } };
  const validate = { agent: 'critic', invariants: [{ tool: 'checks.sane', reason: 'not sane' }] };
  const run = (results: readonly object[]) =>
    play({ tools, staged: { ...SUPERVISOR, validate } }, { agents: GOOD, tools: { 'checks.sane': results } });
  test('it holds if the function returns true or `ok: true`', async () => {
    expect((await run([{ result: true }])).report.code).toBe('SUCCESS');
    const { report, events } = await run([{ result: { ok: false, reason: 'too vague' } }, { result: { ok: true } }]);
    expect(report.code).toBe('SUCCESS');
    expect(actions(report)).toEqual(['schema_or_grounding: replan']);
    expect(JSON.stringify(events)).toContain('too vague');
  });
  test.each([
    [{ result: false }, 'not sane'],
    [{ result: 'yes' }, 'not sane'],
    [{ error: 'fatal', message: 'boom' }, '`checks.sane` cannot judge the result: boom'],
  ])('%j does not hold', async (result, message) => {
    const { report } = await run([result]);
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { message } });
  });
  test('a TypeScript function of a module', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
    writeFileSync(
      join(dir, 'checks.ts'),
      'export const sane = ({ aggregate, summaries }: { aggregate: string; summaries: unknown[] }) => ({ ok: aggregate.includes("1") && summaries.length === 2, reason: "no figure" });\n',
    );
    const { flow, diagnostics } = compile({
      agents: AGENTS,
      tools: { 'checks.sane': { description: 'Judges.', effect: 'read', module: './checks.ts#sane' } },
      staged: { ...SUPERVISOR, validate },
    });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    const model = (given: { readonly [id: string]: string }) =>
      createEngine({
        journal: openMemory(),
        model: ({ agent: { id } }) => given[id] ?? '',
        toolOptions: { documentDir: dir, workDir: join(dir, 'work') },
      });
    const said = { planner: PLAN, worker: 'ok', critic: YES, writer: 'Done.' };
    for (const [editor, code] of [
      ['A is 1.', 'SUCCESS'],
      ['A is one.', 'VALIDATION_FAIL'],
    ] as const) {
      const engine = model({ ...said, editor });
      const run = await engine.start(flow as CompiledFlow, { input: 'x' });
      expect(await engine.settled(run)).toMatchObject({ code });
      await engine.close();
    }
    rmSync(dir, { recursive: true });
  });
  test('in TypeScript, the function itself', async () => {
    const [planner, worker] = [agent('planner', { instructions: 'Plan.' }), agent('worker', { instructions: 'Work.' })];
    const sane = code('checks.sane', { run: (given: unknown) => JSON.stringify(given).includes('two') });
    const research = staged('research', {
      plan: { agent: planner },
      workers: { agent: worker },
      validate: { invariants: [{ tool: sane }] },
      replans: 0,
    });
    const engine = createEngine({
      journal: openMemory(),
      model: ({ agent: { id } }) => (id === 'planner' ? ONE : 'It is two.'),
    });
    const run = await engine.run(research, 'x');
    expect(await run.result()).toMatchObject({ code: 'SUCCESS' });
    await engine.close();
  });
});

test.each([
  [{ when: 'true', cites: 1, reason: 'x' }, 'bad-value'],
  [{ reason: 'x' }, 'bad-value'],
  [{ when: 'true' }, 'missing-field'],
  [{ tool: 'checks.san' }, 'unknown-tool'],
  [{ tool: 'mail.send' }, 'bad-value'],
  [{ cites: 0 }, 'bad-value'],
])('an invariant %j: %s', (invariant, code) => {
  const tools = { 'checks.sane': { effect: 'read' }, 'mail.send': { effect: 'communication' } };
  expect(errors({ tools, staged: { ...SUPERVISOR, validate: { invariants: [invariant] } } })).toMatchObject([{ code }]);
});

test('an aggregate that a person edits passes the gate of its own stage before it is judged again', async () => {
  const output = { type: 'array', minItems: 2 };
  const document = {
    staged: {
      tier: 'regulated',
      plan: { agent: 'planner' },
      workers: { agent: 'worker' },
      aggregate: { output, guards: [{ when: "text(output).contains('secret')", reason: 'a secret' }] },
      validate: { agent: 'critic', confidence: 0.8 },
    },
  };
  const script = { agents: { ...GOOD, critic: ['{"ok": true, "confidence": 0.2}', YES] } };
  const edit = (summary: string) => [
    { id: 'a', summary: 'A' },
    { id: 'b', summary },
  ];
  const fits = await play(document, script, [{ choice: 'edit', edit: edit('B') }]);
  expect(fits.report).toMatchObject({ code: 'SUCCESS', output: edit('B') });
  const short = await play(document, script, [{ choice: 'edit', edit: [] }]);
  expect(short.report).toMatchObject({ state: 'suspended', waiting: [{ node: 'escalation' }] });
  const unsafe = await play(document, script, [{ choice: 'edit', edit: edit('a secret') }]);
  expect(actions(unsafe.report).slice(-2)).toEqual(['unsafe_output: block', 'unsafe_output: escalate']);
});
