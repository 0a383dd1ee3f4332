/**
 * The lowering kit: one method per kind of node, on top of the builder. It fills in common defaults (no retry, no timeout, a
 * failed end), so a lowering states only the differences. A lowering creates one kit and passes it on: `const kit =
 * createKit(builder)`.
 */
import type {
  Approvers,
  AskEffect,
  AskPurpose,
  Case,
  CheckEffect,
  Choice,
  Decision,
  DoNode,
  Expr,
  FailureClass,
  ForkNode,
  Input,
  LetNode,
  MeterId,
  Node,
  NodeId,
  Retry,
  TerminalCode,
  Write,
} from '@sluice-internal/kernel/ir';
import { escalationField } from '@sluice-internal/controls';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import { present } from '@sluice-internal/kernel/expr';
import { object, path, quote } from '@sluice-internal/kernel/expr';
import type { Range } from '../source/range.ts';
import type { Builder } from './builder-types.ts';
import { GUIDANCE } from './guidance-slot.ts';

/** The name and the owner of a node. Undefined fields and empty lists are left out of the node. */
export interface Step {
  /** Fixes the id of the node. Without it the id is made from `hint`, or from `origin`. */
  readonly id?: NodeId | undefined;
  readonly hint?: string | undefined;
  readonly origin: string;
  readonly authored?: string | undefined;
  readonly enters?: string | undefined;
  readonly entersBy?: string | undefined;
  readonly expects?: Node['expects'] | undefined;
  readonly charges?: readonly MeterId[] | undefined;
  readonly onBudget?: NodeId | undefined;
  readonly onVisits?: NodeId | undefined;
  readonly needs?: Node['needs'] | undefined;
  readonly hears?: Node['hears'] | undefined;
  /** The recovery decision that the node records. */
  readonly decision?: Decision | undefined;
  /** Of `set`: effects to undo, because the work is repeated afterwards. */
  readonly undoes?: LetNode['undoes'] | undefined;
  /** Of `set`: the verifier of the answer gave no verdict. */
  readonly unjudged?: true | undefined;
  /** The place in the document. Default: the place of the kit. */
  readonly at?: Range | undefined;
}

/** The outcome of an effect. `into` is short for one write of the whole result to a slot. */
interface Outcome {
  readonly into?: string;
  readonly writes?: readonly Write[];
  readonly timeoutMs?: number | null | undefined;
  readonly next: NodeId;
  readonly failed?: readonly Case[];
  /** The node after a failure that no case takes. Default: the run fails. */
  readonly fail?: NodeId | undefined;
}

export interface Call
  extends
    Outcome,
    Partial<
      Pick<DoNode, 'controls' | 'undo' | 'recalls' | 'takes' | 'schema' | 'fit' | 'accept' | 'grant' | 'shared'>
    > {
  readonly effect: DoNode['effect'];
  readonly retry?: Retry | undefined;
}

interface Check extends Outcome {
  readonly check: CheckEffect['check'];
  readonly input: Input;
  readonly retry?: Retry;
}

/** Without `timeoutMs`, the `approval_timeout` of the boundary applies. */
export interface Question extends Outcome, Partial<Pick<DoNode, 'grant' | 'takes'>> {
  /** The subject of the question. It is stored and answered under this name. */
  readonly about: string;
  readonly askedBy: string;
  /** A text is a choice that takes nothing else. */
  readonly choices: readonly (string | Choice)[];
  readonly onExpiry: string;
  /** The code that the run shows while it waits. */
  readonly code: TerminalCode;
  /** The row of the escalation table that the question falls under. */
  readonly row?: EscalationId;
  readonly message: Expr;
  /** The kind of the question. Default: an approval node of the author. */
  readonly purpose?: AskPurpose;
  readonly approvers?: Approvers;
  /** Further fields that the person sees. The answer is bound to all of them. */
  readonly payload?: Input;
}

interface Fork extends Pick<ForkNode, 'over' | 'into' | 'next'> {
  readonly widthMax?: number;
  readonly need?: ForkNode['need'];
  readonly eager?: boolean;
  readonly timeoutMs?: number | null | undefined;
  readonly gather?: ForkNode['gather'];
  readonly failed?: readonly Case[];
  readonly fail?: NodeId | undefined;
}

interface PickOptions {
  /** True if the author wrote the route to `otherwise`. */
  readonly hasDefault?: boolean;
}

