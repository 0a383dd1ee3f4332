/** What a run lost has a name: items, branches, nodes, and replies that a fixed answer replaced. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CreateEngineOptions, Report } from '@sluice-internal/library';

type Bot = NonNullable<Exclude<CreateEngineOptions['script'], false | undefined>['agents']>[string];

const AGENTS = [{ id: 'bot', instructions: 'Work.' }];
const no = (where: string) => ({ when: `input.contains("${where}")`, error: 'fatal' as const, message: `no ${where}` });

async function run(document: object, bot: Bot, runs = 1): Promise<Report> {
  const engine = createEngine({ journal: openMemory(), script: { agents: { bot } } });
  onTestFinished(() => engine.close());
  const compiled = compile({ agents: AGENTS, ...document });
  expect(compiled.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  for (let index = 1; index < runs; index++) await engine.settled(await engine.start(compiled, { input: {} }));
  return engine.settled(await engine.start(compiled, { input: {} }));
}

const map = (policy: string, more: object = {}) => ({
  flow: {
    id: 'f',
    entry: 'all',
    nodes: [
      { id: 'all', type: 'map', over: ['a', 'b', 'c'], as: 'x', do: 'one', on_item_error: policy, width: 1, ...more },
      { id: 'one', type: 'agent', agent: 'bot', input: { text: 'item {{x}}' } },
    ],
  },
});

const branches = (more: object = {}) => ({
  flow: {
    id: 'f',
    entry: 'both',
    nodes: [
      { id: 'both', type: 'parallel', branches: [{ to: 'p' }, { to: 'q' }], join: { type: 'all' }, ...more },
      { id: 'p', type: 'agent', agent: 'bot', input: { text: 'left' } },
      { id: 'q', type: 'agent', agent: 'bot', input: { text: 'right' } },
    ],
  },
});

describe('losses', () => {
  test('an item that a map skips', async () => {
    const report = await run(map('skip'), [no('item b'), 'ok', 'ok']);
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: ['ok', 'ok'] });
    expect(report.losses).toEqual([
      {
        node: 'all',
        item: 1,
        error: { type: 'FatalError', message: 'no item b' },
        why: '`all/one` failed; the run went on without it',
      },
    ]);
  });

  test('an item that fails its map, and the branch in the error', async () => {
    const report = await run(map('fail'), [no('item b'), 'ok', 'ok']);
    expect(report.losses).toMatchObject([{ node: 'all', item: 1, why: '`all/one` failed; `all` failed with it' }]);
    expect(report.error?.branches).toEqual([{ branch: '1', type: 'FatalError', message: 'no item b' }]);
  });

  test('each failed branch of a join', async () => {
    const report = await run(branches(), [no('left'), no('right')]);
    expect(report.state).toBe('failed');
    expect(report.error?.branches).toContainEqual({ branch: 'p', type: 'FatalError', message: 'no left' });
    expect(report.losses).toContainEqual({
      node: 'p',
      item: null,
      error: { type: 'FatalError', message: 'no left' },
      why: '`p` failed; `both` failed with it',
    });
    expect(report.losses?.some(({ node }) => node === 'both')).toBe(false);
  });

  test('a node whose error route ends the run, and one that another node replaced', async () => {
    const ended = await run(branches({ on_error: [{ default: true, to: 'end' }] }), [no('left'), 'ok']);
    expect(ended).toMatchObject({ code: 'PARTIAL_SUCCESS', losses: [{ node: 'p' }] });
    const nodes = [
      { id: 'a', type: 'agent', agent: 'bot', input: { text: 'first' }, on_error: [{ default: true, to: 'b' }] },
      { id: 'b', type: 'agent', agent: 'bot', input: { text: 'second' }, on_error: [{ default: true, to: 'end' }] },
    ];
    const report = await run({ flow: { id: 'f', entry: 'a', nodes } }, [no('first'), no('second')]);
    expect(report.losses).toMatchObject([
      { node: 'a', item: null, why: '`a` failed; the run went on at `b`' },
      { node: 'b', item: null, why: '`b` failed; the run ended with it' },
    ]);
  });

  test('items that a budget stopped or never started', async () => {
    const report = await run({ budgets: { model_calls: 1 }, ...map('skip') }, ['ok', 'ok', 'ok']);
    expect(report.code).toBe('PARTIAL_SUCCESS');
    expect(report.losses?.map(({ item, error }) => [item, error.type])).toEqual([
      [1, 'BudgetError'],
      [2, 'BudgetError'],
    ]);
    expect(report.losses?.at(-1)?.why).toContain('not started');
  });

  test('an attempt that is made again loses nothing', async () => {
    const more = { retry: { max_attempts: 2, backoff_ms: 0 }, on_error: [{ default: true, to: 'end' }] };
    const report = await run(map('fail', more), ['ok', { error: 'fatal', message: 'once' }, 'ok', 'ok', 'ok']);
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(report).not.toHaveProperty('losses');
    const failed = await run(map('fail', more), [no('item b'), 'ok', 'ok', 'ok']);
    expect(failed.losses?.filter(({ item }) => item !== null)).toMatchObject([{ item: 1 }]);
  });

  test('a step, a team and a stage', async () => {
    const workflow = {
      workflow: {
        steps: [
          { name: 's', agent_id: 'bot', error_mode: 'Skip' },
          { name: 't', agent_id: 'bot' },
        ],
      },
    };
    const report = await run(workflow, [{ error: 'fatal', message: 'no' }, 'ok']);
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', losses: [{ node: 's', error: { type: 'FatalError' } }] });
    const staged = await run({ staged: { sop: [{ id: 's', agent: 'bot' }] } }, [no('')]);
    expect(staged.state).toBe('failed');
    expect(staged.losses?.length).toBeGreaterThan(0);
  });

  test('a cancelled run has the field too', async () => {
    const engine = createEngine({ journal: openMemory(), script: {} });
    onTestFinished(() => engine.close());
    const flow = {
      id: 'f',
      entry: 'w',
      nodes: [{ id: 'w', type: 'approval', message: 'Go?', routes: [{ to: 'end' }] }],
    };
    const id = await engine.start(compile({ flow }), { input: {} });
    expect((await engine.settled(id)).losses).toBeUndefined();
    await engine.cancel(id, 'anna');
    expect(await engine.settled(id)).toMatchObject({ code: 'USER_CANCEL', losses: [] });
  });
});

test('a fixed answer of a breaker is a decision, a loss, and a partial success at best', async () => {
  const answer = { protections: { breaker: { provider_errors: 1, cooldown: 3600, fallback: { answer: 'Later.' } } } };
  const nodes = [{ id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] }];
  const script = [{ error: 'transient' as const, message: '503' }];
  const documents = [
    { flow: { id: 'f', entry: 'a', nodes } },
    { workflow: { steps: [{ name: 'a', agent_id: 'bot' }] } },
  ];
  for (const document of documents) {
    const report = await run({ ...document, ...answer }, script, 2);
    expect(report).toMatchObject({
      state: 'completed',
      code: 'PARTIAL_SUCCESS',
      output: 'Later.',
      decisions: [{ failure: 'provider_error', action: 'fallback' }],
      losses: [{ node: 'a', item: null, error: { type: 'BreakerOpenError' } }],
    });
  }
});
