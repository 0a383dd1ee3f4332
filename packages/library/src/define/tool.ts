/** Tools as values: the definition and its implementation in one place. */
import type { ApproversFields } from '@sluice-internal/compile/document';
import { builtinTool } from '@sluice-internal/kernel/catalog';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { EffectClass } from '@sluice-internal/kernel/ir';
import { fail } from '@sluice-internal/engine/ports';
import type { ToolContext, ToolFunction } from '@sluice-internal/tools/calls';
import { toJsonSchema, validate, type InputOf, type OutputOf, type StandardSchema } from './schema.ts';

declare const TYPES: unique symbol;

/**
 * A tool with its types: `Args` is what a caller passes, `Result` is what a call returns.
 * @example
 * const look: Tool<'web.look'> = tool('web.look', { effect: 'read' });
 */
export interface Tool<Name extends string = string, Args = never, Result = unknown> {
  readonly kind: 'tool';
  readonly name: Name;
  /** The definition under `tools` in a document. */
  readonly definition: { readonly [field: string]: unknown };
  /** Undefined for a tool that runs only under a script. */
  readonly run: ToolFunction | undefined;
  /** The tool that undoes a call. */
  readonly compensate: AnyTool | undefined;
  /** Exists in types only. */
  readonly [TYPES]?: { readonly args: (args: Args) => void; readonly result: Result };
}
export type AnyTool = Tool;

/**
 * The effect class of a tool: what a call of it changes.
 * @example
 * const effect: Effect = 'financial';
 */
export type Effect = EffectClass;

/**
 * The times of a call, in seconds.
 * @example
 * const times: ToolTimes = { attempt: 600, whole: 3600, heartbeat: 20 };
 */
export interface ToolTimes {
  /** One attempt in one process. Default 30. */
  readonly attempt?: number | undefined;
  /** The wait of an attempt for its rate limit. */
  readonly queue?: number | undefined;
  /** All attempts, with the waits between them. */
  readonly whole?: number | undefined;
  /** The longest silence of an attempt: it calls `context.heartbeat()` more often. */
  readonly heartbeat?: number | undefined;
}

interface ToolSettings {
  readonly description?: string | undefined;
  /** Seconds that one attempt of a call may take, or the times by name. Default 30. */
  readonly timeout?: number | ToolTimes | undefined;
  /** Ask a person before every call. */
  readonly approval?: boolean | undefined;
  /** The people who may approve a call. Every call then needs approval. */
  readonly approvers?: ApproversFields | undefined;
  /** Results must not leave the machine without approval. */
  readonly confidential?: boolean | undefined;
  /** A call may be repeated under its key without a second effect. */
  readonly idempotent?: boolean | undefined;
  /** The tool that undoes a call of this one. It receives `args` and `result` of the call. */
  readonly compensate?: AnyTool | undefined;
  readonly rateLimit?: { readonly calls: number; readonly perSeconds: number } | undefined;
  /** US dollars per call. */
  readonly cost?: number | undefined;
  readonly permission?: string | undefined;
  /** Expressions over `args`, for the person who is asked about a call. Without a value, a person is asked. */
  readonly amount?: string | undefined;
  readonly recipients?: string | undefined;
  readonly payee?: string | undefined;
  readonly trust?: 'trusted' | 'neutral' | 'untrusted' | undefined;
  readonly trustedFields?: readonly string[] | undefined;
  /** Fields of a definition in YAML that this interface does not have. */
  readonly more?: { readonly [field: string]: unknown } | undefined;
}

type Run<Args, Result> = (args: Args, context: ToolContext) => Result | Promise<Result>;

type GivenTo<Input> = Input extends StandardSchema ? OutputOf<Input> : Readonly<Record<string, Json>>;

interface ToolOptions<Input> extends ToolSettings {
  /** The effect class of a call. Default `write`. */
  readonly effect?: Effect | undefined;
  /** The schema of the arguments. */
  readonly input?: Input | undefined;
}
interface CheckedTool<Input, Output, Result> extends ToolOptions<Input> {
  /** The schema of the result. `run` must return its type. */
  readonly output: Output;
  readonly run?: Run<GivenTo<Input>, Result> | undefined;
}
interface InferredTool<Input, Result> extends ToolOptions<Input> {
  readonly output?: undefined;
  /** The type of the result is the type that it returns. */
  readonly run?: Run<GivenTo<Input>, Result> | undefined;
}
/**
 * The literals that `run` returns are inferred as they are written, and must fit the schema. The last overload of `tool` and of
 * `code` accepts nothing more: the compiler shows its error, which names both types.
 */
type Fits<Output, Result> = [Result] extends [InputOf<Output>]
  ? unknown
  : [Mutable<Result>] extends [InputOf<Output>]
    ? unknown
    : never;
