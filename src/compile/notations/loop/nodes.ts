/** The nodes that the parts of a loop's lowering share: model calls, questions, and the ends of a run. */
import type { TerminalCode } from '../../../ir/codes.ts';
import type { AskPurpose } from '../../../ir/people.ts';
import type { Choice, DoNode, Expr, Input, MeterId, NodeId, Write } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import { ESCALATIONS } from '../../../catalog/escalations.ts';
import type { EscalationId } from '../../../catalog/escalations.ts';
import { quote } from '../../expressions/cel-text.ts';
import { MODEL_RETRY } from '../../lower/agent-turn/agent-turn.ts';
import type { Builder } from '../../lower/builder.ts';
import { chose, errorOf, set } from '../../lower/kit.ts';
import type { Failure, Kit } from '../../lower/kit.ts';
import type { Loop } from './settle.ts';
import { ENDING, HEARD } from './state.ts';
import type { Phase } from './state.ts';

export interface Lowering {
  readonly kit: Kit;
  readonly builder: Builder;
  readonly loop: Loop;
  /** The codes under which the loop itself ends a run; grows during the lowering. */
  readonly stops: Set<TerminalCode>;
}

export interface ModelCall {
  readonly id?: NodeId;
  readonly hint?: string;
  readonly origin: string;
  readonly agent: string;
  /** The call is a turn of the agent, for the run's path. */
  readonly enters?: boolean;
  readonly input: Input;
  readonly reserve?: DoNode['effect']['reserve'];
  readonly onBudget?: NodeId;
  /** The schema of the reply. */
  readonly schema?: Json;
  readonly writes: readonly Write[];
  readonly next: NodeId;
  /** Where a reply goes that does not fit the schema; `fail` unless given. */
  readonly unfit?: NodeId;
  readonly fail: NodeId;
}

export function addModel({ kit, builder, loop }: Lowering, call: ModelCall): NodeId {
  const { id, hint, origin, agent, onBudget, input, schema, writes, next, unfit, fail } = call;
  const effect = builder.model(agent, '""');
  return kit.call(
    { id, hint, origin, onBudget, enters: call.enters === true ? agent : undefined },
    {
      effect: { ...effect, input, reserve: { ...effect.reserve, ...call.reserve } },
      ...(schema === undefined ? {} : { schema }),
      writes,
      retry: { ...MODEL_RETRY, max: loop.retries },
      next,
      ...(unfit === undefined ? {} : { failed: [{ when: 'error.type == "SchemaError"', to: unfit }] }),
      fail,
    },
  );
}

export interface Question {
  readonly hint: string;
  readonly row: EscalationId;
  /** The subject of the question. It is stored and answered under this name. */
  readonly about: string;
  /** The code that the run shows while it waits, if not the row's. */
  readonly code?: TerminalCode;
  readonly choices: readonly (string | Choice)[];
  readonly message: Expr;
  readonly payload?: Input;
  readonly charges?: readonly MeterId[];
  readonly grant?: DoNode['grant'];
  /** By choice. Other answers, and an expired question, go `otherwise`. */
  readonly ways: { readonly [choice: string]: NodeId };
  readonly otherwise: NodeId;
}

const PURPOSES: { readonly [about: string]: AskPurpose } = {
  budget: 'budget',
  plan: 'plan_review',
  missing_info: 'missing_information',
  ambiguous_intent: 'missing_information',
};

/** A choice that comes with words or with JSON. */
export function inWords(name: string): Choice {
  return { name, edit: true, needs: 'either' };
}

/** Asks a person, and goes where the answer leads. The answer is in `heard`. */
export function addQuestion({ kit, loop }: Lowering, question: Question): NodeId {
  const { hint, about, row, charges, ways, otherwise, grant } = question;
  const cases = Object.entries(ways).map(([choice, to]) => ({ when: chose(HEARD, choice), to }));
  const decided = kit.pick({ hint: `${about}.decided`, origin: about }, cases, otherwise);
  return kit.ask(
    { hint, origin: about, charges },
    {
      about,
      askedBy: loop.executor,
      choices: question.choices,
      onExpiry: 'reject',
      code: question.code ?? ESCALATIONS[row].code,
      purpose: PURPOSES[about] ?? 'escalation',
      row,
      message: question.message,
      ...(question.payload === undefined ? {} : { payload: question.payload }),
      ...(grant === undefined ? {} : { grant }),
      into: HEARD,
      timeoutMs: loop.escalation.timeoutMs,
      next: decided,
      fail: decided,
    },
  );
}

/** Ends the run through its last phase, under a code and with a reason. */
export function stop(
  l: Lowering,
  code: TerminalCode,
  type: string,
  message: Expr,
  kind: Failure['class'] = 'semantic',
): NodeId {
  l.stops.add(code);
  const error = errorOf({ class: kind, type, message, code }, l.loop.id);
  return l.kit.set(
    { hint: `stop:${code}`, origin: 'escalation_check' },
    [set('error', error), set(ENDING, quote(code))],
    failedTrace(l),
  );
}

/** The last phase of a run that fails. */
export function failedTrace({ builder }: Lowering): NodeId {
  return builder.idOf('trace_logging.failed');
}

/** The node of a phase. */
export function idOf({ builder }: Lowering, phase: Phase): NodeId {
  return builder.idOf(phase);
}
