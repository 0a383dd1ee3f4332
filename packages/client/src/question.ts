/** Open questions of runs. */
import type { Http } from './http.ts';

/**
 * A question with everything that a person needs to decide. `packet` is as in `sluice approvals --json`.
 * @example
 * for await (const question of sluice.questions({ for: 'me' })) show((question satisfies Question).message);
 */
export interface Question {
  readonly id: string;
  readonly run: string;
  readonly flow: string;
  readonly message: string;
  readonly choices: readonly string[];
  /** The hash of what is asked. */
  readonly payload: string;
  readonly packet: { readonly [field: string]: unknown };
  readonly approvers: unknown;
  /** The people who agreed so far. */
  readonly agreed: readonly { readonly by: string; readonly choice: string; readonly at: string }[];
  readonly mayAnswer: boolean;
}

/**
 * The state of a question after an answer.
 * @example
 * const answered: Answered = await (await sluice.question('a_r_1.0.1')).answer('approve');
 * show(answered.missing);
 */
export interface Answered {
  /** `answered`, or `open` while more people must agree. */
  readonly state: 'answered' | 'open';
  /** The number of people who must still agree. */
  readonly missing: number;
}

/**
 * Options of an answer.
 * @example
 * const options: AnswerOptions = { text: 'The parcel is lost.', edit: { amount: 10 } };
 */
export interface AnswerOptions {
  readonly text?: string;
  /** Replaces the proposed data. */
  readonly edit?: unknown;
  /** The data for the `fields` of an approval node. */
  readonly data?: unknown;
  readonly signature?: string;
  readonly signedAt?: number;
  readonly signal?: AbortSignal;
}

/**
 * An open question that can be answered.
 * @example
 * const question: AskedQuestion = await sluice.question('a_r_1.0.1');
 * await question.answer('reject', { text: 'The order is too old.' });
 */
export interface AskedQuestion extends Question {
  /** Answers what was read: an answer to a question that has changed since is refused with `stale-payload`. */
  answer(choice: string, options?: AnswerOptions): Promise<Answered>;
}

export async function questionOf(http: Http, id: string, signal: AbortSignal | undefined): Promise<AskedQuestion> {
  const path = `/questions/${encodeURIComponent(id)}`;
  const question = await http.json<Question>(path, { signal });
  return {
    ...question,
    answer: (choice, { signal: stop, ...given } = {}) =>
      http.json(`${path}/answer`, {
        method: 'POST',
        body: { choice, payload: question.payload, ...given },
        signal: stop,
      }),
  };
}
