/**
 * The 24 cells of the failure decision table: eight kinds of failure by three tiers. Each cell first shows the damage with the
 * protection off, then the decision that stops it.
 */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { GOOD, NO, ONE, SUPERVISOR, YES, actions, play } from './drive.ts';

type Tier = 'interactive' | 'batch' | 'regulated';
interface Cell {
  /** The decisions in order. */
  readonly decides: readonly string[];
  readonly report: object;
}
interface Row {
  readonly document: object;
  readonly staged: object;
  readonly script: Script;
  /** The same flow without the protection, and the damage. */
  readonly off: { readonly document?: object; readonly staged?: object; readonly damage: object };
  readonly cells: { readonly [tier in Tier]: Cell };
}

const TOOLS = { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read' } };
const SEARCHER = [
  ...['planner', 'editor', 'critic', 'writer', 'ann', 'bob'].map((id) => ({ id })),
  { id: 'worker', tools: ['find'] },
];
const call = { text: '', tools: [{ name: 'find', args: { q: 'x' } }] };
const escalates = {
  state: 'suspended',
  waiting: [{ node: 'escalation', choices: ['approve', 'edit', 'respond', 'reject'] }],
};
const unguarded = { state: 'completed', code: 'SUCCESS' };
/** More tasks than may be started. */
const CROWD = JSON.stringify({ tasks: Array.from({ length: 60 }, (_, index) => ({ id: `t${index}`, brief: 'Do.' })) });
/** The most tries that a document can declare. */
const STUBBORN = JSON.parse('{"retries": 10, "replans": 10, "then": "abort"}') as object;
const fails = (code: string) => ({ state: 'failed', code, output: null });
const script = (agents: NonNullable<Script['agents']>, rest: Omit<Script, 'agents'> = {}): Script => ({
  agents: { ...GOOD, planner: [ONE], ...agents },
  ...rest,
});

const ROWS: { readonly [failure: string]: Row } = {
  tool_loop: {
    document: { agents: SEARCHER, tools: TOOLS },
    staged: {},
    script: script({ worker: [call] }, { tools: { find: [{ result: 'nothing' }] } }),
    off: {
      document: { protections: { loop: false }, budgets: { tool_calls: 20 } },
      damage: { usage: { toolCalls: 20 } },
    },
    cells: {
      interactive: { decides: ['tool_loop: block', 'tool_loop: abort'], report: fails('REPEATED_FAILURE') },
      batch: { decides: ['tool_loop: block', 'tool_loop: abort'], report: fails('REPEATED_FAILURE') },
      regulated: { decides: ['tool_loop: block', 'tool_loop: escalate'], report: escalates },
    },
  },
  deadlock: {
    document: {},
    staged: { workers: undefined, peers: { agents: ['ann', 'bob'] } },
    script: script({ ann: ['{"handoff": "bob"}'], bob: ['{"handoff": "ann"}'] }),
    off: {
      document: { protections: { deadlock: false, hops: false }, budgets: { model_calls: 40 } },
      damage: { usage: { modelCalls: 40 } },
    },
    cells: {
      interactive: { decides: ['deadlock: abort'], report: fails('REPEATED_FAILURE') },
      batch: { decides: ['deadlock: abort'], report: fails('REPEATED_FAILURE') },
      regulated: { decides: ['deadlock: escalate'], report: escalates },
    },
  },
  cost_overrun: {
    document: { budgets: { model_calls: 3 } },
    staged: { replans: 0 },
    script: script({}),
    off: { document: { budgets: {} }, damage: { ...unguarded, usage: { modelCalls: 5 } } },
    cells: {
      interactive: { decides: ['cost_overrun: abort'], report: fails('BUDGET_EXHAUSTED') },
      batch: { decides: ['cost_overrun: abort'], report: fails('BUDGET_EXHAUSTED') },
      regulated: { decides: ['cost_overrun: escalate'], report: escalates },
    },
  },
  provider_error: {
    document: {},
    staged: {},
    script: script({ worker: [{ error: 'transient', message: '503' }] }),
    off: {
      document: { protections: { breaker: false, retry_budget: false, on_failure: { provider_error: STUBBORN } } },
      damage: { state: 'failed', usage: { modelCalls: 36 } },
    },
    cells: {
      interactive: {
        decides: ['provider_error: retry', 'provider_error: retry', 'provider_error: abort'],
        report: fails('UNAVAILABLE_DEP'),
      },
      batch: {
        decides: ['provider_error: retry', 'provider_error: retry', 'provider_error: abort'],
        report: fails('UNAVAILABLE_DEP'),
      },
      regulated: { decides: ['provider_error: escalate'], report: escalates },
    },
  },
  schema_or_grounding: {
    document: {},
    staged: {},
    script: script({ critic: [NO] }),
    off: { staged: { validate: {} }, damage: { ...unguarded, output: 'Done: 1 and 2.' } },
    cells: {
      interactive: {
        decides: ['schema_or_grounding: retry', 'schema_or_grounding: surface'],
        report: fails('VALIDATION_FAIL'),
      },
      batch: {
        decides: ['schema_or_grounding: replan', 'schema_or_grounding: replan', 'schema_or_grounding: abort'],
        report: fails('VALIDATION_FAIL'),
      },
      regulated: { decides: ['schema_or_grounding: block', 'schema_or_grounding: escalate'], report: escalates },
    },
  },
  malformed_plan: {
    document: {},
    staged: {},
    script: script({ planner: [CROWD], worker: ['ok'] }),
    off: { document: { protections: { spawn: false } }, damage: { ...unguarded, usage: { modelCalls: 64 } } },
    cells: {
      interactive: { decides: ['malformed_plan: abort'], report: fails('VALIDATION_FAIL') },
      batch: {
        decides: ['malformed_plan: replan', 'malformed_plan: replan', 'malformed_plan: abort'],
        report: fails('VALIDATION_FAIL'),
      },
      regulated: { decides: ['malformed_plan: abort'], report: fails('VALIDATION_FAIL') },
    },
  },
  no_progress: {
    document: {},
    staged: { workers: undefined, board: { agents: ['ann', 'bob'], rounds: 4 } },
    script: script({ ann: ['{"version": 0}'], bob: ['{"version": 0}'] }),
    off: {
      document: { protections: { on_failure: { no_progress: STUBBORN } } },
      staged: { replans: 10 },
      damage: { state: 'failed', usage: { modelCalls: 53 } },
    },
    cells: {
      interactive: { decides: ['no_progress: abort'], report: fails('REPEATED_FAILURE') },
      batch: { decides: ['no_progress: replan', 'no_progress: escalate'], report: escalates },
      regulated: { decides: ['no_progress: escalate'], report: escalates },
    },
  },
  unsafe_output: {
    document: {},
    staged: {
      finalize: {
        agent: 'writer',
        guards: [{ when: "output.contains('password')", reason: 'It tells a password.' }],
        safe_fallback: 'I cannot tell you that.',
      },
    },
    script: script({ writer: ['The password is 1234.'] }),
    off: { staged: { finalize: { agent: 'writer' } }, damage: { ...unguarded, output: 'The password is 1234.' } },
    cells: {
      interactive: {
        decides: ['unsafe_output: block', 'unsafe_output: fallback'],
        report: { state: 'completed', code: 'PARTIAL_SUCCESS', output: 'I cannot tell you that.' },
      },
      batch: { decides: ['unsafe_output: block', 'unsafe_output: abort'], report: fails('UNSAFE_DETECTION') },
      regulated: { decides: ['unsafe_output: block', 'unsafe_output: escalate'], report: escalates },
    },
  },
};

describe.each(Object.entries(ROWS))('%s', (_, { document, staged, script: world, off, cells }) => {
  test.each(Object.entries(cells))('%s', async (tier, { decides, report: expected }) => {
    const without = { ...SUPERVISOR, ...staged, ...off.staged, tier };
    const { report: damaged } = await play({ ...document, ...off.document, staged: without }, world);
    expect(damaged).toMatchObject(off.damage);

    const { report } = await play({ ...document, staged: { ...SUPERVISOR, ...staged, tier } }, world);
    expect(actions(report)).toEqual(decides);
    expect(report).toMatchObject(expected);
    expect(report.decisions.every((each) => each.tier === tier)).toBe(true);
  });
});

describe('people after a failure', () => {
  test('finance approves: the budget is granted once more, and the stage runs', async () => {
    const { report } = await play(
      { budgets: { model_calls: 3 }, staged: { ...SUPERVISOR, tier: 'regulated' } },
      script({}),
      [{ choice: 'approve' }],
    );
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 5 } });
    expect(report.path).toEqual(['plan', 'workers/a', 'aggregate', 'validate', 'finalize']);
  });
  test('approve after an outage runs the stage once more', async () => {
    const world = script({ worker: [{ error: 'transient', message: '503' }, 'A is 1.'] });
    const { report } = await play({ staged: { ...SUPERVISOR, tier: 'regulated' } }, world, [{ choice: 'approve' }]);
    expect(report).toMatchObject({
      code: 'SUCCESS',
      path: ['plan', 'workers/a', 'workers/a', 'aggregate', 'validate', 'finalize'],
    });
  });
  test('approve takes an unsafe output as it is; an edit is guarded again', async () => {
    const { staged, script: world } = ROWS['unsafe_output'] as Row;
    const document = { staged: { ...SUPERVISOR, ...staged, tier: 'regulated' } };
    const approved = await play(document, world, [{ choice: 'approve' }]);
    expect(approved.report).toMatchObject({ code: 'SUCCESS', output: 'The password is 1234.' });
    const edited = await play(document, world, [{ choice: 'edit', edit: 'Another password: 5.' }]);
    expect(edited.report.state).toBe('suspended');
    const clean = await play(document, world, [{ choice: 'edit', edit: 'No.' }]);
    expect(clean.report).toMatchObject({ code: 'SUCCESS', output: 'No.' });
  });
  test('reject after a tool loop ends under its code', async () => {
    const { document, script: world } = ROWS['tool_loop'] as Row;
    const { report } = await play({ ...document, staged: { ...SUPERVISOR, tier: 'regulated' } }, world, [
      { choice: 'reject' },
    ]);
    expect(report).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE' });
  });
});

