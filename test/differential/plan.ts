/**
 * Random small programs, as fast-check arbitraries: what a flow could have been lowered from. `lower.ts` turns one into a
 * graph. Expressions are drawn so that some of them cannot be evaluated, because those ways out need testing too.
 */
import fc from 'fast-check';
import type { FailureClass } from '@sluice-internal/kernel/ir';
import type { GatherMode } from '../../packages/kernel/src/ir/nodes.ts';

interface LetPlan {
  readonly is: 'let';
  readonly writes: readonly {
    readonly slot: string;
    readonly mode: 'set' | 'append';
    readonly value: string | { readonly [field: string]: string };
    readonly path?: readonly string[];
  }[];
}
export interface CallPlan {
  readonly is: 'call';
  readonly kind: 'model' | 'tool' | 'check' | 'ask' | 'wait';
  readonly name: 'p' | 'q';
  readonly input: string;
  readonly into: string;
  readonly mode: 'set' | 'append' | 'reply';
  readonly value: string;
  readonly accept: string | null;
  readonly schema: boolean;
  readonly takes: boolean;
  readonly onBudget: boolean;
  readonly grants: { readonly meter: MeterName; readonly by: string } | null;
  readonly retries: number;
  readonly retryOn: readonly FailureClass[];
  readonly retryWhen: string | null;
  readonly backoff: boolean;
  readonly timed: boolean;
  readonly undo: boolean;
  readonly meters: readonly MeterName[];
  readonly reserve: number;
  readonly least: number;
  readonly onFail: 'fail' | 'go on' | 'some';
  /** Of a tool call. */
  readonly controls: readonly ControlPlan[];
}
export interface ControlPlan {
  readonly how: 'expr' | 'check' | 'ask' | 'meter';
  readonly when: string;
  readonly onRefuse: 'tell' | 'ask' | 'fail';
  readonly instead: string | null;
  readonly asks: boolean;
  readonly volatile: boolean;
  readonly waits: number;
}
export interface ForkPlan {
  readonly is: 'fork';
  readonly over:
    | { readonly heads: readonly { readonly when: string | null; readonly body: Block; readonly fails: boolean }[] }
    | { readonly each: string; readonly body: Block };
  readonly width: number;
  readonly need: 'all' | number;
  readonly eager: boolean;
  readonly timed: boolean;
  readonly output: string;
  readonly gather: readonly { readonly slot: string; readonly mode: GatherMode }[];
  readonly rescued: boolean;
}
export type Stmt =
  | LetPlan
  | CallPlan
  | ForkPlan
  | { readonly is: 'if'; readonly when: string; readonly yes: Block; readonly no: Block }
  | { readonly is: 'loop'; readonly times: number; readonly cap: number; readonly stops: boolean; readonly body: Block }
  | { readonly is: 'stop'; readonly state: 'completed' | 'failed'; readonly output: string };
export type Block = readonly Stmt[];
export const METERS = [
  'modelCalls',
  'toolCalls',
  'outputTokens',
  'costMicros',
  'sideEffects',
  'retries',
  'repeats',
  'steps',
] as const;
type MeterName = (typeof METERS)[number];
export interface Plan {
  readonly body: Block;
  readonly ends: 'completed' | 'failed';
  readonly caps: { readonly [name in MeterName]: number | null };
  readonly input: { readonly n: number; readonly list: readonly number[]; readonly o: { readonly k: number } };
  readonly world: number;
  /** Sequential forks run one branch at a time. Concurrent ones wait for all; early ones may join before all have ended. */
  readonly forks: 'sequential' | 'concurrent' | 'early';
}

const GATHERS: readonly GatherMode[] = ['first', 'last', 'any', 'merge', 'concat'];
const SLOTS = ['a', 'b', 'c'];
const slot = fc.constantFrom(...SLOTS);
const expr = fc.constantFrom(
  '1',
  '2',
  '"t"',
  'a',
  'b',
  'c.k',
  'input.n',
  'a + 1',
  'size(input.list)',
  'input.n',
  'b',
  '{"k": a}',
  '[a, 1]',
  'b == c',
  'input.o',
  'item',
  'error.code',
  'null',
  'true',
);
const guard = fc.constantFrom(
  'true',
  'false',
  'a == 1',
  'a == 2',
  'b == "t"',
  'c.k == 1',
  'size(c) > 1',
  'a + 1 > 2',
  'input.n < 2',
  'has(c.k)',
  'error.class == "transient"',
  'item == 2',
);
const observed = fc.constantFrom('it', 'it.v', 'it.text', 'it.choice', 'it.data', 'it.v + 1', '{"k": it.v, "was": a}');
const grant = fc.constantFrom('1', '3', 'it.v', 'it.v + 1', '0 - 1', '"many"');
const list = fc.constantFrom('input.list', 'input.list', '[1, 2]', '[1, 2, 3]', '[]', '["x", 1, null]', 'b');
const classes = fc.subarray<FailureClass>(['transient', 'rate_limit', 'timeout', 'semantic', 'fatal']);
const meters = fc.subarray([...METERS], { maxLength: 4 });

