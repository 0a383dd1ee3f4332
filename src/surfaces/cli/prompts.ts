/** What each model was sent, re-derived by folding the journal: events hold only the fingerprint of an input. */
import { evolve } from '../../core/evolve.ts';
import { inputOf } from '../../core/outstanding.ts';
import type { Json } from '../../expr/json.ts';
import type { Program } from '../../core/program.ts';
import type { Event, RunState } from '../../ir/events.ts';
import { promptOf, type Message } from '../../effects/prompt/prompt.ts';

export interface Prompted {
  /** The agent's id. */
  readonly agent: string;
  readonly prompt: readonly Message[];
  /** Where the call comes from, where its notation says so. */
  readonly source?: Json;
}

/** By the number of the event that requested the call. */
export function promptsOf(program: Program, events: readonly Event[]): ReadonlyMap<number, Prompted> {
  const prompts = new Map<number, Prompted>();
  let state: RunState | null = null;
  for (const event of events) {
    state = evolve(state, event);
    if (event.type !== 'effect.requested' || event.kind !== 'model') continue;
    const pending = state.pending.get(event.key);
    if (pending === undefined) continue;
    const input = inputOf(program, state, pending);
    const prompt = promptOf(program.flow, { name: event.name, input });
    const { source } = input;
    prompts.set(event.seq, { agent: event.name, prompt, ...(source === undefined ? {} : { source }) });
  }
  return prompts;
}
