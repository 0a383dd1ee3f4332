/** Why a fact was not admitted: a word that callers can go by, and a sentence for people. */
import type { AnswerEvent, AnswerRefusal } from './questions.ts';

type RefusalReason =
  | 'run-not-found'
  | 'run-exists'
  | 'run-ended'
  | 'not-pending'
  | 'approval-closed'
  | AnswerRefusal
  | 'signal-not-awaited'
  | 'nothing-due';
export interface Refusal {
  readonly refused: RefusalReason;
  readonly message: string;
  /** Events that record the refusal. */
  readonly events?: readonly AnswerEvent[];
}
