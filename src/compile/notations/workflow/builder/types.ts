/** Types that follow a workflow from step to step: what is stored so far, what each prompt asks for, and whom a step may name. */
import type { Trimmed } from '../../builder-types/trimmed.ts';
import type { OneOf } from '../../builder-types/verified.ts';
import type { FanOut, StepInput } from './steps.ts';

/** The steps again, each as it must be among the others. */
export type CheckedSteps<Steps extends readonly StepInput[], Agents> = {
  readonly [Index in keyof Steps]: StepInput<
    NameOf<Agents>,
    IdOf<Agents>,
    OneOf<NotStored<PromptOf<Steps[Index]>, KnownAt<KnownBefore<Steps>, Index>>, string>
  >;
};

/**
 * What is stored before each step. What a batch stores is known after it, since its branches do not see each other. Steps
 * that are no tuple cannot be followed, so any name may be stored by one of them.
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
