/** A parallel node: branches run to their own ends, and the join goes on with an object from branch name to output. */
import type { Expr, ForkNode, NodeId, Write } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { POISON, fault, int, isPoisonedList, list, number, oneOf, record } from '@sluice-internal/compile/document';
import { path, quote } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, set, setField } from '@sluice-internal/compile/lower';
import type { Step } from '@sluice-internal/compile/lower';
import { END, SECONDS_MAX, nodeSchema, route, type Flow, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type ErrorWays, type Lowering, type Prepared } from '../node-type.ts';
import { guardedRoutes, type Route } from '../routes.ts';
import { SLOT } from '../slots.ts';
import type * as z from 'zod';

const JOIN_TIMEOUT_SECONDS = 60;

const join = record(() => ({
  type: oneOf(['all', 'any', 'first', 'count'])
    .default('all')
    .describe('The successes that the join needs: all, one (`any`, `first`), or `count` of them.'),
  count: int({ min: 0 }).default(0).describe('With `type: count`: how many branches must succeed.'),
  timeout: number({ above: 0, max: SECONDS_MAX })
    .default(JOIN_TIMEOUT_SECONDS)
    .describe('Seconds until the join fails.'),
}));
const schema = nodeSchema('parallel', () => ({
  branches: list(route, {
    min: 2,
    few: fault(
      'too-few-branches',
      '`branches` must have at least two branches',
      'Add a branch, or lead there with a route.',
    ),
  }).describe('Routes to the first node of each branch. They run at the same time.'),
  join: join.optional().describe('When the branches are done. Default: all must succeed within 60 seconds.'),
}));
type Value = z.output<typeof schema>;

/** The branches. */
type Parts = readonly Route[];

export const parallelNode = nodeType<typeof schema, Parts>({
  type: 'parallel',
  schema,
  shape: 'parallel',
  edges: [{ field: 'branches', kind: 'branch' }],
  poison: { branches: [{ to: POISON }, { to: POISON }] },
  check: checkParallel,
  prepare: (node, { expressions, report }) => guardedRoutes(node, 'branches', node.value.branches, expressions, report),
  lower: lowerParallel,
  output: (slots, id) => path(slots.of(id), 'output'),
  readable: (node, flow) => ({ output: branchesSchema(node, flow) }),
  draw: drawParallel,
  lastAgent: () => null,
});

/** The names of the branches' outputs. Two branches may begin at the same node. */
function branchNames(branches: readonly { readonly to: string }[]): readonly string[] {
  const seen = new Map<string, number>();
  return branches.map(({ to }) => {
    const count = (seen.get(to) ?? 0) + 1;
    seen.set(to, count);
    return count === 1 ? to : `${to}#${count}`;
  });
}

/** From branch name to output; anything if some branches cannot be read. */
function branchesSchema(node: FlowNode<Value>, flow: Flow): Json {
  const { branches } = node.value;
  if (isPoisonedList(node.located('branches'), ['to']) || branches.some(({ to }) => !flow.declared.all.has(to)))
    return true;
  return { type: 'object', properties: Object.fromEntries(branchNames(branches).map((name) => [name, true])) };
}

function drawParallel({ branches, join: policy }: Value) {
  const { type = 'all', count = 0, timeout = JOIN_TIMEOUT_SECONDS } = policy ?? {};
  const waits = type === 'count' ? `${count} of ${branches.length}` : type === 'all' ? 'all' : 'first success';
  return { detail: `${branches.length} branches`, join: `${waits}, ${timeout} s` };
}

function checkParallel(node: FlowNode<Value>, { report }: Checking): void {
  const { branches, join: policy } = node.value;
  for (const [index, { to }] of branches.entries()) {
    if (to === END)
      report.error(
        'branch-to-end',
        node.at('branches', index, 'to'),
        `a branch of flow node '${node.id}' leads straight to \`end\``,
        { help: 'Lead it to a node, or remove it.' },
      );
  }
  if (policy === undefined) return;
  const { type, count } = policy;
  if (type === 'count' && count < 1 && !node.poisoned('join', 'count')) {
    report.error(
      'count-without-number',
      node.at('join', node.located('join', 'count') === undefined ? 'type' : 'count'),
      `join.type='count' requires join.count >= 1 on flow node '${node.id}'`,
      { help: `Write \`count\`, from 1 to ${branches.length}.` },
    );
  }
  if (type === 'count' && count > branches.length && !node.poisoned('branches')) {
    report.error(
      'count-above-branches',
      node.at('join', 'count'),
      `flow node '${node.id}' waits for ${count} branches, but has only ${branches.length}`,
      { help: `Lower \`count\` to at most ${branches.length}, or add branches.` },
    );
  }
  if (type !== 'count' && count > 0 && !node.poisoned('join', 'type')) {
    report.warning('bad-value', node.at('join', 'count'), `\`count\` has no effect where \`type\` is \`${type}\``, {
      help: 'Write `type: count`, or remove it.',
    });
  }
}