describe('deviations are explicit in the document', () => {
  test('on_failure changes a cell', async () => {
    const { report } = await play(
      {
        protections: {
          on_failure: { schema_or_grounding: JSON.parse('{"replans": 1, "then": "escalate"}') as object },
        },
        staged: SUPERVISOR,
      },
      script({ critic: [NO] }),
    );
    expect(actions(report)).toEqual(['schema_or_grounding: replan', 'schema_or_grounding: escalate']);
  });
  test('replans sets the number for every stage', async () => {
    const { report } = await play(
      { staged: { ...SUPERVISOR, replans: 4 } },
      script({ editor: ['1', '2', '3', '4', '5'], critic: [NO, NO, NO, NO, YES] }),
    );
    expect(report).toMatchObject({ code: 'SUCCESS', decisions: [{}, {}, {}, {}] });
  });
  test('a fallback model is a decision in the interactive tier, and is not taken in the regulated one', async () => {
    const models = {
      main: { provider: 'openai', model: 'a', fallback: 'spare' },
      spare: { provider: 'openai', model: 'b' },
    };
    const agents = ['planner', 'worker', 'editor', 'critic', 'writer'].map((id) => ({ id, model: 'main' }));
    const down = { error: 'transient', message: '503' } as const;
    const world = script({ worker: [down, down, down, 'A is 1.'] });
    const { report } = await play({ models, agents, staged: { ...SUPERVISOR, tier: 'interactive' } }, world);
    expect(report.code).toBe('SUCCESS');
    expect(actions(report)).toEqual(['provider_error: retry', 'provider_error: retry', 'provider_error: fallback']);
    const strict = await play({ models, agents, staged: { ...SUPERVISOR, tier: 'regulated' } }, world);
    expect(actions(strict.report)).toEqual(['provider_error: escalate']);
  });
  test('the model of the breaker takes over after the retries, and never in the regulated tier', async () => {
    const models = { main: { provider: 'openai', model: 'a' }, spare: { provider: 'openai', model: 'b' } };
    const agents = ['planner', 'worker', 'editor', 'critic', 'writer'].map((id) => ({ id, model: 'main' }));
    const protections = { breaker: { fallback: { model: 'spare' } } };
    const down = { error: 'transient', message: '503' } as const;
    const document = (tier: string) => ({ models, agents, protections, staged: { ...SUPERVISOR, tier } });
    const { report } = await play(document('interactive'), script({ worker: [down, down, down, 'A is 1.'] }));
    expect(report.code).toBe('SUCCESS');
    expect(actions(report)).toEqual(['provider_error: retry', 'provider_error: retry', 'provider_error: fallback']);
    const swaps = (tier: string) => JSON.stringify(compile(document(tier)).flow).includes('"whileOpen"');
    expect(swaps('batch')).toBe(true);
    expect(swaps('regulated')).toBe(false);
  });
});

