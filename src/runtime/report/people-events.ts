/** Public events of a question between asking and answering. */
import type { QuestionEvent } from '../../ir/questions.ts';
import type { InNode, StoryEvent } from './run-events.ts';

export function peopleEvents(event: QuestionEvent, about: InNode, id: string | null): readonly StoryEvent[] {
  if (id === null) return [];
  switch (event.type) {
    case 'answer.counted': {
      const { choice, by } = event.answer;
      return [{ type: 'question.agreed', ...about, id, choice, by, missing: event.missing }];
    }
    case 'answer.refused': {
      const { choice, by } = event.answer;
      return [{ type: 'question.refused', ...about, id, choice, by, reason: event.reason }];
    }
    case 'question.escalated':
      return [{ type: 'question.escalated', ...about, id, to: event.to }];
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
