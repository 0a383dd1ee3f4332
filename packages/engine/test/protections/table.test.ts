/** The failure decision table: each of the 24 cells as a run that fails again and again. §flow/failure-decision-table */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DECISION_TABLE, MAST } from '../../../kernel/src/catalog/failures.ts';
import { cellOf, mastOf } from '@sluice-internal/kernel/catalog';
import { definitionsOf } from '@sluice-internal/compile/document';
import { addRecoveries, createBuilder, createKit, recoveryStart } from '@sluice-internal/compile/lower';
import { seal } from '@sluice-internal/compile/prove';
import { FAILURE_CLASSES, FAILURE_KINDS, TIERS, recoveryClassOf } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, FailureClass, FailureKind, TerminalCode, Tier } from '@sluice-internal/kernel/ir';
import { createEngine, openMemory } from '@sluice-internal/library';

/** An error of each kind as a stage leaves it, and the printed cells as actions in order. The stage fails at every try. */
const ROWS: {
  readonly [kind in FailureKind]: readonly [FailureClass, string, TerminalCode, readonly [string, string, string]];
} = {
  tool_loop: ['semantic', 'LoopError', 'REPEATED_FAILURE', ['abort', 'abort', 'escalate']],
  deadlock: ['semantic', 'DeadlockError', 'REPEATED_FAILURE', ['abort', 'abort', 'escalate']],
  cost_overrun: ['budget', 'BudgetError', 'BUDGET_EXHAUSTED', ['abort', 'abort', 'escalate']],
  provider_error: [
    'transient',
    'TransientError',
    'UNAVAILABLE_DEP',
    ['retry retry fallback abort', 'retry retry abort', 'escalate'],
  ],
  schema_or_grounding: [
    'semantic',
    'SchemaError',
    'VALIDATION_FAIL',
    ['retry surface', 'replan replan abort', 'block escalate'],
  ],
  malformed_plan: ['semantic', 'PlanError', 'VALIDATION_FAIL', ['abort', 'replan replan abort', 'abort']],
  no_progress: ['semantic', 'NoProgressError', 'REPEATED_FAILURE', ['abort', 'replan escalate', 'escalate']],
  unsafe_output: ['guardrail', 'GuardError', 'UNSAFE_DETECTION', ['block fallback', 'block abort', 'block escalate']],
};

/** A flow with one stage that always fails in the same way. */
function failingFlow(kind: FailureKind, tier: Tier, replans = 2): CompiledFlow {
  const builder = createBuilder('flow', definitionsOf({ tools: {}, mcp: {} }));
  const kit = createKit(builder);
  const [failure, type, code] = ROWS[kind];
  const stage = builder.fresh('stage');
  const asked = kit.ask(
    { hint: 'ask', origin: 'stage' },
    {
      about: 'escalation',
      askedBy: 'stage',
      choices: ['reject'],
      onExpiry: 'reject',
      code: 'REVIEW_REQUIRED',
      message: 'error.message',
      next: kit.failedEnd(),
    },
  );
  const safe = kit.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: '"safe"' });
  const failed = addRecoveries(kit, {
    stage: 'work',
    tier,
    replans,
    step: (what) => ({ hint: `work.${what}`, origin: 'work' }),
    ways: { retry: stage, replan: stage, fallback: stage, safe, escalate: asked, abort: kit.failedEnd() },
  });
  kit.fail({ id: stage, origin: 'work' }, { class: failure, type, code, message: '"it failed"' }, failed);
  const entry = kit.set({ hint: 'start', origin: 'work' }, [recoveryStart], stage);
  const { body } = builder.build({ id: 'table', entry, ...(tier === 'batch' ? {} : { tier }) });
  return seal(body, (text) => createHash('sha256').update(text).digest('hex'));
}

