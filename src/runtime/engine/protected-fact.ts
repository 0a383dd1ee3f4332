/** Replaces personal data in what a person, a script or a signal brings into a run. */
import type { Pins, RunId } from '../../ir/events.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { MailFact, Performer } from '../ports.ts';

export interface FactContext {
  readonly flow: CompiledFlow;
  readonly run: RunId;
  readonly pins: Pins | undefined;
}

/** True if the fact can hold personal data. */
export function holdsText(fact: MailFact): boolean {
  if (fact.type === 'signal') return true;
  return fact.type === 'answer' && (fact.answer.text !== undefined || fact.answer.edit !== undefined);
}

export async function protectedFact(performer: Performer, fact: MailFact, context: FactContext): Promise<MailFact> {
  const { flow, pins } = context;
  const run = pins?.tokensOf ?? context.run;
  if (fact.type === 'cancel' || fact.type === 'note' || performer.protect === undefined) return fact;
  if (fact.type === 'signal')
    return { ...fact, data: await performer.protect(flow, run, fact.data, pins?.documentDir) };
  const { text, edit } = fact.answer;
  const given = { ...(text === undefined ? {} : { text }), ...(edit === undefined ? {} : { edit }) };
  const safe = (await performer.protect(flow, run, given, pins?.documentDir)) as Pick<
    typeof fact.answer,
    'text' | 'edit'
  >;
  return { ...fact, answer: { ...fact.answer, ...safe } };
}