type Mutable<Value> = { -readonly [Key in keyof Value]: Mutable<Value[Key]> };
type ArgsOf<Input> = Input extends StandardSchema ? InputOf<Input> : Readonly<Record<string, unknown>>;
type ResultOf<Result> = unknown extends Result ? unknown : Result extends void ? null : Result;

interface AnyOptions extends ToolOptions<StandardSchema | undefined> {
  readonly output?: StandardSchema | undefined;
  readonly run?: Run<never, unknown> | undefined;
}

/**
 * Declares a tool. `run` gets validated arguments, a key that is the same for every attempt, and a signal that is aborted
 * when the call times out or the run is cancelled.
 * @example
 * const refund = tool('payments.refund', {
 *   effect: 'financial',
 *   input: z.object({ order: z.string(), amount: z.number() }),
 *   run: ({ order, amount }, { idempotencyKey }) => pay(order, amount, idempotencyKey),
 * });
 */
export function tool<
  const Name extends string,
  Output extends StandardSchema,
  Input extends StandardSchema | undefined = undefined,
  const Result = never,
>(
  name: Name,
  options: CheckedTool<Input, Output, Result> & Fits<Output, Result>,
): Tool<Name, ArgsOf<Input>, InputOf<Output>>;
export function tool<const Name extends string, Input extends StandardSchema | undefined = undefined, Result = unknown>(
  name: Name,
  options: InferredTool<Input, Result>,
): Tool<Name, ArgsOf<Input>, ResultOf<Result>>;
export function tool<
  const Name extends string,
  Output extends StandardSchema,
  Input extends StandardSchema | undefined = undefined,
>(name: Name, options: CheckedTool<Input, Output, InputOf<Output>>): Tool<Name, ArgsOf<Input>, InputOf<Output>>;
export function tool(name: string, options: AnyOptions): AnyTool {
  const { input, output, run, compensate, rateLimit, trustedFields, more, ...rest } = options;
  // A function under the name of a built-in tool does not have its effect.
  const replaces = run !== undefined && builtinTool(name) !== undefined;
  const definition = present({
    ...rest,
    effect: rest.effect ?? (replaces ? 'write' : undefined),
    input: input && toJsonSchema(input, `the arguments of \`${name}\``),
    output: output && toJsonSchema(output, `the result of \`${name}\``),
    compensate: compensate?.name,
    rate_limit: rateLimit && { calls: rateLimit.calls, per_seconds: rateLimit.perSeconds },
    trusted_fields: trustedFields,
    ...more,
  });
  return Object.freeze({
    kind: 'tool' as const,
    name,
    definition,
    run: run === undefined ? undefined : checked(name, input, run),
    compensate,
  });
}

interface CodeOptions<Input> {
  readonly description?: string | undefined;
  readonly input?: Input | undefined;
  readonly timeout?: number | undefined;
}
interface CheckedCode<Input, Output, Result> extends CodeOptions<Input> {
  /** The schema of the result. `run` must return its type. */
  readonly output: Output;
  readonly run: Run<GivenTo<Input>, Result>;
}
interface InferredCode<Input, Result> extends CodeOptions<Input> {
  readonly output?: undefined;
  readonly run: Run<GivenTo<Input>, Result>;
}

/**
 * A step that is a plain function: a tool without side effects. Its result follows from its arguments only, so it does not
 * make them less trusted.
 * @example
 * const total = code('total', { input: z.object({ items: z.array(z.number()) }), run: ({ items }) => items.reduce((a, b) => a + b, 0) });
 */
export function code<
  const Name extends string,
  Output extends StandardSchema,
  Input extends StandardSchema | undefined = undefined,
  const Result = never,
>(
  name: Name,
  options: CheckedCode<Input, Output, Result> & Fits<Output, Result>,
): Tool<Name, ArgsOf<Input>, InputOf<Output>>;
export function code<const Name extends string, Input extends StandardSchema | undefined = undefined, Result = unknown>(
  name: Name,
  options: InferredCode<Input, Result>,
): Tool<Name, ArgsOf<Input>, ResultOf<Result>>;
export function code<
  const Name extends string,
  Output extends StandardSchema,
  Input extends StandardSchema | undefined = undefined,
>(name: Name, options: CheckedCode<Input, Output, InputOf<Output>>): Tool<Name, ArgsOf<Input>, InputOf<Output>>;
export function code(name: string, options: AnyOptions): AnyTool {
  return (tool as (name: string, options: AnyOptions) => AnyTool)(name, {
    ...options,
    effect: 'read',
    trust: 'neutral',
  });
}

/** Validates the arguments, which also applies defaults and transformations of the schema. */
function checked(name: string, input: StandardSchema | undefined, run: Run<never, unknown>): ToolFunction {
  return async (args, context) => {
    if (input === undefined) return (await run(args as never, context)) as Json;
    const result = await validate(input, args);
    if (result.problem === undefined) return (await run(result.value as never, context)) as Json;
    throw fail('semantic', 'ArgumentError', `the arguments of \`${name}\` do not fit its schema: ${result.problem}`);
  };
}