export interface Kit {
  readonly builder: Builder;
  /** Writes slots. `fail` is where the thread goes if an expression cannot be evaluated; by default the run fails. */
  set(step: Step, writes: readonly Write[], next: NodeId, fail?: NodeId): NodeId;
  /** Takes the first case that holds. Without cases there is no node, unless its id is fixed. */
  pick(step: Step, cases: readonly Case[], otherwise: NodeId, options?: PickOptions): NodeId;
  /** Goes to `to` if the condition holds. */
  when(step: Step, condition: Expr, to: NodeId, otherwise: NodeId): NodeId;
  /** Performs an effect: a model call, a tool call, or any other. */
  call(step: Step, call: Call): NodeId;
  /** Asks for evidence from outside the run. */
  check(step: Step, check: Check): NodeId;
  /** Asks a person. */
  ask(step: Step, question: Question): NodeId;
  /** Goes where the answer in the slot leads. `ways` are by choice; every other answer goes `otherwise`. */
  decide(step: Step, slot: string, ways: { readonly [choice: string]: NodeId }, otherwise: NodeId): NodeId;
  /** Runs branches and joins them. */
  fork(step: Step, fork: Fork): NodeId;
  /** Records a failure as `error` and goes on, by default to the failed end. */
  fail(step: Step, failure: Failure, next?: NodeId): NodeId;
  /** After a failed join: makes the first failed branch's error the run's error. `into` is the slot of the outcomes. */
  branchError(step: Step, into: string, next: NodeId): NodeId;
  /** A meter that allows `max` visits, then leads to `over`. */
  visits(id: MeterId, max: number, over: NodeId, label: string): MeterId;
  readonly end: Builder['end'];
  readonly failedEnd: Builder['failedEnd'];
}

/** `at` is the place of every node that has none of its own. */
export function createKit(builder: Builder, at?: Range): Kit {
  const add = (step: Step, node: (base: Base) => Node): NodeId =>
    builder.add(step.id ?? builder.fresh(step.hint ?? step.origin), node(baseOf(step)), step.at ?? at);

  const kit: Kit = {
    builder,
    set: (step, writes, next, fail) =>
      add(step, (base) => ({
        op: 'let',
        ...base,
        writes,
        next,
        ...present({ fail, undoes: step.undoes, unjudged: step.unjudged }),
      })),
    pick: (step, cases, otherwise, { hasDefault = false } = {}) =>
      cases.length === 0 && step.id === undefined
        ? otherwise
        : add(step, (base) => ({ op: 'pick', ...base, cases, otherwise, ...(hasDefault ? { hasDefault } : {}) })),
    when: (step, when, to, otherwise) => kit.pick(step, [{ when, to }], otherwise),
    call: (step, call) => add(step, (base) => doNode(base, call, call.fail ?? builder.failedEnd())),
    check: (step, { check, input, ...rest }) =>
      kit.call(step, { effect: { kind: 'check', check, input, reserve: {} }, ...rest }),
    ask: (step, question) => {
      const { timeoutMs = builder.approvalTimeoutMs(question.askedBy) } = question;
      return kit.call(step, { effect: askEffect(question), ...answered(question), timeoutMs });
    },
    decide: (step, slot, ways, otherwise) =>
      kit.pick(
        step,
        Object.entries(ways).map(([choice, to]) => ({ when: chose(slot, choice), to })),
        otherwise,
      ),
    fork: (step, fork) => add(step, (base) => forkNode(base, fork, fork.fail ?? builder.failedEnd())),
    fail: (step, failure, next = builder.failedEnd()) =>
      kit.set(step, [set('error', errorOf(failure, failure.node ?? step.authored ?? step.origin))], next),
    branchError: (step, into, next) => kit.set(step, [set('error', firstLost(into))], next),
    visits: (id, max, over, label) => builder.meter(id, { unit: 'visits', max, over, label }),
    end: builder.end,
    failedEnd: builder.failedEnd,
  };
  return kit;
}

/** Holds when the answer in `slot` is `choice`. */
export function chose(slot: string, choice: string): Expr {
  return `${path(slot, 'choice')} == ${quote(choice)}`;
}

type Base = Pick<Node, 'label' | 'expects' | 'charges' | 'onBudget' | 'onVisits' | 'needs' | 'hears'>;

function baseOf(step: Step): Base {
  const {
    origin,
    authored,
    enters,
    entersBy,
    expects = [],
    charges = [],
    onBudget,
    onVisits,
    needs,
    hears,
    decision,
  } = step;
  return {
    label: { name: origin, ...present({ authored, enters, entersBy, decision }) },
    ...(expects.length === 0 ? {} : { expects }),
    ...(charges.length === 0 ? {} : { charges }),
    ...present({ onBudget, onVisits, needs, hears }),
  };
}

function doNode(base: Base, call: Call, fail: NodeId): DoNode {
  const { into, writes = [], timeoutMs = null, retry = NO_RETRY, next, failed = [], fail: _, ...rest } = call;
  return {
    op: 'do',
    ...base,
    ...rest,
    writes: into === undefined ? writes : [set(into, 'it'), ...writes],
    timeoutMs,
    retry,
    next,
    failed,
    fail,
  };
}

