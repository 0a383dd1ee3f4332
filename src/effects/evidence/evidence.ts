/**
 * What a check may look at: the observations that are on the journal, and files as they are on disk. There is no way from
 * here to what an agent says it did, with one exception: the reply of the turn, for the check that wants a judgement in it.
 */
import type { EvidenceFailure } from '../../catalog/validators.ts';
import type { Json } from '../../expr/json.ts';
import type { RunId } from '../../ir/events.ts';

/** One tool call as it was observed. */
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
export interface Verdict {
  readonly ok: boolean;
  /** Why not, in words that tell an agent what to do. */
  readonly reason: string;
  readonly failure?: EvidenceFailure;
  /** Ids of the observations that speak for it or against it. */
  readonly evidence?: readonly string[];
}
/** A command that really ran. */
export interface CommandRun {
  readonly id: string;
  readonly turn: number;
  readonly command: string;
  readonly passed: boolean;
  readonly output: string;
}
export type Scope = 'turn' | 'session';

export interface Evidence {
  /** Of the whole session, in order. */
  readonly observations: readonly Observation[];
  /** Of the current turn only: what came before a correction no longer counts. */
  readonly thisTurn: readonly Observation[];
  readonly turn: number;
  readonly agent: string;
  readonly config: { readonly [field: string]: Json };
  /** What the agent said in this turn. */
  readonly response: string;
  commands(scope: Scope): readonly CommandRun[];
  /** Paths that were written, and not deleted since. */
  filesWritten(scope: Scope): readonly string[];
  /** Null when there is no such file under the work directory. */
  readText(path: string): Promise<string | null>;
  run(command: string, timeoutMs: number): Promise<Ran>;
  readonly files: FileTree;
}
export interface FileTree {
  list(path: string): Promise<readonly { readonly name: string; readonly type: string }[] | null>;
}
export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A check, built in or of the user's own. */
export type Validator = (evidence: Evidence) => Verdict | Promise<Verdict>;

export interface EvidenceOptions {
  readonly workDir: string | ((run: RunId) => string);
  /** Where a module that a document names as a validator is looked for. */
  readonly documentDir?: string;
  /** Validators of the user's own, by name. */
  readonly validators?: { readonly [name: string]: Validator };
  /** Runs a command in the sandbox, for the checks that run tests themselves. */
  readonly run?: (
    command: string,
    request: { readonly workDir: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<Ran>;
}
