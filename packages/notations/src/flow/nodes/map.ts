/** A map node: runs a path once per item of a list, several at a time, and keeps the results in the order of the items. */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { POISON, int, isPoison, json, name, oneOf } from '@sluice-internal/compile/document';
import { isIdentifier, path, quote } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, set, setField } from '@sluice-internal/compile/lower';
import type { Step } from '@sluice-internal/compile/lower';
import { END, nodeSchema, type FlowNode, type Items } from '../model.ts';
import { nodeType, type Checking, type Lowering, type Prepared } from '../node-type.ts';
import { CONTEXT_NAMES, SLOT, itemSlot } from '../slots.ts';
import type * as z from 'zod';

const WIDTH = 5;
const ITEMS_MAX = 1000;

const schema = nodeSchema('map', () => ({
  over: json().describe('The list: a template that gives one, or the items themselves.'),
  as: name().default('item').describe('The name of the item in the path; its number, from 0, is `<as>_index`.'),
  do: name().describe('The first node of the path that runs once per item.'),
  width: int({ min: 1, max: 1000 }).default(WIDTH).describe('How many items run at once.'),
  max_items: int({ min: 1, max: 100_000 })
    .default(ITEMS_MAX)
    .describe('The most items in one run, with those of further attempts.'),
  on_item_error: oneOf(['fail', 'skip', 'collect'])
    .default('fail')
    .describe('A failed item fails the node, is left out, or is kept as `{ error: { type, message } }`.'),
}));
type Value = z.output<typeof schema>;

/** The list. */
type Parts = Expr;

export const mapNode = nodeType<typeof schema, Parts>({
  type: 'map',
  schema,
  shape: 'parallel',
  edges: [{ field: 'do', kind: 'branch', single: true }],
  poison: { over: [], do: POISON },
  check: checkMap,
  expanded: ({ over }) => over,
  prepare: ({ id, value, located }, { expressions }) => expressions.template(id, located('over'), value.over),
  lower: lowerMap,
  output: (slots, id) => path(slots.of(id), 'results'),
  readable: () => ({ results: { type: 'array' } }),
  draw: ({ as, width, on_item_error: policy }) => ({
    detail: `each ${as}, ${width} at once`,
    join: `all items${policy === 'fail' ? '' : `, ${policy} failed`}`,
  }),
  lastAgent: () => null,
  items,
});

function items({ over, do: head, as, max_items: most }: Value): Items {
  return { head, over, as, most: Array.isArray(over) ? Math.min(over.length, most) : most };
}

function checkMap(node: FlowNode<Value>, { flow, graph, report }: Checking): void {
  const { over, as, do: head } = node.value;
  if (!Array.isArray(over) && !(typeof over === 'string' && over.includes('{{')))
    report.error('wrong-type', node.at('over'), `\`over\` of flow node '${node.id}' is not a list`, {
      help: 'Write a list, or a template that gives one, as `{{plan.output.items}}`.',
    });
  if (!isIdentifier(as) || as.startsWith('_') || CONTEXT_NAMES.has(as) || flow.declared.all.has(as))
    report.error('bad-value', node.at('as'), `\`${as}\` cannot be the name of an item`, {
      help: 'Use letters, digits and underscores. `event`, `approvals`, `error` and names of nodes are taken.',
    });
  if (head === END)
    report.error('branch-to-end', node.at('do'), `\`do\` of flow node '${node.id}' leads straight to \`end\``, {
      help: 'Lead it to a node.',
    });
  if (!isPoison(head) && graph.inBranches.get(node.id)?.has(node.id) === true)
    report.error('map-in-itself', node.at('do'), `the path of flow node '${node.id}' leads back to it`, {
      help: 'End the path of an item with `end`; the routes of the map come after all items.',
    });
}

