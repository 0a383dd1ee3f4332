/**
 * A workflow in TypeScript: the document that YAML would give, with its names checked while it is written. A prompt that
 * names a variable which no earlier step stores is a type error, and so is an agent that the given list does not have, or a
 * key that the notation does not have.
 */
import type { NamedAgent, NamedServers, NamedTools, SharedSections } from '../builder-types/sections.ts';
import type { OneOf, Verified, Trimmed } from '../builder-types/verified.ts';
import type { ErrorMode, Mode } from './schema.ts';

/** The sections of a document besides its steps. */
export interface WorkflowSections<Agents> extends SharedSections {
  readonly agents?: Agents | undefined;
  readonly tools?: NamedTools | undefined;
  readonly mcp?: NamedServers | undefined;
}

export interface WorkflowInput<Steps> {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** Read and left alone. */
  readonly created_at?: unknown;
  readonly steps: Steps;
}

export interface WorkflowDocument extends WorkflowSections<readonly NamedAgent[]> {
  readonly workflow: WorkflowInput<readonly StepInput[]>;
}

export function workflow<
  const Steps extends readonly StepInput[],
  const Agents extends readonly NamedAgent[] = readonly NamedAgent[],
>(
  definition: WorkflowInput<Verified<Steps, CheckedSteps<Steps, Agents>>>,
  sections: WorkflowSections<Agents> = {},
): WorkflowDocument {
  return { ...sections, workflow: definition };
}

/** The steps again, each as it must be among the others. */
export type CheckedSteps<Steps extends readonly StepInput[], Agents> = {
  readonly [Index in keyof Steps]: StepInput<
    NameOf<Agents>,
    IdOf<Agents>,
    OneOf<NotStored<PromptOf<Steps[Index]>, KnownAt<KnownBefore<Steps>, Index>>, string>
  >;
};

/**
 * The names stored before each step. The names of a batch are known only after it, because its branches do not see each other.
 * If the steps are not a tuple, any name may be stored.
 */
type KnownBefore<
  Steps,
  Known extends string = 'input',
  Batch extends string = never,
  Done extends readonly string[] = readonly [],
> = Steps extends readonly [infer First, ...infer Rest]
  ? First extends { readonly mode: FanOut }
    ? KnownBefore<Rest, Known, Batch | Stored<First>, readonly [...Done, Known]>
    : KnownBefore<Rest, Known | Batch | Stored<First>, never, readonly [...Done, Known | Batch]>
  : Steps extends readonly []
    ? Done
    : readonly string[];
type KnownAt<Known extends readonly string[], Index> = Index extends keyof Known ? Known[Index] & string : string;

type NotStored<Prompt, Known extends string> = string extends Known
  ? never
  : Exclude<Holes<Prompt>, Known> extends infer Name extends string
    ? `no earlier step stores {{${Name}}}: write {{${Known}}}`
    : never;
type PromptOf<Step> = Step extends { readonly prompt: infer Prompt } | { readonly prompt_template: infer Prompt }
  ? Prompt
  : never;
type Stored<Step> = Step extends { readonly output_var: infer Variable extends string } ? Variable : never;

type NameOf<Agents> = OneOf<Either<Agents, 'name', 'id'>, 'no agent is declared'>;
type IdOf<Agents> = OneOf<Either<Agents, 'id', 'name'>, 'no agent is declared'>;
type Either<Agents, Field extends string, Other extends string> = Agents extends readonly (infer Agent)[]
  ? Agent extends { readonly [Key in Field]: infer Given extends string }
    ? Given
    : Agent extends { readonly [Key in Other]: infer Given extends string }
      ? Given
      : string
  : string;

/** The names in braces. What holds braces itself is plain text, and a prompt that is not a literal has none to be known. */
type Holes<Prompt, Found extends string = never> = Prompt extends `${string}{{${infer Hole}}}${infer Rest}`
  ? Holes<Rest, Hole extends `${string}${'{' | '}'}${string}` ? Found : Found | Trimmed<Hole>>
  : Exclude<Found, ''>;

interface StepInput<Name = string, Id = string, Prompt = string> {
  readonly name?: string | undefined;
  readonly agent?: Name | Id | AgentVariant<Name, Id> | undefined;
  readonly agent_name?: Name | undefined;
  readonly agent_id?: Id | undefined;
  readonly prompt?: Prompt | undefined;
  readonly prompt_template?: Prompt | undefined;
  readonly mode?: ModeInput | undefined;
  readonly condition?: string | undefined;
  readonly max_iterations?: number | undefined;
  readonly until?: string | undefined;
  readonly timeout_secs?: number | undefined;
  readonly error_mode?: ErrorModeInput | undefined;
  readonly max_retries?: number | undefined;
  readonly output_var?: string | null | undefined;
}

type AgentVariant<Name, Id> =
  | { readonly ByName: Name }
  | { readonly ById: Id }
  | { readonly name: Name }
  | { readonly id: Id };

/** Each word with a capital and without. */
type Spelt<Word extends string> = Word | Lowercase<Word>;
type FanOut = 'fan_out' | Spelt<'FanOut'>;

type ModeInput =
  | 'fan_out'
  | Spelt<Mode>
  | { readonly Conditional: ConditionalInput }
  | { readonly conditional: ConditionalInput }
  | { readonly Loop: LoopInput }
  | { readonly loop: LoopInput };

type ErrorModeInput = Spelt<ErrorMode> | { readonly Retry: RetryInput } | { readonly retry: RetryInput };

/** Fields that a variant leaves out may be in the step itself. */
interface ConditionalInput {
  readonly condition?: string | undefined;
}
interface LoopInput {
  readonly until?: string | undefined;
  readonly max_iterations?: number | undefined;
}
interface RetryInput {
  readonly max_retries?: number | undefined;
}