const letPlan: fc.Arbitrary<Stmt> = fc.record({
  is: fc.constant('let' as const),
  writes: fc.array(
    fc.record(
      {
        slot,
        mode: fc.constantFrom('set', 'set', 'append'),
        value: fc.oneof(
          { weight: 4, arbitrary: expr },
          fc.record({ k: expr, v: fc.constantFrom('a', 'input.n', 'it') }),
        ),
        path: fc.constantFrom(['k'], ['k', 'm']),
      },
      { requiredKeys: ['slot', 'mode', 'value'] },
    ),
    { minLength: 1, maxLength: 3 },
  ),
});
const accept: fc.Arbitrary<string | null> = fc.option(
  fc.constantFrom('true', 'it.v == 1', 'it.v < 2', 'it.v + a > 0'),
  {
    freq: 3,
  },
);
const controlPlan: fc.Arbitrary<ControlPlan> = fc.record({
  how: fc.constantFrom('expr', 'check', 'check', 'ask', 'ask', 'meter'),
  when: fc.oneof(
    { weight: 1, arbitrary: guard },
    { weight: 2, arbitrary: fc.constantFrom('true', 'false', '_walk.approved') },
  ),
  onRefuse: fc.constantFrom('tell', 'ask', 'fail'),
  instead: fc.option(guard, { freq: 3 }),
  asks: fc.boolean(),
  volatile: fc.boolean(),
  waits: fc.constantFrom(0, 2),
});
const callPlan: fc.Arbitrary<Stmt> = fc.record({
  is: fc.constant('call' as const),
  kind: fc.constantFrom('model', 'model', 'tool', 'tool', 'tool', 'check', 'ask', 'wait'),
  name: fc.constantFrom('p', 'q', 'q'),
  input: expr,
  into: slot,
  mode: fc.constantFrom('set', 'append', 'reply'),
  value: observed,
  accept,
  schema: fc.constantFrom(false, false, false, true),
  takes: fc.constantFrom(false, false, false, false, false, false, true),
  onBudget: fc.constantFrom(true, true, true, false),
  grants: fc.option(fc.record({ meter: fc.constantFrom(...METERS), by: grant }), { freq: 4, nil: null }),
  retries: fc.nat(2),
  retryOn: classes,
  retryWhen: fc.constantFrom(null, null, 'error.class == "transient"', 're(error.type, "^W")'),
  backoff: fc.boolean(),
  timed: fc.boolean(),
  undo: fc.constantFrom(false, false, true),
  meters,
  reserve: fc.nat(3),
  least: fc.constantFrom(0, 0, 0, 0, 1, 2),
  onFail: fc.constantFrom('fail', 'go on', 'go on', 'go on', 'go on', 'some'),
  controls: fc.oneof(fc.constant([]), fc.array(controlPlan, { maxLength: 4, size: 'max' })),
});
const stop: fc.Arbitrary<Stmt> = fc.record({
  is: fc.constant('stop' as const),
  state: fc.constantFrom('completed', 'failed'),
  output: expr,
});

function block(depth: number): fc.Arbitrary<Block> {
  return fc.array(statement(depth), { minLength: depth === 0 ? 0 : 1, maxLength: 4, size: 'max' });
}

function statement(depth: number): fc.Arbitrary<Stmt> {
  const simple = [
    { weight: 6, arbitrary: letPlan },
    { weight: 10, arbitrary: callPlan },
  ];
  if (depth === 0) return fc.oneof(...simple, { weight: 1, arbitrary: stop });
  const inner = block(depth - 1);
  const branchy: fc.Arbitrary<Stmt> = fc.record({ is: fc.constant('if' as const), when: guard, yes: inner, no: inner });
  const loop: fc.Arbitrary<Stmt> = fc.record({
    is: fc.constant('loop' as const),
    times: fc.nat(3),
    cap: fc.integer({ min: 1, max: 4 }),
    stops: fc.boolean(),
    body: inner,
  });
  return fc.oneof(
    ...simple,
    { weight: 4, arbitrary: branchy },
    { weight: 4, arbitrary: loop },
    { weight: 6, arbitrary: fork(inner) },
  );
}

function fork(inner: fc.Arbitrary<Block>): fc.Arbitrary<Stmt> {
  const heads = fc.array(
    fc.record({ when: fc.option(guard, { freq: 2 }), body: inner, fails: fc.constantFrom(false, false, false, true) }),
    { minLength: 1, maxLength: 3 },
  );
  return fc.record({
    is: fc.constant('fork' as const),
    over: fc.oneof(fc.record({ heads }), fc.record({ each: list, body: inner })),
    width: fc.nat(2),
    need: fc.constantFrom<('all' | number)[]>('all', 'all', 1, 2),
    eager: fc.boolean(),
    timed: fc.boolean(),
    output: expr,
    gather: fc.uniqueArray(fc.record({ slot, mode: fc.constantFrom<GatherMode[]>(...GATHERS) }), {
      maxLength: 2,
      selector: (each) => each.slot,
    }),
    rescued: fc.constantFrom(true, true, false),
  });
}

const cap = fc.option(fc.nat(6), { freq: 3 });

export const plans: fc.Arbitrary<Plan> = fc.record({
  body: fc.array(statement(2), { minLength: 1, maxLength: 5, size: 'max' }),
  ends: fc.constantFrom('completed', 'completed', 'failed'),
  caps: fc.record({
    modelCalls: cap,
    toolCalls: cap,
    outputTokens: cap,
    costMicros: fc.option(fc.integer({ min: 0, max: 300 })),
    sideEffects: cap,
    retries: cap,
    repeats: fc.constantFrom(1, 2),
    steps: fc.option(fc.integer({ min: 3, max: 30 })),
  }),
  input: fc.record({ n: fc.nat(3), list: fc.array(fc.nat(3), { maxLength: 3 }), o: fc.record({ k: fc.nat(2) }) }),
  world: fc.nat(),
  forks: fc.constantFrom('sequential', 'concurrent', 'early'),
});