test.each([
  ['tool_loop', 'tool_failure'],
  ['deadlock', 'low_confidence'],
  ['cost_overrun', 'budget_reached'],
  ['provider_error', 'provider_outage'],
  ['schema_or_grounding', 'low_confidence'],
  ['unsafe_output', 'security_breach'],
])('the question about %s goes to the row %s of the escalation table', async (failure, row) => {
  const { document = {}, staged = {}, script: world = {} } = ROWS[failure] ?? {};
  const { report } = await play({ ...document, staged: { ...SUPERVISOR, ...staged, tier: 'regulated' } }, world);
  expect(report.waiting).toMatchObject([{ data: { failure, escalation: { row } } }]);
});

test('no_progress: more replans than the table allows, and the same round three times', async () => {
  const { report } = await play(
    { staged: { ...SUPERVISOR, replans: 6 } },
    script({ worker: ['A is 1.'], critic: [NO] }),
  );
  expect(actions(report)).toEqual([
    'schema_or_grounding: replan',
    'schema_or_grounding: replan',
    'no_progress: replan',
    'no_progress: escalate',
  ]);
});

test('interactive: each worker tries once more, and the stage does not repeat them all after that', async () => {
  const workers = { agent: 'worker', output: { type: 'object', required: ['grams'] } };
  const { report } = await play({ staged: { ...SUPERVISOR, workers, tier: 'interactive' } }, { agents: GOOD });
  expect(actions(report)).toEqual([
    'schema_or_grounding: retry',
    'schema_or_grounding: retry',
    'schema_or_grounding: surface',
  ]);
  expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', usage: { modelCalls: 9 } });
});
