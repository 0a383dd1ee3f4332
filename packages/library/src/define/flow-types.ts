/** The types of a flow: its state grows with every step, so a later step can use the result of an earlier one. */
import type { ApproversFields } from '@sluice-internal/compile/document';
import type { TerminalCode } from '@sluice-internal/kernel/ir';
import type { Agent } from './agent.ts';
import type { Definition, FreeName, InBoth, Questions, UnlessTaken } from './definition.ts';
import type { Expression, Given, Operand, Ref, Resolved } from './expression.ts';
import type { Tool } from './tool.ts';

/** The input of a flow: the type for callers, and the type after validation for steps. */
interface Io {
  readonly given: unknown;
  readonly payload: unknown;
}

/** The results so far, by step. */
type State = { readonly [step: string]: unknown };

/** The argument of functions of a flow: the input and the results of earlier steps. */
type Scope<In extends Io, Results> = { readonly input: Ref<In['payload']> } & {
  readonly [Step in keyof Results]-?: Ref<Results[Step]>;
};

/** The name of a step unless `as` gives another: the id of an agent, the last part of the name of a tool. */
type NameOf<Step> =
  Step extends Agent<infer Id> ? Id : Step extends { readonly name: infer Name } ? LastPart<Name> : never;
type LastPart<Name> = Name extends `${string}.${infer Rest}` ? LastPart<Rest> : Name & string;

/** The result that a step leaves. */
type LeftBy<Step> =
  Step extends Agent<string, infer Output> ? Output : Step extends Tool<string, never, infer Result> ? Result : never;

/** The argument of a step: a prompt for an agent, the arguments of a tool. */
type ArgumentOf<Step> =
  Step extends Tool<string, infer Args>
    ? { readonly [Field in keyof Args]: Given<Args[Field]> }
    : Expression<unknown> | string | { readonly [field: string]: unknown };

/**
 * How a step is tried again.
 * @example
 * const retry: Retry = { maxAttempts: 3, backoffMs: 500, match: 'TimeoutError' };
 */
export interface Retry {
  /** The number of attempts, the first one included. */
  readonly maxAttempts: number;
  readonly backoffMs?: number | undefined;
  readonly multiplier?: number | undefined;
  readonly maxBackoffMs?: number | undefined;
  /** Retries only errors whose type or message matches this pattern. */
  readonly match?: string | undefined;
}

/**
 * The last failure, in the steps of `onError`.
 * @example
 * const route = ({ type, message }: Failure) => console.error(type, message);
 */
export interface Failure {
  readonly type: string;
  readonly message: string;
  readonly class: string;
  readonly node: string;
  readonly code: string;
}

export interface NodeOptions {
  readonly description?: string | undefined;
  /** Seconds that one attempt may take, with all its model and tool calls. */
  readonly timeout?: number | undefined;
  readonly retry?: Retry | undefined;
}

export interface ApproveOptions<Choices extends readonly string[]> {
  /** Default: `approve` and `reject`, and the flow goes on only with `approve`. With choices of your own it always goes on. */
  readonly choices?: Choices | undefined;
  /** Seconds to wait for an answer. Default: no limit. */
  readonly timeout?: number | undefined;
  readonly onTimeout?: Choices[number] | undefined;
  readonly description?: string | undefined;
  /** The people who may answer. */
  readonly approvers?: ApproversFields | undefined;
}

export interface MapOptions {
  /** The name of the item in expressions. Default `item`; a map within a map needs another one. */
  readonly as?: string | undefined;
  /** The number of items that run at once. Default 5. */
  readonly width?: number | undefined;
  /** The most items. Default 1000. */
  readonly maxItems?: number | undefined;
  readonly onItemError?: 'fail' | 'skip' | 'collect' | undefined;
}

export interface ParallelOptions {
  /** Default `all`. A number: as many branches must succeed. */
  readonly join?: 'all' | 'any' | number | undefined;
  /** Seconds. Default 60. */
  readonly timeout?: number | undefined;
}

