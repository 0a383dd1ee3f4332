/** People who answer questions: their ids, their proofs of identity, and the questions that they may answer. Part of the compiled flow. */

export interface PersonDef {
  readonly roles: readonly string[];
  /** `ed25519:` and the 32 bytes of the public key in base64url. A person with a key signs every answer. */
  readonly key?: string;
  /** The user of the operating system; the id of the person if absent. Only without a key. */
  readonly osUser?: string;
  /** How a server knows the person: `token:NAME`, or `ISSUER#SUBJECT` of OIDC. */
  readonly login?: string;
}
export type PeopleDef = { readonly [id: string]: PersonDef };

export interface Approvers {
  /** The ids of the people who may answer. */
  readonly people: readonly string[];
  /** The roles that the document names; for people who read the question. */
  readonly roles?: readonly string[];
  /** The number of different people who must agree on a choice of `counted`. */
  readonly quorum: number;
  /** The choices that need the quorum. Any other takes effect with one answer. */
  readonly counted: readonly string[];
  /** More people who may answer after the question has been open for this time. */
  readonly escalation?: {
    readonly afterMs: number;
    readonly people: readonly string[];
    readonly roles?: readonly string[];
  };
}

/** The subject of a question. */
export type AskPurpose =
  | 'flow_node'
  | 'route'
  | 'tool_call'
  | 'budget'
  | 'plan_review'
  | 'escalation'
  | 'missing_information';

/** The proof of the person who answered. */
export interface Proof {
  /**
   * `key`: a signature of the person. `os_user`: the user of the process. `script`: a script answered instead of a person. `token`, `oidc`:
   * a server knew the person by a login, and signed that.
   */
  readonly via: 'key' | 'os_user' | 'script' | 'token' | 'oidc';
  /** Ed25519 over the answer, in base64url. Of the person, or of the server of a login. */
  readonly signature?: string;
  /** The time of the signature. */
  readonly at?: number;
  /** Of a login, and so are the next ones: who vouches for the subject. */
  readonly issuer?: string;
  /** The person as the issuer names it; `token:NAME` for a token. */
  readonly subject?: string;
  /** The id of the token. */
  readonly token?: string;
  readonly tenant?: string | null;
  /** Random. A login proves one answer. */
  readonly nonce?: string;
  /** The public key of the server that signed, as `ed25519:` and base64url. */
  readonly server?: string;
}

/** An answer that counts towards a quorum. */
export interface Vote {
  readonly by: string;
  readonly choice: string;
  readonly at: number;
  readonly via: Proof['via'];
  /** The data of the answer as canonical text. Only answers with the same data agree. */
  readonly data: string;
}

/** The hooks that announce a question. */
export type NotifyHook =
  | {
      readonly webhook: string;
      /** The environment variable with the secret of the signature. */
      readonly secretEnv: string;
    }
  | { readonly command: readonly string[] };

/** Above these limits the queue of open questions is saturated. */
export interface ReviewQueueLimits {
  readonly open?: number;
  readonly ageMs?: number;
}

/** An event of a question that does not answer it: a notification, or too many open questions. */
export type ReviewNote =
  /** A hook was called, or gave up. */
  | {
      readonly type: 'question.notified';
      readonly key: string;
      /** The address or the program. */
      readonly to: string;
      readonly attempts: number;
      /** The reason of the failure; absent if it succeeded. */
      readonly problem?: string;
    }
  /** More questions are open than the limit allows, or one is open for too long. */
  | {
      readonly type: 'review.saturated';
      readonly key: string;
      /** Runs of the database that wait for people, this one included. */
      readonly open: number;
      /** The waiting time of the oldest of them. */
      readonly ageMs: number;
    };

/** Choices that approve nothing. */
const REFUSALS: ReadonlySet<string> = new Set(['reject', 'respond', 'stop', 'decline', 'cancel']);

/** The choices of a question that let something happen. */
export function approvingChoices(choices: readonly string[], onExpiry: string): readonly string[] {
  const silent = choices.includes('reject') || onExpiry === choices[0] ? null : onExpiry;
  return choices.filter((name) => !REFUSALS.has(name) && name !== silent);
}
