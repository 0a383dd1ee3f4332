/**
 * The evidence that a check may read: tool calls in the journal, and files on disk. The text of an agent is not evidence,
 * except the reply of the turn for checks that read a judgement in it.
 */
import type { EvidenceFailure } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';

/**
 * One recorded tool call.
 * @example
 * const isGood = ({ ok, tool }: Observation) => ok && tool === 'shell_run';
 */
export interface Observation {
  readonly id: string;
  readonly turn: number;
  readonly agent: string;
  readonly tool: string;
  readonly args: { readonly [field: string]: Json };
  readonly ok: boolean;
  readonly result?: Json;
  readonly error?: Json;
}
/**
 * The verdict of a validator.
 * @example
 * const verdict: Verdict = { ok: false, reason: 'No test was run.' };
 */
export interface Verdict {
  readonly ok: boolean;
  /** For a refusal: the reason, in words that tell the agent what to do. */
  readonly reason: string;
  readonly failure?: EvidenceFailure;
  /** Ids of the observations that the verdict rests on. */
  readonly evidence?: readonly string[];
}
/** A shell command that ran. */
export interface CommandRun {
  readonly id: string;
  readonly turn: number;
  /** The place of the call among all observations of the session. */
  readonly index: number;
  readonly command: string;
  /** True if the line exited with 0. */
  readonly passed: boolean;
  readonly output: string;
  /** The file that a file tool of any agent changed later, so that the command must run again; null if there is none. */
  readonly stale: string | null;
}
/** `turn`: since the agent got the word, by its own calls. Corrections and further turns do not end it. */
export type Scope = 'turn' | 'session';

/**
 * The evidence that a validator may read: recorded tool calls and files.
 * @example
 * const tested: Validator = async (evidence: Evidence) => ({ ok: evidence.commands('turn').some(({ passed }) => passed), reason: 'Run the tests.' });
 */
export interface Evidence {
  /** Of the whole session, in order. */
  readonly observations: readonly Observation[];
  /** Of the agent, since it got the word. */
  readonly thisTurn: readonly Observation[];
  readonly turn: number;
  readonly agent: string;
  readonly config: { readonly [field: string]: Json };
  /** The agent's message of this turn. */
  readonly response: string;
  commands(scope: Scope): readonly CommandRun[];
  /** Paths that were written and not deleted since. */
  filesWritten(scope: Scope): readonly string[];
  /** Null if there is no such file under the work directory. */
  readText(path: string): Promise<string | null>;
  run(command: string, timeoutMs: number): Promise<Ran>;
  readonly files: {
    list(path: string): Promise<readonly { readonly name: string; readonly type: string }[] | null>;
  };
}
export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A check, built in or the user's own.
 * @example
 * const mentionsOrder: Validator = async ({ response }) => ({ ok: /A-\d+/.test(response), reason: 'Name the order.' });
 */
export type Validator = (evidence: Evidence) => Verdict | Promise<Verdict>;

/**
 * Options of `evidencePerformer`.
 * @example
 * const options: EvidenceOptions = { workDir: () => './work', documentDir: '.', run: shellRunner() };
 */
export interface EvidenceOptions {
  readonly workDir: string | ((run: RunId) => string);
  /** The folder from which validator modules are loaded. */
  readonly documentDir?: string;
  /** The user's own validators, by name. */
  readonly validators?: { readonly [name: string]: Validator };
  /** Runs a command in the sandbox, for checks that run tests. */
  readonly run?: (
    command: string,
    request: { readonly workDir: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<Ran>;
}

export function pass(evidence: readonly string[] = []): Verdict {
  return { ok: true, reason: '', evidence };
}

/** A refusal for lack of evidence. */
export function missing(reason: string, evidence: readonly string[] = []): Verdict {
  return { ok: false, reason, failure: 'MissingEvidence', evidence };
}

/** A refusal because the evidence contradicts the statement. */
export function conflicting(reason: string, evidence: readonly string[] = []): Verdict {
  return { ok: false, reason, failure: 'ConflictingEvidence', evidence };
}

/** A refusal because the step is not allowed yet. */
export function invalid(reason: string, evidence: readonly string[] = []): Verdict {
  return { ok: false, reason, failure: 'InvalidTransition', evidence };
}

/** Words in the reason of a user's validator. */
const CONFLICTING =
  /fake|hallucin|inconsistent|no evidence|never (?:actually )?ran|not in change log|not recorded|command was not run|no record|fabricated|cannot be verified|unverifiable/i;
const MISSING = /not found|does not exist|no file|missing|could not read|failed to read|brief not|test report not/i;

/** The failure type of a user's validator that gives only a reason. */
export function failureOf(reason: string): EvidenceFailure {
  if (CONFLICTING.test(reason)) return 'ConflictingEvidence';
  return MISSING.test(reason) ? 'MissingEvidence' : 'InvalidTransition';
}
