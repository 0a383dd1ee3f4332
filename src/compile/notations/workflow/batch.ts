/**
 * Consecutive FanOut steps as one fork. Every branch starts with the same slots and ends by itself; the join is judged when
 * all have ended. A Collect gathers their outputs by reference; without one, the last branch's output goes on.
 */
import type { ForkNode, NodeId, Write } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/slots.ts';
import { addCall, guardDistinct, PARTIAL, set, storeReply, trackUpstream } from './call.ts';
import type { Lowering } from './lowering.ts';
import { lastBranches } from './facts.ts';
import type { Step } from './model.ts';
import type { Planned, PlannedCall } from './plan.ts';
import { HANDED, slotOf } from './text.ts';

type Batch = Extract<Planned, { is: 'batch' }>;

const OUTCOMES = '_batch';

export function addBatch(lowering: Lowering, batch: Batch, at: NodeId, next: NodeId): void {
  const { builder } = lowering;
  const { branches, collect, calls } = batch;
  const first = branches[0] as Step;
  const done = builder.end({ state: 'completed', code: 'SUCCESS' });
  const heads = branches.map((step) => {
    const call = calls.get(step) as PlannedCall;
    const writes = [set(outputOf(step), 'it.text'), ...storeReply(step)];
    const called = addCall(lowering, step, call, { writes, next: done, skipped: done });
    if (!call.mayMeetItself) return { name: step.name, to: called };
    const looked = builder.fresh(`${step.name}.distinct`);
    guardDistinct(lowering, step, looked, called);
    return { name: step.name, to: looked };
  });
  const gather: ForkNode['gather'][number][] = branches.map((step) => ({ slot: outputOf(step), mode: 'last' }));
  for (const { output } of branches) if (output !== null) gather.push({ slot: slotOf(output), mode: 'last' });
  if (branches.some(({ onError }) => onError === 'Skip')) gather.push({ slot: PARTIAL, mode: 'any' });
  // What was seen in a branch has been seen by whoever comes later.
  if (branches.some(({ agent }) => (builder.definitions.agents[agent]?.tools.length ?? 0) > 0))
    gather.push({ slot: OBSERVATIONS, mode: 'concat' });
  builder.add(
    at,
    {
      op: 'fork',
      origin: first.name,
      over: { heads },
      widthMax: 0,
      need: 'all',
      eager: false,
      timeoutMs: null,
      into: OUTCOMES,
      gather,
      next: collect === null ? addLast(lowering, branches, next) : addCollect(lowering, branches, collect, next),
      failed: [],
      fail: addBlame(lowering, first),
    },
    lowering.at(first),
  );
}

/** Where a branch leaves its output. Each batch runs once, so that the slot is unset until then. */
function outputOf({ index }: Step): string {
  return `_o${index}`;
}

/** The output of the last branch that was not skipped; the input stays as it was where all of them were. */
function addLast(lowering: Lowering, branches: readonly Step[], next: NodeId): NodeId {
  const { builder } = lowering;
  let otherwise = next;
  for (const step of lastBranches(branches).toReversed()) {
    const writes = [set(HANDED, outputOf(step)), ...trackUpstream(lowering, step.agent)];
    const take = builder.add(
      builder.fresh(`${step.name}.last`),
      { op: 'let', origin: step.name, writes, next },
      lowering.at(step),
    );
    otherwise = step.onError === 'Skip' ? addPick(lowering, step, take, otherwise) : take;
  }
  return otherwise;
}

/** From the last to the first: each let appends what is surely there, each skippable branch is looked at by itself. */
function addCollect(lowering: Lowering, branches: readonly Step[], collect: Step, next: NodeId): NodeId {
  const { builder } = lowering;
  const add = (hint: string, writes: readonly Write[], to: NodeId): NodeId =>
    builder.add(
      builder.fresh(`${collect.name}.${hint}`),
      { op: 'let', origin: collect.name, writes, next: to },
      lowering.at(collect),
    );
  let to = collect.output === null ? next : add('store', [set(slotOf(collect.output), HANDED)], next);
  let sure: Write[] = [];
  for (const step of branches.toReversed()) {
    const append: Write = { slot: HANDED, mode: 'append', value: outputOf(step) };
    if (step.onError !== 'Skip') {
      sure.unshift(append);
      continue;
    }
    if (sure.length > 0) to = add('append', sure, to);
    sure = [];
    to = addPick(lowering, step, add('append', [append], to), to);
  }
  const writes = [set(HANDED, '[]'), ...trackUpstream(lowering, null), ...sure];
  return builder.add(
    lowering.idOf(collect),
    { op: 'let', origin: collect.name, enters: collect.name, writes, next: to },
    lowering.at(collect),
  );
}

function addPick(lowering: Lowering, step: Step, present: NodeId, absent: NodeId): NodeId {
  const { builder } = lowering;
  const cases = [{ when: `${outputOf(step)} != null`, to: present }];
  return builder.add(
    builder.fresh(`${step.name}.present`),
    { op: 'pick', origin: step.name, cases, otherwise: absent },
    lowering.at(step),
  );
}

/** The run fails by what the first failed branch failed by; where several did, the message names each. */
function addBlame(lowering: Lowering, first: Step): NodeId {
  const { builder } = lowering;
  const record =
    '{"class": e.class, "type": e.type, "message": size(lost) > 1 ? error.message : e.message, "node": e.node, "code": e.code}';
  const value = `cel.bind(lost, ${OUTCOMES}.filter(b, b.state != "completed"), cel.bind(e, lost[0].error, e == null ? error : ${record}))`;
  return builder.add(
    builder.fresh(`${first.name}.blame`),
    { op: 'let', origin: first.name, writes: [set('error', value)], next: builder.failedEnd() },
    lowering.at(first),
  );
}
