/**
 * Random supervisors through the engine and through a direct reading of the decision table. Both must agree on the path, the
 * decisions and the end of every run. SEED repeats a failure.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GOOD, NO, SUPERVISOR, YES, actions, play } from './drive.ts';

type Tier = 'interactive' | 'batch' | 'regulated';
interface World {
  readonly tier: Tier;
  readonly replans: number;
  /** One per plan: the outcomes of its tasks, or null for a malformed plan. */
  readonly plans: readonly (readonly ('ok' | 'lost')[] | null)[];
  /** One per validation. */
  readonly verdicts: readonly boolean[];
}
interface Ended {
  readonly state: string;
  readonly code: string | null;
  readonly path: readonly string[];
  readonly decisions: readonly string[];
}

const worlds: fc.Arbitrary<World> = fc.record({
  tier: fc.constantFrom<Tier[]>('interactive', 'batch', 'regulated'),
  replans: fc.integer({ min: 0, max: 2 }),
  plans: fc.array(
    fc.oneof(
      { weight: 1, arbitrary: fc.constant(null) },
      {
        weight: 3,
        arbitrary: fc.array(fc.constantFrom<('ok' | 'lost')[]>('ok', 'ok', 'lost'), { minLength: 1, maxLength: 3 }),
      },
    ),
    { minLength: 7, maxLength: 7 },
  ),
  verdicts: fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }),
});

/** The specification's diagram and table, read without the engine. */
function reading({ tier, replans, plans, verdicts }: World): Ended {
  const path: string[] = [];
  const decisions: string[] = [];
  const used = { plan: 0, validate: 0 };
  let [planned, judged, retried] = [0, 0, false];
  const end = (state: string, code: string | null): Ended => ({ state, code, path, decisions });
  /** True if the run goes back to the plan. */
  const replan = (stage: 'plan' | 'validate', failure: string): boolean => {
    if (tier !== 'batch' || used[stage] >= replans) return false;
    used[stage] += 1;
    decisions.push(`${failure}: replan`);
    return true;
  };
  for (;;) {
    path.push('plan');
    const tasks = plans[planned++] ?? null;
    if (tasks === null) {
      if (replan('plan', 'malformed_plan')) continue;
      decisions.push('malformed_plan: abort');
      return end('failed', 'VALIDATION_FAIL');
    }
    tasks.forEach((_, index) => path.push(`workers/t${index}`));
    const isPartial = tasks.includes('lost');
    if (isPartial && (tier === 'regulated' || !tasks.includes('ok'))) {
      decisions.push(`provider_error: ${tier === 'regulated' ? 'escalate' : 'abort'}`);
      return tier === 'regulated' ? end('suspended', 'REVIEW_REQUIRED') : end('failed', 'UNAVAILABLE_DEP');
    }
    for (;;) {
      path.push('aggregate', 'validate');
      if (verdicts[judged++] === true) {
        path.push('finalize');
        return end('completed', isPartial ? 'PARTIAL_SUCCESS' : 'SUCCESS');
      }
      if (tier !== 'interactive' || retried) break;
      retried = true;
      decisions.push('schema_or_grounding: retry');
    }
    if (replan('validate', 'schema_or_grounding')) continue;
    if (tier === 'regulated') {
      decisions.push('schema_or_grounding: block', 'schema_or_grounding: escalate');
      return end('suspended', 'REVIEW_REQUIRED');
    }
    decisions.push(`schema_or_grounding: ${tier === 'batch' ? 'abort' : 'surface'}`);
    return end('failed', 'VALIDATION_FAIL');
  }
}

async function engine({ tier, replans, plans, verdicts }: World): Promise<Ended> {
  const planner = plans.map((tasks) =>
    tasks === null
      ? 'I would look around first.'
      : JSON.stringify({ tasks: tasks.map((_, index) => ({ id: `t${index}`, brief: `Do ${index}.` })) }),
  );
  const gone = { error: 'fatal' as const, message: 'gone' };
  const worker = plans.flatMap((tasks) => (tasks ?? []).map((outcome) => (outcome === 'ok' ? 'Fine.' : gone)));
  const { report } = await play(
    { staged: { ...SUPERVISOR, tier, replans, workers: { agent: 'worker', max: 1 } } },
    { agents: { ...GOOD, planner, worker, critic: verdicts.map((yes) => (yes ? YES : NO)) } },
  );
  return { state: report.state, code: report.code, path: report.path, decisions: actions(report) };
}

const seed = Number(process.env['SEED'] ?? 17);
const numRuns = Number(process.env['SLUICE_RUNS'] ?? 60);

test(`the engine agrees with the table, seed ${seed}`, async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const ended = await engine(world);
      expect(ended).toEqual(reading(world));
      seen.add(`${ended.state} ${ended.code}`);
    }),
    { seed, numRuns },
  );
  // A generator that always ends alike would agree trivially.
  expect(seen.size).toBeGreaterThanOrEqual(5);
}, 120_000);
