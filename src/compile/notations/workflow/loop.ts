/**
 * A Loop step: a gate that charges the meter, the call, and a look at its output. Each iteration enters the step. When the
 * meter trips, the run goes on with the last output, and the trip is the event that says so.
 */
import type { NodeId, Write } from '../../../ir/nodes.ts';
import { quote } from '../../expressions/cel-text.ts';
import { addCall, guardDistinct, set, trackUpstream } from './call.ts';
import type { Lowering } from './lowering.ts';
import type { Step } from './model.ts';
import type { PlannedCall } from './plan.ts';
import { HANDED, slotOf } from './text.ts';

export function addLoop(lowering: Lowering, step: Step, call: PlannedCall, at: NodeId, next: NodeId): void {
  const { builder } = lowering;
  const place = lowering.at(step);
  const done = addStore(lowering, step, next);
  const gate = call.mayMeetItself ? builder.fresh(`${step.name}.gate`) : at;
  const look = builder.fresh(`${step.name}.look`);
  const writes: Write[] = [set(HANDED, 'it.text'), ...trackUpstream(lowering, step.agent)];
  if (step.output !== null) writes.push(set(latestOf(step), 'it.text'));
  if (gate !== at) guardDistinct(lowering, step, at, gate);
  const meter = builder.meter(`loop:${lowering.idOf(step)}`, {
    unit: 'visits',
    max: step.iterations,
    over: done,
    label: 'max_iterations',
  });
  builder.add(
    gate,
    { op: 'pick', origin: step.name, charges: [meter], cases: [], otherwise: lowering.idOf(step) },
    place,
  );
  addCall(lowering, step, call, { writes, next: look, skipped: done });
  const found = { when: `containsIgnoreCase(${HANDED}, ${quote(step.contains)})`, to: done };
  builder.add(look, { op: 'pick', origin: step.name, cases: [found], otherwise: gate }, place);
}

/** The variable is stored once, when the loop is over; not at all where every iteration failed. */
function addStore(lowering: Lowering, step: Step, next: NodeId): NodeId {
  if (step.output === null) return next;
  const { builder } = lowering;
  const latest = latestOf(step);
  const place = lowering.at(step);
  const store = builder.add(
    builder.fresh(`${step.name}.store`),
    { op: 'let', origin: step.name, writes: [set(slotOf(step.output), latest)], next },
    place,
  );
  if (step.onError !== 'Skip') return store;
  const cases = [{ when: `${latest} != null`, to: store }];
  return builder.add(
    builder.fresh(`${step.name}.present`),
    { op: 'pick', origin: step.name, cases, otherwise: next },
    place,
  );
}

function latestOf({ index }: Step): string {
  return `_o${index}`;
}
