/**
 * Random authored flows with agent, parallel, map, wait, flow, set, fail, retries, timeouts and caps on visits. The compiled flow must run in
 * the engine as the reference interpreter says, and as a small model of the authored nodes says; no run uses more than the
 * certificate allows, and faults change nothing.
 *
 * A failure prints its seed; SEED runs it again, SLUICE_RUNS sets how many flows are tried.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import type { Bounds } from '@sluice-internal/compile/prove';
import { createProgram } from '@sluice-internal/kernel/core';
import { pure } from '@sluice-internal/engine/ports';
import { pathOf } from '../../packages/engine/src/report/entered.ts';
import { differenceBetween, simulate } from '../../packages/testing/src/simulate.ts';
import { compileText } from '../../packages/notations/test/compile/compile-text.ts';
import { expectedOf } from './authored-model.ts';
import type { Expected, Made, Surroundings } from './authored-model.ts';
import { compare, usageOf } from './compare.ts';
import { documentPlans } from './document-plan.ts';
import type { DocumentPlan, MapPlan, ParallelPlan, ToolPlan, WaitPlan } from './document-plan.ts';
import { createDocumentWorld } from './document-world.ts';
import { authoredOf } from './documents.ts';
import type { Authored } from './documents.ts';
import { runBoth } from './engine.ts';
import type { Ran } from './engine.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env['SLUICE_RUNS'] ?? 100);
const timeout = 30_000 + numRuns * 150;
const plans = documentPlans(2, 4);

test(`L2, L3, L5, L6: authored nodes run as they are described, seed ${seed}`, { timeout }, async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { authored, flow, bounds, ran } = await played(plan);
      const used = ran.state.usage as { readonly [dimension: string]: number };
      for (const measure of ['toolCalls', 'modelCalls', 'retries'] as const)
        expect(used[measure] ?? 0).toBeLessThanOrEqual(bounds?.[measure].most ?? Infinity);
      const path = pathOf(createProgram(flow, pure), ran.events);
      expect(path.length).toBeLessThanOrEqual(bounds?.steps.most ?? Infinity);
      if (authored.free) compareWithModel(authored, plan, ran, path);
      for (const kind of kindsIn(authored, ran)) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }),
    { seed, numRuns, examples: [[CAPPED], [BRANCHES_AGAIN]] },
  );
  console.log(`documents: seed ${seed}, ${JSON.stringify(Object.fromEntries(seen))}`);
  for (const kind of KINDS) expect({ kind, found: (seen.get(kind) ?? 0) > 0 }).toEqual({ kind, found: true });
});

test('a branch or an item that ends before it has a value returns null, also in a second attempt', async () => {
  const twice = { attempts: 2, match: null };
  const branches = [[{ is: 'set' } as const], [call('all')], [call('none')]];
  const items = {
    is: 'map',
    items: 2,
    written: true,
    spare: 0,
    width: 1,
    policy: 'fail',
    body: [call('all')],
  } as const;
  const map: MapPlan = { ...items, retry: twice, timed: false, rescue: 'none' };
  for (const part of [parallelOf(branches), parallelOf(branches, twice), map, { ...map, retry: null }])
    for (let world = 0; world < 10; world++) {
      const loop = { is: 'loop', visits: 1, over: 'end', body: [part] } as const;
      const plan: DocumentPlan = { body: [loop], sequential: true, maxIterations: 0, world };
      const { authored, flow, ran } = await played(plan);
      compareWithModel(authored, plan, ran, pathOf(createProgram(flow, pure), ran.events));
    }
});

test.each([
  ['OddError', 'EvenError', true],
  ['EvenError', 'OddError', true],
  ['OddError', 'TimeoutError', true],
  ['TimeoutError', 'OddError', true],
  ['EvenError', 'TimeoutError', false],
])('the pattern `Odd` takes a join whose branches failed with %s and %s: %s', async (first, second, taken) => {
  const branches = [[call('none')], [call('none')]];
  const retried = parallelOf(branches, { attempts: 2, match: 'Odd' });
  const rescued: ParallelPlan = { ...parallelOf(branches), rescue: 'odd' };
  for (const [part, fork] of [
    [retried, '0:0.0:0'],
    [rescued, '0:0'],
  ] as const) {
    const world = worldWhere({ [`${fork}.0#0`]: first, [`${fork}.1#0`]: second });
    const plan: DocumentPlan = { body: [part, call('all')], sequential: true, maxIterations: 0, world };
    const { authored, flow, ran } = await played(plan);
    const path = pathOf(createProgram(flow, pure), ran.events);
    compareWithModel(authored, plan, ran, path);
    expect(ran.events).toContainEqual(expect.objectContaining({ type: 'fork.joined', why: 'short' }));
    expect(part === retried ? path.filter((node) => node === 'n2').length === 2 : path.includes('n1')).toBe(taken);
  }
});

test('a limit of a sub-flow holds as written if only other nodes lie on a cycle', async () => {
  const { authored, flow, ran } = await played(CALLED_ONCE);
  const path = pathOf(createProgram(flow, pure), ran.events);
  compareWithModel(authored, CALLED_ONCE, ran, path);
  expect({ code: ran.state.outcome?.code, calls: ran.performed.length }).toEqual({
    code: 'BUDGET_EXHAUSTED',
    calls: 1,
  });
});

test('an empty map takes no attempts from the nodes after it', async () => {
  const { authored, flow, ran } = await played(AFTER_EMPTY_MAP);
  compareWithModel(authored, AFTER_EMPTY_MAP, ran, pathOf(createProgram(flow, pure), ran.events));
  expect(ran.performed.filter(({ node }) => node === 'n2/n5')).toHaveLength(4);
});

test(`L8: faults change nothing in authored flows, seed ${seed}`, { timeout }, async () => {
  for (const [index, plan] of fc.sample(plans, { seed, numRuns: Math.ceil(numRuns / 4) }).entries()) {
    const { document, input, ordered } = authoredOf(plan);
    const { flow: given } = compiled(document);
    // The faults must not use up the calls after crashes.
    const patient = Object.entries(given.nodes).map(([id, node]) => [
      id,
      node.op === 'do' ? { ...node, recalls: 100 } : node,
    ]);
    const flow = {
      ...given,
      nodes: Object.fromEntries(patient) as CompiledFlow['nodes'],
      hash: `${given.hash}:patient`,
    };
    const { answer } = createDocumentWorld(plan.world);
    const options = { flow, input: input as Json, world: { perform: answer, answer: () => null }, seed: index };
    const quiet = await simulate({ ...options, faults: 'none' });
    const disturbed = await simulate({ ...options, faults: 'harmless' });
    const difference = ordered ? differenceBetween(quiet, disturbed) : null;
    expect({ index, quiet: quiet.violations, violations: disturbed.violations, difference }).toEqual({
      index,
      quiet: [],
      violations: [],
      difference: null,
    });
  }
});

/** Too rare among random documents to be found with every seed. */
const CAPPED: DocumentPlan = { body: [{ is: 'set' }, { is: 'set' }], sequential: true, maxIterations: 1, world: 0 };

