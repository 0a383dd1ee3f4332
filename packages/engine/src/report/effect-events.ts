/** Public events of a question between asking and answering, and of a finished check. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { QuestionEvent } from '@sluice-internal/kernel/ir';
import type { InNode, StoryEvent } from '@sluice-internal/wire';

export function peopleEvents(event: QuestionEvent, about: InNode, question: string): readonly StoryEvent[] {
  switch (event.type) {
    case 'answer.counted': {
      const { choice, by } = event.answer;
      return [{ type: 'question.agreed', ...about, question, choice, by, missing: event.missing }];
    }
    case 'answer.refused': {
      const { choice, by } = event.answer;
      return [{ type: 'question.refused', ...about, question, choice, by, reason: event.reason }];
    }
    case 'question.escalated':
      return [{ type: 'question.escalated', ...about, question, to: event.to }];
    case 'question.notified': {
      const { to, attempts, problem } = event;
      if (problem === undefined) return [];
      return [{ type: 'trouble', ...about, message: `the hook ${to} failed ${attempts} times: ${problem}` }];
    }
    case 'review.saturated': {
      const minutes = Math.round(event.ageMs / 60_000);
      const message = `${event.open} runs wait for people, the oldest for ${minutes} minutes`;
      return [{ type: 'trouble', ...about, message }];
    }
  }
}

type Fields = { readonly [field: string]: Json };

export function checkEvent(check: string, result: Json, about: InNode): StoryEvent {
  const fields: Fields = isRecord(result) ? result : {};
  if (check === 'memory.read') return recalled(fields, about);
  return check === 'memory.write' ? written(fields, about) : { type: 'check.finished', ...about, check, result };
}

function recalled({ entries, withheld }: Fields, about: InNode): StoryEvent {
  return { type: 'memory.recalled', ...about, entries: idsIn(entries), quarantined: idsIn(withheld) };
}

function written(result: Fields, about: InNode): StoryEvent {
  const { ok, state, entry = '', reason = '', trust, expiresAt, sources } = result;
  if (state === 'quarantined')
    return { type: 'memory.quarantined', ...about, entry: String(entry), reason: String(reason) };
  if (ok !== true) return { type: 'memory.refused', ...about, reason: String(reason) };
  return {
    type: 'memory.written',
    ...about,
    entry: String(entry),
    trust: trust === 'trusted' ? 'trusted' : 'untrusted',
    expiresAt: typeof expiresAt === 'number' ? expiresAt : 0,
    sources: idsIn(sources),
  };
}

function idsIn(list: Json | undefined): readonly string[] {
  return Array.isArray(list) ? list.map((each) => String((each as { readonly id?: Json }).id ?? '')) : [];
}
