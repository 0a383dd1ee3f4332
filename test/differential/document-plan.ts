/** Random authored flows, as fast-check arbitraries: blocks of nodes that `documents.ts` turns into a document. */
import fc from 'fast-check';

interface Tried {
  readonly retry: { readonly attempts: number; readonly match: string | null } | null;
  readonly timed: boolean;
  /** Errors that lead on to the next node. */
  readonly rescue: 'none' | 'odd' | 'all';
}
export interface ToolPlan extends Tried {
  readonly is: 'tool';
  /** An agent is asked instead of a tool. */
  readonly agent: boolean;
  /** A route for the result 2: to a `fail` node, or to `end`. */
  readonly guard: 'fail' | 'end' | null;
}
export interface WaitPlan extends Tried {
  readonly is: 'wait';
  readonly kind: 'for' | 'until' | 'signal';
  readonly late: boolean;
}
export interface MapPlan extends Tried {
  readonly is: 'map';
  readonly items: number;
  /** The list stands in the document; otherwise it is a field of the input. */
  readonly written: boolean;
  readonly spare: number;
  readonly policy: 'fail' | 'skip' | 'collect';
  readonly width: number;
  readonly body: Block;
}
export interface ParallelPlan extends Tried {
  readonly is: 'parallel';
  readonly branches: readonly Block[];
  /** The join waits for all branches, for the first success, or for two. */
  readonly join: 'all' | 'any' | 'count';
}
export interface FlowPlan extends Tried {
  readonly is: 'flow';
  readonly budget: number | null;
  readonly body: Block;
}
export interface LoopPlan {
  readonly is: 'loop';
  readonly visits: number;
  readonly over: 'end' | 'next' | 'fail';
  readonly body: Block;
}
export type Stmt = ToolPlan | WaitPlan | { readonly is: 'set' } | MapPlan | ParallelPlan | FlowPlan | LoopPlan;
export type Block = readonly Stmt[];
export interface DocumentPlan {
  readonly body: Block;
  /** Items run one at a time. Branches of a `parallel` never do. */
  readonly sequential: boolean;
  readonly maxIterations: number;
  readonly world: number;
}

const tried = {
  retry: fc.option(fc.record({ attempts: fc.integer({ min: 2, max: 3 }), match: fc.constantFrom(null, null, 'Odd') }), {
    freq: 2,
  }),
  timed: fc.boolean(),
  rescue: fc.constantFrom<Tried['rescue'][]>('none', 'odd', 'all', 'all'),
};
const tool: fc.Arbitrary<Stmt> = fc.record({
  is: fc.constant('tool' as const),
  agent: fc.constantFrom(false, false, true),
  ...tried,
  guard: fc.constantFrom(null, null, 'fail' as const, 'end' as const),
});
const wait: fc.Arbitrary<Stmt> = fc.record({
  is: fc.constant('wait' as const),
  ...tried,
  kind: fc.constantFrom<WaitPlan['kind'][]>('for', 'until', 'signal', 'signal'),
  late: fc.boolean(),
});
const set: fc.Arbitrary<Stmt> = fc.record({ is: fc.constant('set' as const) });

function block(depth: number, loops: boolean, most: number): fc.Arbitrary<Block> {
  return fc.array(statement(depth, loops), { minLength: 1, maxLength: most, size: 'max' });
}

/** A sub-flow has no loops of its own: its caps grow with the calls of it, which the documents leave to the compiler. */
function statement(depth: number, loops: boolean): fc.Arbitrary<Stmt> {
  const simple = [
    { weight: 6, arbitrary: tool },
    { weight: 2, arbitrary: wait },
    { weight: 1, arbitrary: set },
  ];
  if (depth === 0) return fc.oneof(...simple);
  const map: fc.Arbitrary<Stmt> = fc.record({
    is: fc.constant('map' as const),
    ...tried,
    items: fc.nat(3),
    written: fc.boolean(),
    spare: fc.constantFrom(0, 0, 1, -1),
    policy: fc.constantFrom<MapPlan['policy'][]>('fail', 'skip', 'collect'),
    width: fc.integer({ min: 1, max: 3 }),
    body: block(depth - 1, loops, 2),
  });
  const parallel: fc.Arbitrary<Stmt> = fc.record({
    is: fc.constant('parallel' as const),
    ...tried,
    branches: fc.array(block(depth - 1, loops, 2), { minLength: 2, maxLength: 3 }),
    join: fc.constantFrom<ParallelPlan['join'][]>('all', 'all', 'all', 'any', 'count'),
  });
  const flow: fc.Arbitrary<Stmt> = fc.record({
    is: fc.constant('flow' as const),
    ...tried,
    budget: fc.constantFrom(null, null, null, 2, 5),
    body: block(depth - 1, false, 2),
  });
  const loop: fc.Arbitrary<Stmt> = fc.record({
    is: fc.constant('loop' as const),
    visits: fc.integer({ min: 1, max: 3 }),
    over: fc.constantFrom<LoopPlan['over'][]>('end', 'next', 'fail'),
    body: block(depth - 1, loops, 2),
  });
  return fc.oneof(
    ...simple,
    { weight: 4, arbitrary: map },
    { weight: 3, arbitrary: parallel },
    { weight: 4, arbitrary: flow },
    ...(loops ? [{ weight: 3, arbitrary: loop }] : []),
  );
}

export function documentPlans(depth: number, most: number): fc.Arbitrary<DocumentPlan> {
  return fc.record({
    body: block(depth, true, most),
    sequential: fc.constantFrom(true, true, false),
    maxIterations: fc.constantFrom(0, 0, 0, 4, 12),
    world: fc.nat(),
  });
}
