/** From plans to the graph. Every unit knows where the next one begins before any is added, so that nodes stand in order. */
import type { NodeId } from '../../../ir/nodes.ts';
import { createBuilder } from '../../lower/builder.ts';
import type { Builder, Lowered } from '../../lower/builder.ts';
import { quote } from '../../expressions/cel-text.ts';
import type { Definitions } from '../../document/definitions.ts';
import { addBatch } from './batch.ts';
import { addCall, guardDistinct, PARTIAL, set, storeReply, trackUpstream } from './call.ts';
import type { Lowering } from './lowering.ts';
import { addLoop } from './loop.ts';
import type { Step } from './model.ts';
import type { Plan, Planned, PlannedCall } from './plan.ts';
import type { ReadWorkflow } from './read.ts';
import { HANDED } from './text.ts';

export function lowerWorkflow({ workflow, agents, body }: ReadWorkflow, plan: Plan, definitions: Definitions): Lowered {
  const builder = createBuilder('workflow', definitions);
  for (const agent of agents.values()) builder.agent(agent);
  const ids = authoredIds(builder, workflow.steps);
  const lowering: Lowering = {
    builder,
    workflow,
    tracks: plan.tracks,
    at: (step) => body.at('steps', step.index),
    idOf: (step) => ids[step.index] as NodeId,
  };
  const entries = plan.units.map((unit) => entryOf(lowering, unit));
  const end = addEnd(builder, plan);
  for (const [index, unit] of plan.units.entries())
    addUnit(lowering, unit, entries[index] as NodeId, entries[index + 1] ?? end);
  return builder.build({ id: workflow.id, entry: entries[0] ?? end, itemised: true, keepEnded: 200 });
}

/** A step's own name where it is the only one of that name. */
function authoredIds(builder: Builder, steps: readonly Step[]): readonly NodeId[] {
  const taken = new Set(steps.map(({ name }) => name));
  const used = new Set<string>();
  return steps.map(({ name, index }) => {
    let id = name;
    while (used.has(id) || (id !== name && taken.has(id))) id = `${id}#${index + 1}`;
    used.add(id);
    return builder.idOf(id);
  });
}

/** A step that only calls its agent begins with the call itself; everything else has something before it. */
function entryOf(lowering: Lowering, unit: Planned): NodeId {
  if (unit.is === 'batch') return lowering.builder.fresh(`${unit.branches[0]?.name ?? ''}.fan-out`);
  const { step, calls } = unit;
  const plain = step.mode === 'Sequential' && calls.get(step)?.mayMeetItself !== true;
  return plain ? lowering.idOf(step) : lowering.builder.fresh(step.name);
}

function addUnit(lowering: Lowering, unit: Planned, at: NodeId, next: NodeId): void {
  if (unit.is === 'batch') return addBatch(lowering, unit, at, next);
  const { builder } = lowering;
  const { step } = unit;
  const call = unit.calls.get(step) as PlannedCall;
  if (step.mode === 'Loop') return addLoop(lowering, step, call, at, next);
  const writes = [set(HANDED, 'it.text'), ...storeReply(step), ...trackUpstream(lowering, step.agent)];
  const called = addCall(lowering, step, call, { writes, next, skipped: next });
  if (called === at) return;
  if (step.mode !== 'Conditional') return guardDistinct(lowering, step, at, called);
  const holds = call.mayMeetItself ? builder.fresh(`${step.name}.distinct`) : called;
  if (holds !== called) guardDistinct(lowering, step, holds, called);
  const cases = [{ when: `containsIgnoreCase(${unit.input}, ${quote(step.contains)})`, to: holds }];
  builder.add(at, { op: 'pick', origin: step.name, cases, otherwise: next }, lowering.at(step));
}

function addEnd(builder: Builder, { skips, output }: Plan): NodeId {
  const success = builder.end({ state: 'completed', code: 'SUCCESS', output });
  if (!skips) return success;
  const partial = builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output });
  return builder.add(builder.fresh('end'), {
    op: 'pick',
    origin: 'end',
    cases: [{ when: PARTIAL, to: partial }],
    otherwise: success,
  });
}
