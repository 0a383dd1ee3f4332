/** The question of an effect, which follows from the graph; `payload` is the fingerprint of its input. */
import type { EffectKey, Question, RunId } from '../ir/events.ts';
import type { AskEffect } from '../ir/nodes.ts';

export function questionOf(run: RunId, effect: AskEffect, key: EffectKey, payload: string): Question {
  const { about, choices, onExpiry, code, askedBy, purpose, approvers } = effect;
  const id = `a_${run}.${key.replace(/[#:]/g, '.')}`;
  const names = choices.map(({ name }) => name);
  return {
    id,
    about,
    choices: names,
    onExpiry,
    code,
    askedBy,
    payload,
    ...(purpose === undefined ? {} : { purpose }),
    ...(approvers === undefined ? {} : { approvers }),
  };
}
