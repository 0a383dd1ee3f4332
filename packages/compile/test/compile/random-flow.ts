/** Random small graphs, and every way in which a run can go through one: what the certificate is checked against. */
import fc from 'fast-check';
import type { FlowBody, Meter, Node, NodeId } from '@sluice-internal/kernel/ir';

interface Plan {
  readonly op: 'do' | 'pick' | 'fork';
  readonly targets: readonly number[];
  readonly tokens: number;
  readonly need: 'all' | number;
  readonly guarded: boolean;
}

/** With a cap, edges may lead anywhere; without one, only forward. The last three nodes are ends: good, failed, capped. */
export function randomFlow(): fc.Arbitrary<FlowBody> {
  const plan = fc.record({
    op: fc.constantFrom<Plan['op'][]>('do', 'do', 'pick', 'fork'),
    targets: fc.array(fc.nat(7), { minLength: 3, maxLength: 3 }),
    tokens: fc.integer({ min: 1, max: 9 }),
    need: fc.constantFrom<Plan['need'][]>('all', 1, 2),
    guarded: fc.boolean(),
  });
  return fc
    .record({ plans: fc.array(plan, { minLength: 1, maxLength: 4 }), cap: fc.option(fc.integer({ min: 1, max: 4 })) })
    .map(({ plans, cap }) => bodyOf(plans, cap));
}

function bodyOf(plans: readonly Plan[], cap: number | null): FlowBody {
  const size = plans.length;
  const name = (index: number): NodeId => (index < size ? `n${index}` : (ENDS[(index - size) % 2] as NodeId));
  const nodes: { [id: NodeId]: Node } = {
    good: { op: 'end', label: { name: 'good' }, state: 'completed', code: 'SUCCESS', output: 'null' },
    bad: { op: 'end', label: { name: 'bad' }, state: 'failed', code: 'error', output: 'null' },
    capped: { op: 'end', label: { name: 'capped' }, state: 'completed', code: 'BUDGET_EXHAUSTED', output: 'null' },
  };
  const agents: { [id: string]: FlowBody['agents'][string] } = {};
  for (const [index, plan] of plans.entries()) {
    const to = plan.targets.map((target) =>
      name(cap === null ? index + 1 + (target % (size + 2 - index)) : target % (size + 2)),
    );
    const id = `n${index}`;
    agents[id] = {
      id,
      name: id,
      model: null,
      instructions: '',
      tools: [],
      output: null,
      maxOutputTokens: plan.tokens,
      temperature: null,
    };
    nodes[id] = nodeOf(id, plan, to as [NodeId, NodeId, NodeId], cap === null ? ['steps'] : ['max', 'steps']);
  }
  const meters: { [id: string]: Meter } = { steps: { unit: 'steps', max: null, over: 'bad', label: 'steps' } };
  if (cap !== null) meters['max'] = { unit: 'visits', max: cap, over: 'capped', label: 'max' };
  return {
    ir: 1,
    id: 'random',
    notation: 'test',
    entry: 'n0',
    fail: 'bad',
    nodes,
    meters,
    agents,
    tools: {},
    models: {},
    least: {},
  };
}

const ENDS = ['good', 'bad'] as const;

function nodeOf(
  id: string,
  { op, tokens, need, guarded }: Plan,
  [a, b, c]: [NodeId, NodeId, NodeId],
  charges: readonly string[],
): Node {
  const base = { label: { name: id, enters: id }, charges };
  if (op === 'pick') return { op, ...base, cases: [{ when: 'x', to: a }], otherwise: b };
  if (op === 'do') {
    const effect = { kind: 'model', agent: id, input: {}, reserve: { modelCalls: 1, outputTokens: tokens } } as const;
    return {
      op,
      ...base,
      effect,
      writes: [],
      timeoutMs: null,
      retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
      next: a,
      failed: [],
      fail: b,
    };
  }
  const heads = [
    { name: 'a', to: a, ...(guarded ? { when: 'x' } : {}) },
    { name: 'b', to: b },
  ];
  return {
    op,
    ...base,
    over: { heads },
    widthMax: 0,
    need,
    eager: false,
    timeoutMs: null,
    into: 'j',
    gather: [],
    next: c,
    failed: [],
    fail: 'bad',
  };
}