function forkNode(base: Base, fork: Fork, fail: NodeId): ForkNode {
  const { widthMax = 0, need = 'all', eager = false, timeoutMs = null, gather = [], failed = [], ...rest } = fork;
  const gathered = [...gather, { slot: GUIDANCE, mode: 'concat' } as const];
  return { op: 'fork', ...base, ...rest, widthMax, need, eager, timeoutMs, gather: gathered, failed, fail };
}

function askEffect(question: Question): AskEffect {
  const { about, askedBy, choices, onExpiry, code, row, message, payload, purpose, approvers } = question;
  return {
    kind: 'ask',
    about,
    choices: choices.map((choice) => (typeof choice === 'string' ? { name: choice } : choice)),
    onExpiry,
    code,
    askedBy,
    input: { message, ...(row === undefined ? {} : escalationField(row)), ...payload },
    reserve: {},
    ...present({ purpose, approvers }),
  };
}

function answered({ into, writes, next, failed, fail, grant, takes }: Question): Omit<Call, 'effect'> {
  return { ...present({ into, writes, failed, grant, takes }), next, fail };
}

/** The error of the first branch that failed. A branch that was stopped has none. */
function firstLost(into: string): Expr {
  const lost = `${into}.filter(b, b.state != "completed" && b.error != null)`;
  return `cel.bind(lost, ${lost}, size(lost) == 0 ? error : lost[0].error)`;
}

export const NO_RETRY: Retry = { max: 0, baseMs: 0, capMs: 0, on: [] };

export function set(slot: string, value: Write['value']): Write {
  return { slot, mode: 'set', value };
}

/** Writes one field below a slot. */
export function setField(slot: string, fields: readonly string[], value: Write['value']): Write {
  return { slot, path: fields, mode: 'set', value };
}

export function append(slot: string, value: Write['value']): Write {
  return { slot, mode: 'append', value };
}

/** A failure that no effect reports. Its class and its code follow from its type, unless they are given. */
export interface Failure {
  readonly type: string;
  readonly class?: FailureClass;
  readonly code?: TerminalCode;
  readonly message: Expr;
  /** The authored name that the failure is reported for; the step's own unless given. */
  readonly node?: string;
}

/** By type. All others are `semantic`, and end a run under `VALIDATION_FAIL`. */
const FAILURES: { readonly [type: string]: readonly [FailureClass, TerminalCode] } = {
  ApprovalRejectedError: ['policy', 'PERMISSION_DENIED'],
  ApprovalRequiredError: ['policy', 'CONFIRM_REQUIRED'],
  BudgetError: ['budget', 'BUDGET_EXHAUSTED'],
  DeadlockError: ['semantic', 'REPEATED_FAILURE'],
  FailClosedError: ['guardrail', 'UNSAFE_DETECTION'],
  HopsError: ['semantic', 'REPEATED_FAILURE'],
  ItemsError: ['budget', 'BUDGET_EXHAUSTED'],
  LoopError: ['semantic', 'REPEATED_FAILURE'],
  LowConfidenceError: ['semantic', 'LOW_CONFIDENCE'],
  NoProgressError: ['semantic', 'REPEATED_FAILURE'],
  PermissionError: ['policy', 'PERMISSION_DENIED'],
  RateLimitError: ['rate_limit', 'UNAVAILABLE_DEP'],
  RetryBudgetError: ['transient', 'REPEATED_FAILURE'],
  ReviewError: ['semantic', 'REVIEW_REQUIRED'],
  RoundsError: ['semantic', 'REPEATED_FAILURE'],
  SplitError: ['semantic', 'REPEATED_FAILURE'],
  StageTimeoutError: ['timeout', 'TIMEOUT'],
  StalledError: ['semantic', 'REPEATED_FAILURE'],
  StuckError: ['semantic', 'REPEATED_FAILURE'],
  UnknownToolError: ['policy', 'PERMISSION_DENIED'],
  UnsafeOutputError: ['guardrail', 'UNSAFE_DETECTION'],
  UntrustedArgumentsError: ['guardrail', 'UNSAFE_DETECTION'],
  VelocityError: ['budget', 'BUDGET_EXHAUSTED'],
};

export function classified(failure: Failure): Required<Pick<Failure, 'class' | 'type' | 'message' | 'code'>> {
  const { type, message } = failure;
  const [kind, code] = FAILURES[type] ?? ['semantic', 'VALIDATION_FAIL'];
  return { class: failure.class ?? kind, type, message, code: failure.code ?? code };
}

export function errorOf(failure: Failure, node: string): Expr {
  const { class: kind, type, message, code } = classified(failure);
  return object([
    ['class', quote(kind)],
    ['type', quote(type)],
    ['message', message],
    ['node', quote(node)],
    ['code', quote(code)],
  ]);
}