type FailCode = Exclude<TerminalCode, 'SUCCESS' | 'PARTIAL_SUCCESS' | 'USER_CANCEL'>;

declare const SHAPE: unique symbol;

/** A part of a flow as the types see it. */
interface Shape {
  readonly state: State;
  readonly questions: Questions;
  /** The result of the last step, on the paths that continue. */
  readonly last: unknown;
  /** The outputs of paths that have ended. */
  readonly ended: unknown;
  /** The names of all steps, also of those whose results cannot be read here. */
  readonly names: string;
}
/** A flow, or a part of one, open or ended. */
interface Part<Known extends Shape = Shape> {
  /** Exists in types only. */
  readonly [SHAPE]: Known;
}
type ShapeOf<Of> = Of extends { readonly [SHAPE]: infer Known extends Shape } ? Known : never;

type With<Known, Name extends string, Value> = Known & { readonly [Key in Name]: Value };
/** State that exists only on some paths. */
type Maybe<Inner, Outer> = { readonly [Key in Exclude<keyof Inner, keyof Outer>]?: Inner[Key] };
type DefaultChoices = readonly ['approve', 'reject'];

type NoArgument<Step> = Step extends Tool<string, infer Args> ? ({} extends Args ? true : false) : true;

/**
 * A flow whose paths have all ended.
 * @example
 * const ended = flow('hello', { input: z.object({ name: z.string() }) }).output(({ input }) => ({ name: input.name }));
 * console.log(ended.id);
 */
export interface EndedFlow<In extends Io, Known extends Shape>
  extends Definition<In['given'], Known['last'] | Known['ended'], Known['questions']>, Part<Known> {}

/**
 * A flow that further steps can be added to. It can be run as it is.
 * @example
 * const hello = flow('hello', { input: z.object({ name: z.string() }) }).step(agent('greeter', {}), ({ input }) => input.name);
 */
export interface Flow<
  In extends Io,
  Results extends State,
  Asked extends Questions,
  Last,
  Ended,
  Names extends string = string,
