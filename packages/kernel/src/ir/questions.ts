/** Questions to people as the journal holds them, and the events of answers that do not close a question. */
import type { TerminalCode } from './codes.ts';
import type { Answer, EffectKey, TypesOf } from './facts.ts';
import type { Approvers, AskPurpose, ReviewNote } from './people.ts';

/** A question, bound to a payload by its hash. */
export interface Question {
  readonly id: string;
  readonly about: string;
  readonly choices: readonly string[];
  readonly onExpiry: string;
  readonly code: TerminalCode;
  readonly askedBy: string;
  readonly payload: string;
  readonly purpose?: AskPurpose;
  readonly approvers?: Approvers;
}

/** The reasons for which a person's answer is refused and recorded. */
export type AnswerRefusal =
  | 'not-an-approver'
  | 'identity-unproven'
  | 'already-answered'
  | 'stale-payload'
  | 'self-approval'
  | 'not-a-choice'
  | 'bad-answer';

type AnswerEvent = TypesOf<{
  /** An answer that counts towards an incomplete quorum. The question stays open. */
  'answer.counted': { key: EffectKey; answer: Omit<Answer, 'payload' | 'unproven'>; missing: number };
  /** An answer that the person may not give, or that does not fit the question. The question stays open. */
  'answer.refused': { key: EffectKey; answer: Omit<Answer, 'text'>; reason: AnswerRefusal };
  /** The time of the first level has passed without an answer. The second level may answer too. */
  'question.escalated': { key: EffectKey; to: readonly string[] };
}>;

export type QuestionEvent = AnswerEvent | ReviewNote;

type RefusalReason =
  | 'run-not-found'
  | 'run-exists'
  | 'run-ended'
  | 'not-pending'
  | 'approval-closed'
  | AnswerRefusal
  | 'signal-not-awaited'
  | 'bad-guidance'
  | 'bad-budget'
  | 'resume-not-stopped'
  | 'resume-undone'
  | 'nothing-due';
/** The reason why a fact was not admitted: a word for programs, and a sentence for people. */
export interface Refusal {
  readonly refused: RefusalReason;
  readonly message: string;
  /** Events that record the refusal. */
  readonly events?: readonly AnswerEvent[];
}
