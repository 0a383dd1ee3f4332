/** A flow node: runs another flow as one step, with its own input, its own names and its own share of the budgets. */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { POISON, budgets, jsonMap, name } from '@sluice-internal/compile/document';
import { path } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, set, setField } from '@sluice-internal/compile/lower';
import type { Step } from '@sluice-internal/compile/lower';
import { nodeSchema } from '../model.ts';
import { nodeType, type Lowering, type Prepared } from '../node-type.ts';
import { vouchingInput } from '../provenance.ts';
import { SLOT } from '../slots.ts';
import type * as z from 'zod';

const schema = nodeSchema('flow', () => ({
  flow: name()
    .refine((value) => value !== POISON)
    .describe('An id of `flows`, or the path of a file, relative to the document.'),
  input: jsonMap()
    .optional()
    .describe('The `event.payload` of the sub-flow. Templates work. Default: the input of the run.'),
  budget: budgets.optional().describe('The most that the sub-flow may use.'),
}));
type Value = z.output<typeof schema>;

/** The input. Null: the sub-flow gets the input of the flow around it. */
type Parts = Expr | null;

export const flowNode = nodeType<typeof schema, Parts>({
  type: 'flow',
  schema,
  shape: 'tool',
  poison: { flow: POISON },
  expanded: ({ input }) => input ?? null,
  prepare: ({ id, value, located }, { expressions }) =>
    value.input === undefined ? null : expressions.template(id, located('input'), value.input),
  lower: lowerFlowNode,
  output: (slots, id) => path(slots.of(id), 'output'),
  readable: () => ({ output: true }),
  draw: ({ flow }) => ({ detail: flow }),
  subFlow: ({ flow }) => flow,
});

/** The sub-flow runs in its own thread, so its slots and those of the outer flow stay apart. */
function lowerFlowNode(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { retry } = prepared.node.value;
  if (retry === undefined) {
    addSubFlow(lowering, prepared, lowering.entered(prepared), {
      next: lowering.routes(prepared),
      fail: lowering.failing(prepared, 'errors'),
    });
    return;
  }
  lowering.attempts(prepared, {
    gather: GATHERED,
    body: (next) =>
      addSubFlow(lowering, prepared, lowering.part(prepared, 'flow'), { next, fail: lowering.kit.failedEnd() }),
  });
}

const GATHERED = [
  { slot: OBSERVATIONS, mode: 'concat' },
  { slot: SLOT.unknown, mode: 'concat' },
  { slot: SLOT.partial, mode: 'any' },
  { slot: SLOT.capped, mode: 'any' },
] as const;

function addSubFlow(
  lowering: Lowering,
  prepared: Prepared<Value, Parts>,
  step: Step,
  { next, fail }: { readonly next: NodeId; readonly fail: NodeId },
): NodeId {
  const { kit, slots } = lowering;
  const { node, parts } = prepared;
  const part = (hint: string): Step => lowering.part(prepared, hint);
  const { budget, input } = node.value;
  const vouching = input === undefined ? null : vouchingInput(lowering, node, input);
  const user = vouching !== null ? SLOT.user : input === undefined ? lowering.user : 'input';
  const { head, timeoutMs } = lowering.subFlow(prepared, { budget, input, user });
  const given = [
    ...(vouching === null ? [] : [set(SLOT.user, vouching)]),
    ...(parts === null ? [] : [set('input', parts), set('event', `{"payload": ${parts}}`)]),
  ];
  const fresh = [set('approvals', '{}'), set('error', 'null'), set(SLOT.agent, 'null'), set(SLOT.out, 'null')];
  const output = `${SLOT.join}["0"].output`;
  const done = kit.set(
    part('output'),
    [setField(slots.of(node.id), ['output'], output), ...lowering.out(output, 'set')],
    next,
  );
  return kit.fork(step, {
    over: { heads: [{ name: node.id, to: kit.set(part('begin'), [...given, ...fresh], head) }] },
    timeoutMs,
    ...(timeoutMs === null ? {} : { exceptPeople: true }),
    into: SLOT.join,
    gather: GATHERED,
    next: done,
    fail: kit.branchError(part('failed'), SLOT.join, fail),
  });
}