function lowerMap(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit } = lowering;
  const { node, parts } = prepared;
  const { timeout, retry } = node.value;
  const whole = timeout !== undefined || retry !== undefined;
  const noList = lowering.raise(prepared, {
    type: 'ListError',
    message: `\`over\` of \`${lowering.name(node.id)}\` is not a list`,
  });
  const list = (step: Step, to: NodeId): NodeId => kit.pick(step, [{ when: `type(${parts}) == list`, to }], noList);
  if (!whole) {
    const ways = lowering.failing(prepared, 'errors');
    const fork = addItems(lowering, prepared, lowering.part(prepared, 'items'), lowering.routes(prepared), ways);
    list(lowering.entered(prepared), fork);
    return;
  }
  lowering.attempts(prepared, {
    gather: gathered(lowering),
    body: (done) =>
      list(
        lowering.part(prepared, 'list'),
        addItems(lowering, prepared, lowering.part(prepared, 'items'), done, kit.failedEnd()),
      ),
  });
}

function addItems(
  lowering: Lowering,
  prepared: Prepared<Value, Parts>,
  step: Step,
  next: NodeId,
  fail: NodeId,
): NodeId {
  const { kit, slots } = lowering;
  const { node, parts } = prepared;
  const { as, width, on_item_error: policy, max_items: given } = node.value;
  const most = given * lowering.times;
  const slot = slots.of(node.id);
  const part = (hint: string): Step => lowering.part(prepared, hint);
  const tooMany = kit.fail(part('too many'), {
    type: 'ItemsError',
    message: quote(`max_items of ${lowering.name(node.id)} is ${given}`),
  });
  const meterId = `items:${lowering.name(node.id)}`;
  const meter = kit.visits(meterId, most, tooMany, `max_items of ${lowering.name(node.id)}`);
  const entry = { ...part('item'), id: kit.builder.fresh(`${lowering.name(node.id)} item`), charges: [meter] };
  const first = lowering.inner(prepared, items(node.value));
  const fresh = lowering.fresh(node.value.do);
  const head = fresh.length === 0 ? kit.pick(entry, [], first) : kit.set(entry, fresh, first);
  const results = RESULTS[policy];
  const finish = kit.set(
    part('results'),
    [setField(slot, ['results'], results), ...lowering.out(results, 'set')],
    next,
  );
  const lost = [set('error', 'null'), set(SLOT.partial, policy === 'skip' ? 'true' : STOPPED)];
  const failed = policy === 'fail' ? fail : kit.set(part('lost'), lost, finish);
  return kit.fork(step, {
    over: { each: parts, as: itemSlot(as), head },
    widthMax: width,
    eager: policy === 'fail',
    into: SLOT.join,
    gather: gathered(lowering),
    next: finish,
    fail: failed,
  });
}

/** A budget stopped an item, so the result of the run is partial. */
const STOPPED = `${SLOT.partial} == true || ${SLOT.join}.exists(b, b.error != null && b.error.type == "BudgetError")`;

/** The outcomes as results, by the policy for failed items. */
const RESULTS: { readonly [policy in Value['on_item_error']]: Expr } = {
  fail: `${SLOT.join}.map(b, b.output)`,
  skip: `${SLOT.join}.filter(b, b.state == "completed").map(b, b.output)`,
  collect: `${SLOT.join}.map(b, b.state == "completed" ? b.output : {"error": {"type": b.error == null ? "Error" : b.error.type, "message": b.error == null ? (b.code == null ? b.state : b.code) : b.error.message}})`,
};

function gathered({ expressions, capped }: Lowering) {
  return [
    { slot: OBSERVATIONS, mode: 'concat' },
    { slot: SLOT.unknown, mode: 'concat' },
    { slot: 'approvals', mode: 'merge' },
    ...(expressions.uses.bare ? [{ slot: SLOT.agent, mode: 'last' } as const] : []),
    { slot: SLOT.partial, mode: 'any' },
    ...(capped ? [{ slot: SLOT.capped, mode: 'any' } as const] : []),
  ] as const;
}
