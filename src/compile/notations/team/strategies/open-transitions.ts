/** Which transitions a state really has: those that its own agent may take, and of several with the same signal the first. */
import { mayTake, same } from './keyword.ts';
import type { RawState, RawTransition } from '../schema/statemachine.ts';

export function openIn({ Agent, Transitions, Terminal }: RawState): readonly RawTransition[] {
  if (Terminal) return [];
  const open: RawTransition[] = [];
  for (const each of Transitions)
    if (mayTake(each, Agent) && !open.some(({ Signal }) => isSame(Signal, each.Signal))) open.push(each);
  return open;
}

/** Without a signal, a transition is taken when none is given: there can be but one of those as well. */
function isSame(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined ? a === b : same(a, b);
}