function lowerParallel(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit } = lowering;
  const { parts: branches, node } = prepared;
  const { id, value } = node;
  const names = branchNames(branches);
  const { type = 'all', count = 1, timeout = JOIN_TIMEOUT_SECONDS } = value.join ?? {};
  const need = type === 'all' ? 'all' : type === 'count' ? count : 1;
  const guards = branches.flatMap(({ when }) => when ?? []);
  const heads = branches.map(({ to, when }, index) => ({
    name: names[index] ?? to,
    to: headOf(lowering, prepared, to),
    ...(when === null ? {} : { when }),
  }));
  const fork = (step: Step, next: NodeId, ways: ErrorWays): NodeId =>
    kit.fork(step, {
      over: { heads },
      need,
      eager: type === 'count',
      timeoutMs: Math.ceil(timeout * 1000),
      into: SLOT.join,
      gather: gathered(lowering, id),
      next: afterJoin(lowering, prepared, names, need === 'all' && guards.length === 0, next),
      ...ways,
    });
  if (value.timeout !== undefined || value.retry !== undefined) {
    const ways = { failed: [], fail: kit.failedEnd() };
    lowering.attempts(prepared, {
      gather: gathered(lowering, id),
      body: (done) => fork(lowering.part(prepared, 'fork'), done, ways),
    });
  } else fork(lowering.entered(prepared), lowering.routes(prepared), lowering.errors(prepared));
}

function headOf(lowering: Lowering, prepared: Prepared<Value, Parts>, to: string): NodeId {
  const fresh = lowering.fresh(to);
  const head = lowering.idOf(to);
  return fresh.length === 0 ? head : lowering.kit.set(lowering.part(prepared, 'start'), fresh, head);
}

/** Slots that later nodes read come back from the branches: of a node that ran in several, the first branch's. */
function gathered({ kit, graph, flow, slots, expressions, capped, agent }: Lowering, id: string): ForkNode['gather'] {
  const { uses } = expressions;
  const members = [...(graph.inBranches.get(id) ?? [])].flatMap((member) => flow.nodes.get(member) ?? []);
  const read = members.map((member) => slots.of(member.id)).filter((slot) => uses.slots.has(slot));
  const asks = members.some(({ facts }) => facts.choices !== undefined);
  const calls = members.some(({ value, facts }) => facts.tool?.(value) !== undefined);
  const { agents } = kit.builder.definitions;
  const acts = members.some(
    ({ value, facts }) => (agents[agent(facts.lastAgent?.(value) ?? '')]?.tools.length ?? 0) > 0,
  );
  return [
    ...read.map((slot) => ({ slot, mode: 'first' as const })),
    // Observations of a branch count for every later agent.
    ...(acts ? [{ slot: OBSERVATIONS, mode: 'concat' as const }] : []),
    ...(calls ? [{ slot: SLOT.unknown, mode: 'concat' as const }] : []),
    ...(asks ? [{ slot: 'approvals', mode: 'merge' as const }] : []),
    ...(uses.bare ? [{ slot: SLOT.agent, mode: 'last' as const }] : []),
    { slot: SLOT.partial, mode: 'any' },
    ...(capped ? [{ slot: SLOT.capped, mode: 'any' as const }] : []),
  ];
}

/** If every branch is certain to have ended, one node writes all outputs by position; otherwise each branch is tested. */
function afterJoin(
  lowering: Lowering,
  prepared: Prepared<Value, Parts>,
  names: readonly string[],
  all: boolean,
  next: NodeId,
): NodeId {
  const { kit, slots } = lowering;
  const part = (hint: string) => lowering.part(prepared, hint);
  const slot = slots.of(prepared.node.id);
  const output = (name: string, value: Expr): Write => setField(slot, ['output', name], value);
  const finish = lowering.out(path(slot, 'output'), 'set');
  const done = finish.length === 0 ? next : kit.set(part('joined'), finish, next);
  if (all) {
    const writes = names.map((name, index) => output(name, `${SLOT.join}["${index}"].output`));
    return kit.set(part('outputs'), writes, done);
  }
  let test = done;
  for (const name of names.toReversed()) {
    const branch = `${SLOT.join}.filter(b, b.name == ${quote(name)})[0]`;
    const take = kit.set(part('output'), [output(name, `${branch}.output`)], test);
    test = kit.pick(part('branch'), [{ when: `${branch}.state == "completed"`, to: take }], test);
  }
  const lost = `${SLOT.partial} == true || ${SLOT.join}.exists(b, b.state == "failed")`;
  return kit.set(part('lost'), [setField(slot, ['output'], '{}'), set(SLOT.partial, lost)], test);
}
