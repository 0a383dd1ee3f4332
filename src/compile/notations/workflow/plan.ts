/** One walk over the units: each is checked with what is known before it, and what its lowering has to know is kept. */
import type { Expr } from '../../../ir/nodes.ts';
import { quote } from '../../expressions/cel-text.ts';
import type { Facts } from './facts.ts';
import { walk } from './facts.ts';
import type { Step, Unit } from './model.ts';
import { inputText, promptText } from './text.ts';

export interface Plan {
  readonly units: readonly Planned[];
  /** What the run returns: the last executed step's output. */
  readonly output: Expr;
  /** Whether who wrote the input has to be kept in a slot, because it depends on what was skipped. */
  readonly tracks: boolean;
  /** Whether a failed step may be passed over. */
  readonly skips: boolean;
}

export type Planned = Unit & {
  /** `{{input}}` as a condition reads it. */
  readonly input: Expr;
  readonly calls: ReadonlyMap<Step, PlannedCall>;
};

export interface PlannedCall {
  readonly prompt: Expr;
  readonly upstream: Expr;
  /** Whether the agent may be handed its own output, so that the run has to look. */
  readonly mayMeetItself: boolean;
}

/** Who wrote the input, where that is tracked. */
export const UPSTREAM = '_from';

export function planOf(units: readonly Unit[], check: (unit: Unit, facts: Facts) => void): Plan {
  const steps = walk();
  const { facts } = steps;
  const planned: Planned[] = [];
  let tracks = false;
  let skips = false;
  for (const unit of units) {
    check(unit, facts);
    const calls = new Map<Step, PlannedCall>();
    for (const step of unit.is === 'batch' ? unit.branches : [unit.step]) {
      const call = callOf(step, facts);
      calls.set(step, call);
      tracks ||= call.upstream === UPSTREAM;
      skips ||= step.onError === 'Skip';
    }
    planned.push({ ...unit, input: inputText(facts.input), calls });
    steps.pass(unit);
  }
  return { units: planned, output: inputText(facts.input), tracks, skips };
}

function callOf(step: Step, facts: Facts): PlannedCall {
  const { upstream } = facts;
  const [only = null] = upstream;
  // From its second iteration on, a loop is handed what it wrote itself.
  const known = upstream.size === 1 && step.mode !== 'Loop';
  return {
    prompt: promptText(step, facts),
    upstream: known ? (only === null ? 'null' : quote(only)) : UPSTREAM,
    mayMeetItself: upstream.size > 1 && upstream.has(step.agent),
  };
}