/** How a run ends by the last action; by its own code unless listed. */
const ENDS: { readonly [action: string]: object } = {
  escalate: { state: 'suspended', code: 'REVIEW_REQUIRED' },
  fallback: { state: 'completed', output: 'safe' },
};

async function run(flow: CompiledFlow) {
  const engine = createEngine({ journal: openMemory(), script: {} });
  const report = await engine.settled(await engine.start(flow));
  await engine.close();
  return report;
}

const MODES: { readonly [kind in FailureKind]: string | null } = {
  tool_loop: 'FM-1.3',
  deadlock: 'FM-2.5',
  cost_overrun: 'FM-1.5',
  provider_error: null,
  schema_or_grounding: 'FM-3.2',
  malformed_plan: 'FM-1.1',
  no_progress: 'FM-1.3',
  unsafe_output: 'FM-1.2',
};

describe.each(FAILURE_KINDS)('%s', (kind) => {
  test.each(TIERS)('%s', async (tier) => {
    const report = await run(failingFlow(kind, tier));
    const expected = ROWS[kind][3][TIERS.indexOf(tier)] as string;
    // A table without a way for `surface` aborts.
    expect(report.decisions.map(({ action }) => action).join(' ')).toBe(expected.replace('surface', 'abort'));
    for (const decision of report.decisions) expect(decision).toMatchObject({ failure: kind, tier, mast: MODES[kind] });
    const last = report.decisions.at(-1)?.action;
    expect(report).toMatchObject(ENDS[last ?? ''] ?? { state: 'failed', code: ROWS[kind][2] });
  });
});

test('the limit of a stage replaces the two replans, and does not raise a cell with fewer', async () => {
  const actions = async (kind: FailureKind, replans: number) =>
    (await run(failingFlow(kind, 'batch', replans))).decisions.map(({ action }) => action).join(' ');
  expect(await actions('malformed_plan', 1)).toBe('replan abort');
  expect(await actions('malformed_plan', 0)).toBe('abort');
  expect(await actions('no_progress', 3)).toBe('replan escalate');
});

test('a document may change a cell', () => {
  expect(cellOf('provider_error', 'interactive', { retries: 0, last: 'escalate' })).toMatchObject({
    tries: [{ action: 'fallback', max: 1 }],
    last: 'escalate',
  });
  expect(cellOf('no_progress', 'regulated', { replans: 1 }).tries).toEqual([{ action: 'replan', max: 1 }]);
});

test('every failure class is one of the four of the diagram', () => {
  expect(FAILURE_CLASSES.map((each) => [each, recoveryClassOf(each)])).toEqual([
    ['transient', 'transient'],
    ['rate_limit', 'transient'],
    ['fatal', 'transient'],
    ['timeout', 'transient'],
    ['refused', 'policy'],
    ['semantic', 'semantic'],
    ['policy', 'policy'],
    ['guardrail', 'policy'],
    ['budget', 'budget'],
  ]);
});

test('the 14 failure modes of MAST, each with a cause of its own', () => {
  expect(Object.keys(MAST)).toHaveLength(14);
  for (const [id, causes] of Object.entries(MAST))
    for (const cause of causes) expect(mastOf('tool_loop', cause)).toBe(id);
  expect(mastOf('deadlock')).toBe('FM-2.5');
});

test('the page prints the table', () => {
  const page = readFileSync(new URL('../../../../docs/guide/failures.md', import.meta.url), 'utf8');
  for (const kind of FAILURE_KINDS) {
    const cells = TIERS.map((tier) => {
      const { blocks, tries, last, notice } = DECISION_TABLE[kind][tier];
      const told = notice === undefined ? [] : [notice === 'alert' ? 'with an alert' : 'with a ticket'];
      const tried = tries.map(({ action, max }) => `${action} ${max}`);
      return [...(blocks ? ['block'] : []), ...tried, last, ...told].join(', ');
    });
    expect(page).toContain(`| \`${kind}\` | ${cells.join(' | ')} |`);
  }
});
