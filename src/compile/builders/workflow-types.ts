/** Types that follow a workflow from step to step: what is stored so far, and what each prompt asks for. */

export interface StepInput {
  readonly name?: string;
  readonly agent?:
    | string
    | { readonly ByName: string }
    | { readonly ById: string }
    | { readonly name: string }
    | { readonly id: string };
  readonly agent_name?: string;
  readonly agent_id?: string;
  readonly prompt?: string;
  readonly prompt_template?: string;
  readonly mode?: ModeInput;
  readonly condition?: string;
  readonly max_iterations?: number;
  readonly until?: string;
  readonly timeout_secs?: number;
  readonly error_mode?: ErrorModeInput;
  readonly max_retries?: number;
  readonly output_var?: string;
}
type ModeWord =
  | 'sequential'
  | 'fan_out'
  | 'collect'
  | 'conditional'
  | 'loop'
  | 'Sequential'
  | 'FanOut'
  | 'Collect'
  | 'Conditional'
  | 'Loop';
export type ModeInput =
  | ModeWord
  | { readonly Conditional: { readonly condition: string } }
  | { readonly Loop: { readonly until: string; readonly max_iterations?: number } };
export type ErrorModeInput =
  | 'fail'
  | 'skip'
  | 'retry'
  | 'Fail'
  | 'Skip'
  | 'Retry'
  | { readonly Retry: { readonly max_retries?: number } };

/**
 * The steps again, each as it must be. `Known` is what earlier steps stored; what a batch stores is known after it, since its
 * branches do not see each other. Steps that are no tuple cannot be followed and are taken as they are.
 */
export type CheckedSteps<
  Steps,
  Agents,
  Known extends string = 'input',
  Batch extends string = never,
  Done extends readonly unknown[] = readonly [],
> = Steps extends readonly [infer First, ...infer Rest]
  ? IsBranch<First> extends true
    ? CheckedSteps<Rest, Agents, Known, Batch | Stored<First>, readonly [...Done, CheckedStep<First, Agents, Known>]>
    : CheckedSteps<
        Rest,
        Agents,
        Known | Batch | Stored<First>,
        never,
        readonly [...Done, CheckedStep<First, Agents, Known | Batch>]
      >
  : Steps extends readonly []
    ? Done
    : Steps;

type CheckedStep<Step, Agents, Known extends string> = Step & CheckedPrompt<Step, Known> & CheckedAgent<Step, Agents>;

type CheckedPrompt<Step, Known extends string> = {
  readonly [Field in keyof Step & ('prompt' | 'prompt_template')]: Unknown<Holes<Step[Field]>, Known> extends never
    ? Step[Field]
    : `no earlier step stores {{${Unknown<Holes<Step[Field]>, Known>}}}`;
};
type Unknown<Names extends string, Known extends string> = string extends Known ? never : Exclude<Names, Known>;

type CheckedAgent<Step, Agents> = {
  readonly [Field in keyof Step & ('agent_name' | 'agent_id')]: Step[Field] extends NamesOf<Agents, Field>
    ? Step[Field]
    : NamesOf<Agents, Field>;
};
type NamesOf<Agents, Field> = Agents extends readonly (infer Agent)[]
  ? Field extends 'agent_id'
    ? Id<Agent>
    : Name<Agent>
  : string;
type Name<Agent> = Agent extends { readonly name: infer Given extends string }
  ? Given
  : Agent extends { readonly id: infer Given extends string }
    ? Given
    : string;
type Id<Agent> = Agent extends { readonly id: infer Given extends string }
  ? Given
  : Agent extends { readonly name: infer Given extends string }
    ? Given
    : string;

type IsBranch<Step> = Step extends { readonly mode: 'fan_out' | 'FanOut' } ? true : false;
type Stored<Step> = Step extends { readonly output_var: infer Variable extends string } ? Variable : never;

/** The names in braces; a prompt that is not a literal has none that could be known. */
type Holes<Prompt, Found extends string = never> = Prompt extends `${string}{{${infer Name}}}${infer Rest}`
  ? Holes<Rest, Found | Trim<Name>>
  : Found;
type Trim<Text extends string> = Text extends ` ${infer Rest}`
  ? Trim<Rest>
  : Text extends `${infer Rest} `
    ? Trim<Rest>
    : Text;