export interface Outcome {
  readonly steps: number;
  readonly calls: number;
  readonly tokens: number;
  /** The largest single reservation of tokens. */
  readonly peak: number;
  readonly end: 'good' | 'bad' | 'capped';
  /** Visits left under the cap. */
  readonly left: number;
  /** Whether the cap turned a branch away, after which nothing that follows counts as a good end. */
  readonly cut: boolean;
}

const NONE = { steps: 0, calls: 0, tokens: 0, peak: 0 };
export const TOO_MANY = 60_000;

/** Every outcome of a thread that begins at a node. Branches run one after the other, which is one of the orders there are. */
export function outcomesFrom(body: FlowBody, id: NodeId, left: number, budget: { spent: number }): readonly Outcome[] {
  budget.spent += 1;
  if (budget.spent > TOO_MANY) return [];
  const node = body.nodes[id] as Node;
  if (node.op === 'end') return [{ ...NONE, end: id as Outcome['end'], left, cut: id === 'capped' }];
  const capped = body.meters['max'] !== undefined;
  if (capped && left === 0) return outcomesFrom(body, 'capped', 0, budget);
  const rest = capped ? left - 1 : left;
  const after = (to: NodeId): readonly Outcome[] => outcomesFrom(body, to, rest, budget);
  if (node.op === 'pick')
    return [...node.cases.map(({ to }) => to), node.otherwise].flatMap(after).map((each) => plus(each, STEP));
  if (node.op === 'do') {
    const tokens = node.effect.reserve.outputTokens ?? 0;
    return [node.next, node.fail].flatMap(after).map((each) => plus(each, { ...STEP, calls: 1, tokens, peak: tokens }));
  }
  return node.op === 'fork' ? forked(body, node, rest, budget).map((each) => plus(each, STEP)) : [];
}

const STEP = { ...NONE, steps: 1 };
type Costs = Omit<Outcome, 'end' | 'left' | 'cut'>;

function plus(outcome: Outcome, more: Costs): Outcome {
  return {
    ...outcome,
    steps: outcome.steps + more.steps,
    calls: outcome.calls + more.calls,
    tokens: outcome.tokens + more.tokens,
    peak: Math.max(outcome.peak, more.peak),
  };
}

/** A branch may be left out where its guard fails, and dropped before it did anything where the join does not need it. */
function forked(
  body: FlowBody,
  node: Extract<Node, { op: 'fork' }>,
  left: number,
  budget: { spent: number },
): readonly Outcome[] {
  const heads = 'heads' in node.over ? node.over.heads : [];
  let states: readonly {
    readonly costs: Costs;
    readonly left: number;
    readonly ok: number;
    readonly total: number;
    readonly dropped: boolean;
    readonly cut: boolean;
  }[] = [{ costs: NONE, left, ok: 0, total: 0, dropped: false, cut: false }];
  for (const { to, when } of heads) {
    states = states.flatMap((state) => {
      const run = outcomesFrom(body, to, state.left, budget).map((each) => ({
        costs: plus(each, state.costs),
        left: each.left,
        ok: state.ok + (each.end === 'bad' ? 0 : 1),
        total: state.total + 1,
        dropped: state.dropped,
        cut: state.cut || each.cut,
      }));
      const skipped = when === undefined ? [] : [state];
      const dropped = node.need === 'all' ? [] : [{ ...state, total: state.total + 1, dropped: true }];
      return [...run, ...skipped, ...dropped];
    });
    budget.spent += states.length;
    if (budget.spent > TOO_MANY) return [];
  }
  return states.flatMap(({ costs, left: rest, ok, total, dropped, cut }) => {
    const met = ok >= (node.need === 'all' ? total : node.need);
    // Who is dropped was not needed, unless the join failed late.
    const to = met ? node.next : node.fail;
    return dropped && !met
      ? []
      : outcomesFrom(body, to, rest, budget).map((each) => ({ ...plus(each, costs), cut: each.cut || cut }));
  });
}
