/** One turn of the wheel: facts in, then decisions until nothing moves. The result is what has to be committed. */
import { admit, expire } from './admit.ts';
import { decide } from './decide.ts';
import { evolve } from './evolve.ts';
import type { Program } from './program.ts';
import type { Event, EventBody, Fact, Instant, Refusal, RunState } from './run.ts';

export interface Turn {
  readonly state: RunState | null;
  readonly events: readonly Event[];
  /** By position in the given facts: why one was not admitted. */
  readonly refusals: ReadonlyMap<number, Refusal>;
}

export function settle(program: Program, before: RunState | null, facts: readonly Fact[], at: Instant): Turn {
  const events: Event[] = [];
  const refusals = new Map<number, Refusal>();
  let state = before;
  // A clock that was set back must not make history run backwards.
  const now = state === null ? at : Math.max(at, state.now);
  const take = (bodies: readonly EventBody[]): void => {
    for (const body of bodies) {
      const event: Event = { seq: (state?.seq ?? 0) + 1, at: now, ...body };
      state = evolve(state, event);
      events.push(event);
    }
  };
  const run = (): void => {
    if (state === null) return;
    for (let moved = decide(program, state); moved.length > 0; moved = decide(program, state)) take(moved);
  };
  for (const [index, fact] of facts.entries()) {
    if (state !== null) {
      const due = expire(state, now);
      if (due.length > 0) {
        take(due);
        run();
        if (fact.type === 'tick') continue;
      }
    }
    const admitted = admit(program, state, fact, now);
    if ('refused' in admitted) refusals.set(index, admitted);
    else take(admitted);
  }
  run();
  return { state, events, refusals };
}
