/** Public events of answers that do not close a question. */
import type { AnswerEvent } from '../../ir/questions.ts';
import type { InNode, StoryEvent } from './run-events.ts';

export function peopleEvents(event: AnswerEvent, about: InNode, id: string | null): readonly StoryEvent[] {
  return id === null ? [] : [peopleEvent(event, { ...about, id })];
}

function peopleEvent(event: AnswerEvent, about: InNode & { readonly id: string }): StoryEvent {
  switch (event.type) {
    case 'answer.counted': {
      const { choice, by } = event.answer;
      return { type: 'question.agreed', ...about, choice, by, missing: event.missing };
    }
    case 'answer.refused': {
      const { choice, by } = event.answer;
      return { type: 'question.refused', ...about, choice, by, reason: event.reason };
    }
    case 'question.escalated':
      return { type: 'question.escalated', ...about, to: event.to };
  }
}
