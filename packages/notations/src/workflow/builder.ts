/**
 * A workflow in TypeScript. It becomes the document that YAML would give, and the compiler checks its names while it is
 * written: variables of earlier steps, agents and keys.
 */
import type * as z from 'zod';
import type {
  NamedAgent,
  NamedServers,
  NamedTools,
  OneOf,
  SharedSections,
  Trimmed,
  Verified,
  Written,
} from '@sluice-internal/compile/document';
import type { workflowSchema } from './schema.ts';

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
  ? First extends { readonly mode: 'fan_out' | 'fanout' | 'FanOut' }
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

/** The names in braces. Text with nested braces is plain text. A prompt that is not a literal has no known names. */
type Holes<Prompt, Found extends string = never> = Prompt extends `${string}{{${infer Hole}}}${infer Rest}`
  ? Holes<Rest, Hole extends `${string}${'{' | '}'}${string}` ? Found : Found | Trimmed<Hole>>
  : Exclude<Found, ''>;

type AgentKeys = 'agent' | 'agent_name' | 'agent_id';
type PromptKeys = 'prompt' | 'prompt_template';
type Fields = Written<z.input<typeof workflowSchema>['steps'][number]>;
type StepInput<Name = string, Id = string, Prompt = string> = Omit<Fields, AgentKeys | PromptKeys> & {
  readonly agent?: Name | Id | AgentVariant<Name, Id> | undefined;
  readonly agent_name?: Name | undefined;
  readonly agent_id?: Id | undefined;
} & { readonly [Key in PromptKeys]?: Prompt | undefined };

type AgentVariant<Name, Id> =
  | { readonly ByName: Name }
  | { readonly ById: Id }
  | { readonly name: Name }
  | { readonly id: Id };