/** The second visit of a branch reads the result of the first, because its own call fails. */
const BRANCHES_AGAIN: DocumentPlan = {
  body: [{ is: 'loop', visits: 2, over: 'end', body: [parallelOf([[call('none')], [call('all'), call('none')]])] }],
  sequential: true,
  maxIterations: 0,
  world: 1794262169,
};

function call(rescue: 'none' | 'all'): ToolPlan {
  return { is: 'tool', agent: false, retry: null, timed: false, rescue, guard: null };
}

function waiting(): WaitPlan {
  return { is: 'wait', retry: null, timed: false, rescue: 'none', kind: 'for', late: false };
}

function parallelOf(branches: ParallelPlan['branches'], retry: ParallelPlan['retry'] = null): ParallelPlan {
  return { is: 'parallel', retry, timed: false, rescue: 'none', branches, join: 'all' };
}

/** The first world in which these calls fail with these errors. */
function worldWhere(errors: { readonly [key: string]: string }): number {
  const asked = { attempt: 1, kind: 'tool', name: 't.x', node: '', input: {} } as const;
  for (let world = 0; ; world++) {
    const { answer } = createDocumentWorld(world);
    const isSo = ([key, type]: readonly [string, string]): boolean => {
      const settled = answer({ ...asked, key });
      return settled === null ? type === 'TimeoutError' : !settled.ok && settled.error.type === type;
    };
    if (Object.entries(errors).every(isSo)) return world;
  }
}

/** The sub-flow runs once, because the cycle is elsewhere. Its `max_items` is 1, and it has two items. */
const CALLED_ONCE: DocumentPlan = {
  body: [
    {
      ...{ is: 'flow', retry: null, timed: false, rescue: 'none', budget: null },
      body: [
        {
          ...{ is: 'map', retry: null, timed: false, rescue: 'none', items: 2, written: false, spare: -1 },
          ...{ policy: 'fail', width: 1, body: [call('all')] },
        },
      ],
    },
    { is: 'loop', visits: 1, over: 'end', body: [call('none')] },
  ],
  sequential: true,
  maxIterations: 0,
  world: 0,
};

/** The branch with the map and the sub-flow runs twice, and the sub-flow twice in each. The cycle is in the other branch. */
const AFTER_EMPTY_MAP: DocumentPlan = {
  body: [
    parallelOf(
      [
        [
          {
            ...{ is: 'map', retry: null, timed: false, rescue: 'none', items: 0, written: true, spare: 0 },
            ...{ policy: 'fail', width: 1, body: [{ is: 'set' }] },
          },
          {
            ...{ is: 'flow', retry: { attempts: 2, match: null }, timed: false, rescue: 'none', budget: null },
            body: [call('none'), call('none')],
          },
        ],
        [{ is: 'loop', visits: 1, over: 'end', body: [waiting()] }, waiting()],
      ],
      { attempts: 2, match: null },
    ),
  ],
  sequential: true,
  maxIterations: 0,
  world: 3,
};

