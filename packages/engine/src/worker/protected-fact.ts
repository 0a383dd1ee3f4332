/** Replaces personal data in the input of a person, a script or a signal. */
import { present } from '@sluice-internal/kernel/expr';
import type { RunId, RunState } from '@sluice-internal/kernel/ir';
import type { Program } from '@sluice-internal/kernel/core';
import type { MailFact, Performer } from '../ports/ports.ts';
import { questionsOf } from '../report/waiting.ts';

export interface FactContext {
  readonly program: Program;
  readonly run: RunId;
  readonly state: RunState | null;
}

/** The reason of a cancellation for which no person gave one. */
export const NO_REASON = 'no reason given';

/** True if the fact can hold personal data. */
export function holdsText(fact: MailFact): boolean {
  if (fact.type === 'signal' || fact.type === 'guide') return true;
  // A run can be cancelled without the key for personal data.
  if (fact.type === 'cancel') return fact.why !== NO_REASON;
  return fact.type === 'answer' && (fact.answer.text !== undefined || fact.answer.edit !== undefined);
}

export async function protectedFact(performer: Performer, fact: MailFact, context: FactContext): Promise<MailFact> {
  const { program, state } = context;
  const { flow } = program;
  const pins = state?.origin.pins;
  const run = pins?.tokensOf ?? context.run;
  if (fact.type === 'note' || performer.protect === undefined) return fact;
  if (fact.type === 'cancel')
    return { ...fact, why: String(await performer.protect(flow, run, fact.why, pins?.documentDir)) };
  if (fact.type === 'guide')
    return { ...fact, text: String(await performer.protect(flow, run, fact.text, pins?.documentDir)) };
  if (fact.type === 'signal')
    return { ...fact, data: await performer.protect(flow, run, fact.data, pins?.documentDir) };
  const { text, edit } = fact.answer;
  const given = present({ text, edit });
  const safe = (await performer.protect(flow, run, given, pins?.documentDir, shownBy(context, fact.id))) as Pick<
    typeof fact.answer,
    'text' | 'edit'
  >;
  return { ...fact, answer: { ...fact.answer, ...safe } };
}

/** The data of the question. A person may repeat the tokens in it, for example in an edit. */
function shownBy({ program, state }: FactContext, id: string): unknown {
  return state === null ? null : questionsOf(program, state).find((question) => question.id === id);
}