> extends EndedFlow<In, { state: Results; questions: Asked; last: Last; ended: Ended; names: Names }> {
  /**
   * Asks an agent or calls a tool. The argument is a prompt or the arguments of the tool.
   * @example begun.step(worker, ({ input }) => input.message)
   */
  step<Step extends Agent | Tool, const Name extends string = NameOf<Step>, Handled extends Part = never>(
    this: FreeName<Name, Names>,
    step: Step,
    ...rest: NoArgument<Step> extends true
      ? [argument?: Argument<In, Results, Step>, options?: StepOptions<In, Results, Asked, Names, Name, Handled>]
      : [argument: Argument<In, Results, Step>, options?: StepOptions<In, Results, Asked, Names, Name, Handled>]
  ): [Handled] extends [never]
    ? Flow<In, With<Results, Name, LeftBy<Step>>, Asked, LeftBy<Step>, Ended, Names | Name>
    : Flow<
        In,
        Results & { readonly [Key in Name]?: LeftBy<Step> } & Maybe<ShapeOf<Handled>['state'], Results>,
        Asked & ShapeOf<Handled>['questions'],
        LeftBy<Step> | ShapeOf<Handled>['last'],
        Ended | ShapeOf<Handled>['ended'],
        Names | Name | ShapeOf<Handled>['names']
      >;

  /**
   * Runs steps only if a condition holds, and others if it does not. Both ways go on with the next step.
   * @example begun.when(({ triage }) => triage.kind.eq('refund'), (f) => f.step(review, ({ triage }) => text`Order ${triage.order}`))
   */
  when<Then extends Part, Else extends Part = Flow<In, Results, Asked, Last, never, Names>>(
    condition: (scope: Scope<In, Results>) => Expression<boolean>,
    then: (flow: Flow<In, Results, Asked, Last, never, Names>) => Then,
    otherwise?: (flow: Flow<In, Results, Asked, Last, never, Names | ShapeOf<Then>['names']>) => Else,
  ): Flow<
    In,
    Results & Maybe<ShapeOf<Then>['state'], Results> & Maybe<ShapeOf<Else>['state'], Results>,
    ShapeOf<Then>['questions'] & ShapeOf<Else>['questions'],
    ShapeOf<Then>['last'] | ShapeOf<Else>['last'],
    Ended | ShapeOf<Then>['ended'] | ShapeOf<Else>['ended'],
    Names | ShapeOf<Then>['names'] | ShapeOf<Else>['names']
  >;

  /**
   * Asks a person. With the default choices the flow goes on only after `approve`, and otherwise ends with `reject`.
   * @example begun.approve('gate', ({ triage }) => text`Refund ${triage.amount}?`)
   */
  approve<const Name extends string, const Choices extends readonly string[] = DefaultChoices>(
    this: FreeName<Name, Names>,
    name: Name,
    message: (scope: Scope<In, Results>) => Expression<string> | string,
    options?: ApproveOptions<Choices>,
  ): Flow<
    In,
    With<Results, Name, Choices[number]>,
    Asked & { readonly [Key in Name]: Choices[number] },
    Choices extends DefaultChoices ? 'approve' : Choices[number],
    Ended | (Choices extends DefaultChoices ? 'reject' : never),
    Names | Name
  >;

  /**
   * Computes values.
   * @example begun.set('sum', ({ a, b }) => ({ total: a.price.plus(b.price) }))
   */
  set<const Name extends string, const Values extends { readonly [name: string]: unknown }>(
    this: FreeName<Name, Names>,
    name: Name,
    values: (scope: Scope<In, Results>) => Values,
  ): Flow<In, With<Results, Name, Resolved<Values>>, Asked, Resolved<Values, null>, Ended, Names | Name>;

  /**
   * Runs steps once for each item of a list, several at a time. The result is the list of outputs in the order of the items.
   * @example begun.map('each', ({ plan }) => plan.tasks, (f, task) => f.step(worker, () => task.brief))
   */
  map<const Name extends string, Item, Each extends Part, const OnError extends MapOptions['onItemError'] = 'fail'>(
    this: FreeName<Name, Names>,
    name: Name,
    over: (scope: Scope<In, Results>) => Operand<readonly Item[]>,
    each: (flow: Flow<In, Results, Asked, unknown, never, Names | Name>, item: Ref<Item>, index: Ref<number>) => Each,
    options?: MapOptions & { readonly onItemError?: OnError | undefined },
  ): Flow<
    In,
    With<Results, Name, readonly Mapped<Each, OnError>[]>,
    ShapeOf<Each>['questions'],
    readonly Mapped<Each, OnError>[],
    Ended,
    Names | Name | ShapeOf<Each>['names']
  >;

  /**
   * Runs branches at the same time and waits for them. Unless all must succeed, the results of a branch may be missing.
   * @example begun.parallel('search', [(f) => f.step(web), (f) => f.step(papers)])
   */
  parallel<
    const Name extends string,
    const Branches extends readonly Branch<In, Results, Asked, Names>[],
    const Join extends ParallelOptions['join'] = 'all',
  >(
    this: FreeName<Name, Names>,
    name: Name,
    branches: Branches & UnlessTaken<InBoth<Name, Joined<Branches>['names']> | Repeated<Branches, Names>>,
    options?: ParallelOptions & { readonly join?: Join | undefined },
  ): Flow<
    In,
    Results & Together<Joined<Branches>['state'], Join, Results>,
    Asked & Joined<Branches>['questions'],
    { readonly [head: string]: unknown },
    Ended,
    Names | Name | Joined<Branches>['names']
  >;

  /**
   * Repeats steps until a condition holds, at most `max` times. After that the run ends `BUDGET_EXHAUSTED`.
   * @example begun.repeat((f) => f.step(writer).step(critic), { until: ({ critic }) => critic.ok, max: 3 })
   */
  repeat<Body extends Part>(
    body: (flow: Flow<In, Results, Asked, Last, never, Names>) => Body,
    options: {
      readonly until: (scope: Scope<In, ShapeOf<Body>['state']>) => Expression<boolean>;
      readonly max: number;
    },
  ): Flow<
    In,
    ShapeOf<Body>['state'],
    ShapeOf<Body>['questions'],
    ShapeOf<Body>['last'],
    Ended | ShapeOf<Body>['ended'],
    ShapeOf<Body>['names']
  >;

  /**
   * Ends the path with an output.
   * @example begun.output(({ refund }) => ({ refunded: true, receipt: refund.receipt }))
   */
  output<const Value, const Name extends string = never>(
    this: FreeName<Name, Names>,
    value: (scope: Scope<In, Results>) => Value,
    options?: { readonly as?: Name | undefined },
  ): EndedFlow<
    In,
    { state: Results; questions: Asked; last: never; ended: Ended | Resolved<Value, null>; names: Names | Name }
  >;

  /**
   * Ends the run failed with a code.
   * @example begun.fail('VALIDATION_FAIL', ({ input }) => text`No order in ${input.message}.`)
   */
  fail<const Name extends string = never>(
    this: FreeName<Name, Names>,
    code: FailCode,
    message: string | ((scope: Scope<In, Results>) => Expression<string> | string),
    options?: { readonly as?: Name | undefined },
  ): EndedFlow<In, { state: Results; questions: Asked; last: never; ended: Ended; names: Names | Name }>;
}

