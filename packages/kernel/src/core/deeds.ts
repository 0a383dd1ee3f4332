/**
 * Calls whose effect must not happen twice by mistake (L15). The mark of such a call is set in the append that requests it, and taken
 * away if the call was not made, did not happen or was undone. So an equal call finds it, also while the first is still in flight.
 */
import { isRecord } from '../expr/json.ts';
import type { Json } from '../expr/json.ts';
import { asksAboutRepeats } from '../ir/effect-classes.ts';
import type { Deed, EffectKey, EventOf, Pending, RunState, Settled, ThreadId } from '../ir/events.ts';
import { statedOf } from '../ir/stated.ts';
import { digest } from './digest.ts';
import type { Program } from './program.ts';
import { isAbsent } from './unclear.ts';

/** The mark of a call; undefined if the call may be made again. Of a financial tool that names both, payee and amount are enough. */
export function markOf({ flow, pure }: Program, tool: string, args: Json): string | undefined {
  const def = Object.hasOwn(flow.tools, tool) ? flow.tools[tool] : undefined;
  if (def === undefined || !asksAboutRepeats(def)) return undefined;
  const { amount, payee } = def.effect === 'financial' ? statedOf(def, args) : ({ amount: null, payee: null } as const);
  const isStated = amount !== null && payee !== null;
  const compared: Json = isStated ? { tool, amount: plainAmount(amount), payee: plainName(payee) } : { tool, args };
  return digest(compared, pure.hash);
}

/** `"50.0"` is the amount 50. */
function plainAmount(amount: Json): Json {
  const value = typeof amount === 'string' && amount.trim() !== '' ? Number(amount) : amount;
  return typeof value === 'number' && Number.isNaN(value) ? amount : value;
}

/** Blanks, marks and case do not make another payee. An account has the same letters and digits in every spelling. */
function plainName(payee: Json): Json {
  if (typeof payee === 'string')
    return payee
      .normalize('NFKC')
      .replace(/[^\p{L}\p{N}]+/gu, '')
      .toLowerCase();
  if (Array.isArray(payee)) return payee.map(plainName);
  return isRecord(payee)
    ? Object.fromEntries(Object.entries(payee).map(([key, each]) => [key, plainName(each)]))
    : payee;
}

/** Earlier calls of the run with this mark. */
export function deedsLike({ deeds = {} }: RunState, mark: string): readonly EffectKey[] {
  return Object.keys(deeds).filter((key) => deeds[key]?.mark === mark);
}

/** As expressions read them. */
export function shownDeeds({ deeds = {} }: RunState, keys: readonly EffectKey[]): Json {
  return keys.flatMap((key) => {
    const deed = deeds[key];
    if (deed === undefined) return [];
    return [{ at: new Date(deed.at).toISOString(), ran: deed.ran ?? 'open' }];
  });
}

/** The call that a lookup is about: the latest one of that tool in the branch. */
export function lookedUpBy({ deeds = {} }: RunState, thread: ThreadId, input: { readonly [field: string]: Json }) {
  const { verifies } = input;
  return Object.keys(deeds).findLast((key) => key.startsWith(`${thread}#`) && deeds[key]?.tool === verifies);
}

export function noteDeed(state: RunState, { key, name, mark, at }: EventOf<'effect.requested'>): void {
  if (mark !== undefined) setDeed(state, key, { tool: name, mark, at });
}

/** The result of a later attempt does not take back that an earlier one happened, or may have. */
export function settleDeed(state: RunState, { key, undoes, verifies }: Pending, result: Settled): void {
  if (verifies !== undefined && result.ok && isAbsent(result.value)) return forgetDeed(state, verifies);
  const deed = state.deeds?.[key];
  if (deed === undefined || undoes !== null) return;
  if (result.ok && result.unsent === true) return forgetDeed(state, key);
  if (result.ok || result.error.ran === true) setDeed(state, key, { ...deed, ran: 'yes' });
  else if (result.error.class === 'timeout' && result.error.sent !== 'no' && deed.ran === undefined)
    setDeed(state, key, { ...deed, ran: 'maybe' });
}

/** The call has its last verdict, or the host says that it was not sent: without a trace of an effect it did not happen. */
export function dropDeed(state: RunState, key: EffectKey): void {
  if (state.deeds?.[key]?.ran === undefined) forgetDeed(state, key);
}

/** It is known that the call did not happen, or it was undone. */
export function forgetDeed(state: RunState, key: EffectKey): void {
  if (state.deeds?.[key] === undefined) return;
  const { [key]: _, ...others } = state.deeds;
  state.deeds = others;
}

function setDeed(state: RunState, key: EffectKey, deed: Deed): void {
  state.deeds = { ...state.deeds, [key]: deed };
}

/** The arguments in the input of a call. */
export function argsIn(input: { readonly [field: string]: Json }): Json {
  return isRecord(input) ? (input['args'] ?? null) : null;
}