const KINDS = [
  'agent',
  'parallel',
  'map',
  'wait',
  'until',
  'flow',
  'set',
  'fail',
  'retry',
  'timeout',
  'exhausted',
  'SUCCESS',
  'PARTIAL_SUCCESS',
  'BUDGET_EXHAUSTED',
];

function compiled(document: object): { readonly flow: CompiledFlow; readonly bounds: Bounds['flow'] | undefined } {
  const { flow, bounds, diagnostics } = compileText(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return { flow: flow as CompiledFlow, bounds: bounds?.flow };
}

/** Runs a document, and compares the run with the reference interpreter. */
async function played(
  plan: DocumentPlan,
): Promise<{ authored: Authored; flow: CompiledFlow; bounds: Bounds['flow'] | undefined; ran: Ran }> {
  const authored = authoredOf(plan);
  const { flow, bounds } = compiled(authored.document);
  const input = authored.input as Json;
  const world = createDocumentWorld(plan.world);
  const { ran, meaning } = await runBoth(flow, input, world, plan.world);
  // The visits and calls of a branch that a timeout dropped count towards caps and budgets, and only the engine knows how many
  // there were.
  if (meaning.dropped.length === 0 || !hasCaps(authored))
    compare(authored.ordered, ran, meaning, usageOf(meaning.asked, world));
  return { authored, flow, bounds, ran };
}

function hasCaps({ document: { flow, flows = {} } }: Authored): boolean {
  const nodes = [flow, ...Object.values(flows)].flatMap((each) => each.nodes);
  return (
    flow.max_iterations !== undefined ||
    nodes.some((node) => node.max_visits !== undefined || 'max_items' in node || 'budget' in node)
  );
}

/** The calls get the results that they had in the run, by node and arguments. */
function compareWithModel(
  { document, input, ordered }: Authored,
  plan: DocumentPlan,
  ran: Ran,
  path: readonly string[],
): void {
  const world = createDocumentWorld(plan.world);
  const made = ran.performed.map((asked): Made & { result: ReturnType<Surroundings['call']> } => {
    const settled = world.answer(asked);
    const value = settled?.ok === true ? numberIn(settled.value) : undefined;
    const failure = settled === null ? 'silent' : settled.ok || settled.error.type === 'OddError' ? 'odd' : 'even';
    const { args, prompt } = asked.input;
    const params = args ?? (JSON.parse(String(prompt)) as Json);
    return { node: asked.node, params, result: value ?? failure };
  });
  const left = [...made];
  const expected = expectedOf(document, input as Json, {
    call: ({ node, params }) => {
      const at = left.findIndex((each) => each.node === node && same(each.params, params));
      if (at < 0) throw new Error(`the run made no such call: ${node} ${JSON.stringify(params)}`);
      return left.splice(at, 1)[0]?.result as number;
    },
    signal: (name) => world.sent('', name),
  });
  const { state, code, output } = ran.state.outcome as Pick<Expected, 'state' | 'code' | 'output'>;
  expect(shown({ state, code, output, path, calls: made }, ordered)).toEqual(shown(expected, ordered));
  expect(left).toEqual([]);
}

/** The result of a tool, or of an agent, whose reply is JSON. */
function numberIn(value: Json): number {
  const { v, text } = value as { readonly v?: number; readonly text?: string };
  return v ?? (JSON.parse(text ?? '') as { readonly v: number }).v;
}

function shown({ state, code, output, path, calls }: Expected, ordered: boolean): object {
  const lines = calls.map(({ node, params }) => `${node} ${JSON.stringify(params)}`);
  return {
    state,
    code,
    ...(state === 'completed' ? { output: withoutMessages(output) } : {}),
    path: ordered ? path : path.toSorted(),
    calls: ordered ? lines : lines.toSorted(),
  };
}

/** The messages of failed items are for people. */
function withoutMessages(output: Json): Json {
  return JSON.parse(JSON.stringify(output, (key, value: Json) => (key === 'message' ? undefined : value))) as Json;
}

function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function kindsIn({ document }: Authored, { events, state }: Ran): readonly string[] {
  const nodes = [document.flow, ...Object.values(document.flows ?? {})].flatMap((flow) => flow.nodes);
  const is = (test: (event: Event) => boolean): boolean => events.some(test);
  return [
    ...new Set(nodes.map(({ type, until }) => (until === undefined ? type : 'until'))),
    ...(is((event) => event.type === 'effect.judged' && event.verdict === 'retry') ? ['retry'] : []),
    ...(is(isTimeout) ? ['timeout'] : []),
    ...(is((event) => event.type === 'meter.tripped') ? ['exhausted'] : []),
    state.outcome?.code ?? '',
  ];
}

function isTimeout(event: Event): boolean {
  if (event.type === 'fork.joined') return event.why === 'late';
  return event.type === 'effect.judged' && event.verdict === 'failed' && event.error.class === 'timeout';
}
