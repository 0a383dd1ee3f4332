/** The question of an effect, which follows from the graph; `payload` is the fingerprint of its input. */
import type { EffectKey, ErrorRecord, Question, RunId, RunState } from '../ir/events.ts';
import { LIMITS } from '../ir/limits.ts';
import type { AskEffect, DoNode } from '../ir/nodes.ts';
import { errorRecord } from './failure.ts';

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

/** Of a question with this name, or of a call that is none. */
export function tooManyQuestions({ pending }: RunState, node: DoNode, name: string | null): ErrorRecord | null {
  if (name === null || pending.size < LIMITS.openQuestions) return null;
  const open = [...pending.values()].filter(({ question, observed }) => question !== null && observed === null);
  if (open.length < LIMITS.openQuestions) return null;
  const message = `\`${name}\` was not asked: the run has ${open.length} open questions, the most that a run may have`;
  return errorRecord(node, { class: 'policy', type: 'TooManyQuestionsError', message }, 1);
}
