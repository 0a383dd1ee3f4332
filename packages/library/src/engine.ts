/** The engine of the library: its operations, their options, and the view of one caller. */
import type { RunInput } from '@sluice-internal/tools/calls';
import type { CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import type {
  BudgetGrant,
  Engine as Runtime,
  GivenAnswer,
  GivenRemark,
  OpenedRun,
  RunEntry,
  StartOptions,
} from '@sluice-internal/engine/ports';
import type { CompileResult } from '@sluice-internal/notations/driver';
import type { AnyDefinition, InputFor, OutputFor, QuestionsFor } from './define/definition.ts';
import type { ForkEdits } from './host/fork.ts';
import type { RetryOptions } from './host/retry.ts';
import type { Migration } from './host/migrate/migrate.ts';
import type { RunAt } from './host/run-state.ts';
import type { Run } from './run.ts';

/**
 * Options of `engine.run`.
 * @example
 * const options: RunOptions = { id: 'refund-1042', origin: { user: 'anna' } };
 */
export interface RunOptions extends Omit<StartOptions, 'input' | 'run'> {
  /** Makes the start idempotent: a second start under this id gives the same run. */
  readonly id?: RunId;
}

/**
 * Options of `engine.open`.
 * @example
 * const options: OpenOptions<typeof refunds> = { definition: refunds };
 */
export interface OpenOptions<Defined extends AnyDefinition = AnyDefinition> {
  /** The definition of the run's flow. */
  readonly definition?: Defined;
}

/**
 * Options of `engine.start`.
 * @example
 * const options: EngineStartOptions = { run: 'refund-1042', input: { message: 'money back' } };
 */
export interface EngineStartOptions extends Omit<StartOptions, 'input'> {
  /** Plain data. Images and files are made with `attachment(…)`. */
  readonly input?: RunInput;
}

/**
 * An engine: starts runs, continues them, answers questions and reports.
 * @example
 * const service = async (engine: Engine) => (await engine.run(refunds, { message: 'money back' })).id;
 */
export interface Engine extends Omit<Runtime, 'start' | 'resume' | 'fork' | 'migrate' | 'read'>, AsyncDisposable {
  /**
   * The engine as one caller sees it. A surface, such as a server, reaches runs only through such a view. It checks tenant and
   * access, and records the caller as the person who acts.
   * @example
   * const view = engine.as({ tenant: 'acme', person: 'anna', access: ['approver'] });
   */
  as(caller: Caller): EngineView;
  /** Starts a run of a definition. Throws a `CompileError` with every diagnostic, or a `SluiceError` for a bad input. */
  run<Defined extends AnyDefinition>(
    definition: Defined,
    input: InputFor<Defined>,
    options?: RunOptions,
  ): Promise<Run<OutputFor<Defined>, QuestionsFor<Defined>>>;
  /** Starts a run of a compiled document: the result of `compile`, or its `flow`. */
  run(flow: Compiled, input?: RunInput, options?: RunOptions): Promise<Run>;
  /** Starts a run and resolves with its id when the start is stored. */
  start(flow: Compiled | AnyDefinition, options?: EngineStartOptions): Promise<RunId>;
  /**
   * The handle of a run that exists. The run is read once, and then kept up to date. Its stored rows are verified again before it
   * goes on. The definition gives the handle types, and this engine the functions of its tools.
   * @example
   * const refund = await engine.open(run.id, { definition: refunds });
   * await refund.answer('gate', 'approve', { by: 'anna' });
   */
  open<Defined extends AnyDefinition>(
    run: RunId,
    options: OpenOptions<Defined>,
  ): Promise<Run<OutputFor<Defined>, QuestionsFor<Defined>>>;
  open(run: RunId): Promise<Run>;
  /**
   * A run after event `at`, by default after its last one: the state and the visits of its nodes, its meters, its open questions
   * and its values.
   * @example
   * const { nodes, meters } = await engine.state(run.id, { at: 12 });
   */
  state(run: RunId, options?: { readonly at?: number }): Promise<RunAt>;
  /**
   * Continues a run that no live process owns. With `grant`: one that ended because a budget was used up. The amounts are added,
   * and the run goes on from the call that did not fit.
   * @example
   * await engine.resume(run.id, { budget: { tool_calls: 20 }, by: 'anna' });
   */
  resume(run: RunId, grant?: BudgetGrant): Promise<Run>;
  /**
   * Starts a new run that shares the events of a run up to event `at`. Effects before it are not made again.
   * @example
   * const other = await engine.fork(run.id, { at: 12, set: { 'triage.output': { category: 'tech' } } });
   */
  fork(run: RunId, edits: ForkEdits): Promise<Run>;
  /**
   * Starts a new run that goes on at the call that failed. All that succeeded before stays. What the end of the run undid is done
   * again, and an approval of the call is asked again.
   * @example
   * const again = await engine.retry(run.id, { by: 'anna' });
   */
  retry(run: RunId, options?: RetryOptions): Promise<Run>;
  /**
   * Moves a suspended run to a new version of its flow. Throws a `SluiceError` that names each part that does not fit.
   * @example
   * const moved = await engine.migrate(run.id, refunds, { by: 'olga' });
   */
  migrate(run: RunId, flow: Compiled | AnyDefinition, options?: Migration): Promise<Run>;
}

export type Compiled = CompiledFlow | CompileResult;

/**
 * What a caller may do. `admin` includes the others, and each of them may view.
 * @example
 * const access: readonly Access[] = ['operator', 'approver'];
 */
export type Access = 'viewer' | 'operator' | 'approver' | 'admin';

/**
 * The caller of an engine, as its surface has identified it.
 * @example
 * const caller: Caller = { tenant: 'acme', person: 'anna', access: ['approver'] };
 */
export interface Caller {
  /** Null or absent: the tenant of the engine, and without one the runs that have no tenant. */
  readonly tenant?: string | null;
  /** The person who calls. Null or absent: a program. It answers only questions of flows that declare no people. */
  readonly person?: string | null;
  /** How the surface knows the caller. Absent: it proves nothing. */
  readonly proof?: CallerProof | null;
  readonly access: readonly Access[];
}

/**
 * How a surface knows a caller. With `os_user`, the person is the user of this process. With `token` and `oidc` and their fields, the
 * engine signs the login with each answer of the person, whose `login` in `people` must be this one.
 * @example
 * const proof: CallerProof = { via: 'oidc', issuer: 'https://login.example.com', subject: 'u-17', token: 'j_81' };
 */
export interface CallerProof {
  readonly via: 'os_user' | 'token' | 'oidc';
  /** The address of the OIDC issuer; of a token the server that made it. */
  readonly issuer?: string;
  /** The subject of the issuer; of a token `token:NAME`. */
  readonly subject?: string;
  /** The id of the token. */
  readonly token?: string;
}

/** An answer of the caller. Another name in `by` is refused. */
type OwnAnswer = Omit<GivenAnswer, 'by' | 'remote' | 'login'> & { readonly by?: string };

/**
 * The operations of a caller. One that its access does not cover is refused with `access-denied`.
 * @example
 * const view: EngineView = engine.as({ tenant: 'acme', person: 'anna', access: ['approver'] });
 */
export interface EngineView extends Omit<
  Engine,
  'answer' | 'cancel' | 'guide' | 'migrate' | 'repin' | 'as' | 'close' | 'drain' | 'health' | typeof Symbol.asyncDispose
> {
  /** A run as it is stored, for what only its journal tells: its calls, its differences to another run. */
  read(run: RunId): Promise<OpenedRun>;
  /** The entry of a run in the list; null if this caller has no such run. */
  find(run: RunId): Promise<RunEntry | null>;
  answer(approval: string, answer: OwnAnswer): Promise<RunId>;
  /** A person is recorded under the own name. `by` is the name of a program. */
  guide(run: RunId, remark: Omit<GivenRemark, 'by'> & { readonly by?: string }): Promise<void>;
  /** A person is recorded under the own name. `by` is the name of a program. */
  cancel(run: RunId, by?: string, why?: string): Promise<void>;
}
