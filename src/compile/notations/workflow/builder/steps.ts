/** The steps of a workflow as they are written, in every spelling. Names of agents are parameters, and any text unless told. */

export interface StepInput<Name = string, Id = string, Prompt = string> {
  readonly name?: string;
  readonly agent?: Name | Id | AgentVariant<Name, Id>;
  readonly agent_name?: Name;
  readonly agent_id?: Id;
  readonly prompt?: Prompt;
  readonly prompt_template?: Prompt;
  readonly mode?: ModeInput;
  readonly condition?: string;
  readonly max_iterations?: number;
  readonly until?: string;
  readonly timeout_secs?: number;
  readonly error_mode?: ErrorModeInput;
  readonly max_retries?: number;
  readonly output_var?: string | null;
}

type AgentVariant<Name, Id> =
  | { readonly ByName: Name }
  | { readonly ById: Id }
  | { readonly name: Name }
  | { readonly id: Id };

export type FanOut = 'fan_out' | 'FanOut' | 'fanout';

type ModeInput =
  | FanOut
  | 'sequential'
  | 'Sequential'
  | 'collect'
  | 'Collect'
  | 'conditional'
  | 'Conditional'
  | 'loop'
  | 'Loop'
  | { readonly Conditional: ConditionalInput }
  | { readonly conditional: ConditionalInput }
  | { readonly Loop: LoopInput }
  | { readonly loop: LoopInput };

type ErrorModeInput =
  | 'fail'
  | 'Fail'
  | 'skip'
  | 'Skip'
  | 'retry'
  | 'Retry'
  | { readonly Retry: RetryInput }
  | { readonly retry: RetryInput };

/** What a variant does not hold may stand in the step itself. */
interface ConditionalInput {
  readonly condition?: string;
}
interface LoopInput {
  readonly until?: string;
  readonly max_iterations?: number;
}
interface RetryInput {
  readonly max_retries?: number;
}
