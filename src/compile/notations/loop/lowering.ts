/** What all parts of the lowering share: the builder, the loop, and the few shapes of nodes that it is made of. */
import type { TerminalCode } from '../../../ir/codes.ts';
import type { Choice, Case, DoNode, Expr, Input, MeterId, NodeId, Retry, Write } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import { MODEL_RETRY } from '../../lower/agent-turn/agent-turn.ts';
import type { Builder } from '../../lower/builder.ts';
import { object, quote } from '../../expressions/cel-text.ts';
import { escalationField } from '../../lower/escalation-packet.ts';
import type { Range } from '../../source/range.ts';
import { ESCALATIONS } from '../../../catalog/escalations.ts';
import type { EscalationId } from '../../../catalog/escalations.ts';
import type { Loop } from './model.ts';
import type { Phase } from './phases.ts';
import { ENDING, HEARD, set } from './slots.ts';

export interface Lowering {
  readonly builder: Builder;
  readonly loop: Loop;
  readonly at: Range;
  /** The codes under which the loop itself ends a run; grows while the graph is made. */
  readonly stops: Set<TerminalCode>;
}

export const NO_RETRY: Retry = { max: 0, baseMs: 0, capMs: 0, on: [] };

export function addLet(
  { builder, at }: Lowering,
  id: NodeId,
  origin: string,
  writes: readonly Write[],
  next: NodeId,
): NodeId {
  return builder.add(id, { op: 'let', label: { name: origin }, writes, next }, at);
}

export function addPick(
  { builder, at }: Lowering,
  id: NodeId,
  origin: string,
  cases: readonly Case[],
  otherwise: NodeId,
): NodeId {
  return builder.add(id, { op: 'pick', label: { name: origin }, cases, otherwise }, at);
}

export interface ModelCall {
  readonly id: NodeId;
  readonly origin: string;
  readonly agent: string;
  /** Whether the call counts as a turn of the agent. */
  readonly enters?: boolean;
  readonly charges?: readonly MeterId[];
  readonly input: Input;
  readonly reserve?: DoNode['effect']['reserve'];
  readonly onBudget?: NodeId;
  readonly writes: readonly Write[];
  readonly next: NodeId;
  readonly fail: NodeId;
}

export function addModel({ builder, loop, at }: Lowering, call: ModelCall): NodeId {
  const effect = builder.model(call.agent, '""');
  return builder.add(
    call.id,
    {
      op: 'do',
      label: { name: call.origin, ...(call.enters === true ? { enters: call.agent } : {}) },
      ...(call.charges === undefined ? {} : { charges: call.charges }),
      ...(call.onBudget === undefined ? {} : { onBudget: call.onBudget }),
      effect: { ...effect, input: call.input, reserve: { ...effect.reserve, ...call.reserve } },
      writes: call.writes,
      timeoutMs: null,
      retry: { ...MODEL_RETRY, max: loop.retries },
      next: call.next,
      failed: [],
      fail: call.fail,
    },
    at,
  );
}

export interface Question {
  readonly id: NodeId;
  readonly row: EscalationId;
  /** What the question is about, under which it is kept and answered. */
  readonly about: string;
  /** What the run shows while it waits, where the row's code is none to wait under. */
  readonly code?: TerminalCode;
  readonly choices: readonly string[];
  readonly message: Expr;
  readonly payload?: Input;
  readonly charges?: readonly MeterId[];
  /** Of choices that take data: its JSON Schema. */
  readonly edits?: { readonly [choice: string]: Json };
  readonly grant?: DoNode['grant'];
  /** Writes beside the answer itself, which is in `heard`. */
  readonly writes?: readonly Write[];
  /** By choice; whatever has no way of its own, an expired question included, goes `otherwise`. */
  readonly ways: { readonly [choice: string]: NodeId };
  readonly otherwise: NodeId;
}

/** Choices that say something, in words or as JSON. */
const IN_WORDS: ReadonlySet<string> = new Set(['respond', 'revise']);

function choiceOf(name: string, edit: Json | undefined): Choice {
  if (IN_WORDS.has(name)) return { name, edit: edit ?? true, needs: 'either' };
  return edit === undefined ? { name } : { name, edit };
}

/** Asks a person, and goes where the answer says. */
export function addQuestion(l: Lowering, question: Question): NodeId {
  const { id, about, choices, ways } = question;
  const { code } = ESCALATIONS[question.row];
  const cases = Object.entries(ways).map(([choice, to]) => ({ when: `${HEARD}.choice == ${quote(choice)}`, to }));
  const decided = addPick(l, l.builder.fresh(`${about}.decided`), about, cases, question.otherwise);
  return l.builder.add(
    id,
    {
      op: 'do',
      label: { name: about },
      ...(question.charges === undefined ? {} : { charges: question.charges }),
      effect: {
        kind: 'ask',
        about,
        choices: choices.map((name) => choiceOf(name, question.edits?.[name])),
        onExpiry: 'reject',
        code: question.code ?? code,
        askedBy: l.loop.executor,
        input: { message: question.message, ...escalationField(question.row), ...question.payload },
        reserve: {},
      },
      ...(question.grant === undefined ? {} : { grant: question.grant }),
      writes: [set(HEARD, 'it'), ...(question.writes ?? [])],
      timeoutMs: l.loop.escalation.timeoutMs,
      retry: NO_RETRY,
      next: decided,
      failed: [],
      fail: decided,
    },
    l.at,
  );
}

/** Ends the run under a code, with a reason, through the last phase. */
export function stop(l: Lowering, code: TerminalCode, type: string, message: Expr, kind = 'semantic'): NodeId {
  const error = object([
    ['class', quote(kind)],
    ['type', quote(type)],
    ['message', message],
    ['node', quote(l.loop.id)],
    ['code', quote(code)],
  ]);
  l.stops.add(code);
  const writes = [set('error', error), set(ENDING, quote(code))];
  return addLet(l, l.builder.fresh(`stop:${code}`), 'escalation_check', writes, failedTrace(l));
}

/** Where a run goes that fails: the last phase, and the end under the code of what went wrong. */
export function failedTrace({ builder }: Lowering): NodeId {
  return builder.idOf('trace_logging.failed');
}

/** Where a phase stands in the graph. */
export function idOf({ builder }: Lowering, phase: Phase): NodeId {
  return builder.idOf(phase);
}
