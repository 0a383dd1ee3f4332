/** The text that a person signs who answers with a key. Engine and page build it alike, so both know what was signed. */
import { canonical } from '@sluice-internal/kernel/expr';

export interface SignedAnswer {
  /** The id of the store; null for a run of an older one. */
  readonly store: string | null;
  readonly run: string;
  /** The id of the question. */
  readonly ask: string | null;
  readonly payload: string | null;
  readonly choice: string;
  readonly edit?: unknown;
  readonly text?: string | null | undefined;
  readonly by: string;
  readonly at: number;
}

/** It names the store, the run and the question, so the signature is valid only there. */
export function answerText({
  store,
  run,
  ask,
  payload,
  choice,
  edit = null,
  text = null,
  by,
  at,
}: SignedAnswer): string {
  return `sluice-answer-1\n${canonical({ store, run, ask, payload, choice, edit, text, by, at })}`;
}
