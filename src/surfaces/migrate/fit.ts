/** Proves that a suspended run fits another version of its flow, or names each part that does not. */
import { createProgram } from '../../core/program.ts';
import type { RunState } from '../../ir/events.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { pure } from '../../runtime/engine/pure.ts';
import type { Misfit } from './misfit.ts';
import { positionMisfits } from './position.ts';
import { valueMisfits } from './values.ts';

export function misfitsOf(before: CompiledFlow, after: CompiledFlow, state: RunState): readonly Misfit[] {
  const other = otherFlow(before, after);
  if (other.length > 0) return other;
  const [old, next] = [createProgram(before, pure), createProgram(after, pure)];
  return [...positionMisfits(old, next, state), ...valueMisfits(before, next, state)];
}

function otherFlow(before: CompiledFlow, after: CompiledFlow): readonly Misfit[] {
  const misfits: Misfit[] = [];
  if (before.notation !== after.notation)
    misfits.push({
      part: 'notation',
      problem: `the run is a \`${before.notation}\`, and the document is a \`${after.notation}\``,
    });
  if (before.id !== after.id)
    misfits.push({ part: 'flow', problem: `the run is of \`${before.id}\`, and the document is \`${after.id}\`` });
  return misfits;
}