type Argument<In extends Io, Results, Step> = (scope: Scope<In, Results>) => ArgumentOf<Step>;

/** Returns a `Part`. Its shape is left open, so that the names of steps are inferred from the steps alone. */
type Branch<In extends Io, Results extends State, Asked extends Questions, Names extends string> = (
  flow: Flow<In, Results, Asked, unknown, never, Names>,
) => { readonly [SHAPE]: unknown };

interface StepOptions<
  In extends Io,
  Results extends State,
  Asked extends Questions,
  Names extends string,
  Name extends string,
  Handled extends Part,
> extends NodeOptions {
  /** The name of the step. Default: the id of the agent, or the last part of the name of the tool. */
  readonly as?: Name | undefined;
  /** Steps that run if this one fails, after its retries. Then the flow goes on. */
  readonly onError?:
    | ((flow: Flow<In, Results, Asked, null, never, Names | Name>, error: Ref<Failure>) => Handled)
    | undefined;
}

/** The result of one item of a map. `collect` puts the error of a failed item in its place. */
type Mapped<Each, OnError> =
  | ShapeOf<Each>['last']
  | ShapeOf<Each>['ended']
  | ('collect' extends OnError ? { readonly error: Pick<Failure, 'type' | 'message'> } : never);

/** The results of branches. Unless all must succeed, each of them may be missing. */
type Together<Found, Join, Outer> = [Join] extends ['all' | undefined] ? Found : Maybe<Found, Outer>;

type Joined<Branches> = Branches extends readonly [infer First, ...infer Rest]
  ? {
      readonly state: ShapeOf<Returned<First>>['state'] & Joined<Rest>['state'];
      readonly questions: ShapeOf<Returned<First>>['questions'] & Joined<Rest>['questions'];
      readonly names: ShapeOf<Returned<First>>['names'] | Joined<Rest>['names'];
    }
  : { readonly state: {}; readonly questions: {}; readonly names: never };
/** Names that more than one branch gives to its steps. */
type Repeated<Branches, Before extends string> = Branches extends readonly [infer First, ...infer Rest]
  ? InBoth<Exclude<ShapeOf<Returned<First>>['names'], Before>, Joined<Rest>['names']> | Repeated<Rest, Before>
  : never;
type Returned<Function> = Function extends (...args: never[]) => infer Result ? Result : never;
