/** The nodes that the parts of a loop's lowering share: model calls, questions, and the ends of a run. */
import type {
  AskPurpose,
  Choice,
  DoNode,
  Expr,
  Input,
  MeterId,
  NodeId,
  TerminalCode,
} from '@sluice-internal/kernel/ir';
import { ESCALATIONS } from '@sluice-internal/kernel/catalog';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import { quote } from '@sluice-internal/compile/expressions';
import { errorOf, modelRetry, set } from '@sluice-internal/compile/lower';
import type { Builder, Call, Failure, Kit, Question as AskedQuestion, Step } from '@sluice-internal/compile/lower';
import type { Loop } from './model.ts';
import { ENDING, DECISION, type Phase } from './state.ts';

export interface Lowering {
  readonly kit: Kit;
  readonly builder: Builder;
  readonly loop: Loop;
  /** The codes under which the loop itself ends a run; grows during the lowering. */
  readonly stops: Set<TerminalCode>;
}

interface ModelCall
  extends
    Pick<Step, 'id' | 'hint' | 'origin' | 'onBudget' | 'hears'>,
    Pick<Call, 'schema' | 'fit' | 'writes' | 'next' | 'fail'> {
  readonly agent: string;
  /** The call is a turn of the agent, for the run's path. */
  readonly enters?: boolean;
  readonly input: Input;
  readonly reserve?: DoNode['effect']['reserve'];
  /** The node after a reply that does not fit the schema. Default: `fail`. */
  readonly unfit?: NodeId;
}

export function addModel({ kit, builder, loop }: Lowering, call: ModelCall): NodeId {
  const { id, hint, origin, agent, onBudget, hears, enters, input, reserve, unfit, ...rest } = call;
  const effect = builder.model(agent, '""');
  return kit.call(
    { id, hint, origin, onBudget, hears, enters: enters === true ? agent : undefined },
    {
      ...rest,
      effect: { ...effect, input, reserve: { ...effect.reserve, ...reserve } },
      retry: modelRetry(loop.retries, loop.hasRetries),
      failed: unfit === undefined ? [] : [{ when: 'error.type == "SchemaError"', to: unfit }],
    },
  );
}

interface Question extends Pick<AskedQuestion, 'about' | 'choices' | 'message' | 'payload' | 'grant'> {
  readonly hint: string;
  readonly row: EscalationId;
  /** The code that the run shows while it waits, if not the row's. */
  readonly code?: TerminalCode;
  readonly charges?: readonly MeterId[];
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

/** Asks a person, and goes where the answer leads. The answer is in `decision`. */
export function addQuestion({ kit, loop }: Lowering, question: Question): NodeId {
  const { hint, charges, ways, otherwise, ...asked } = question;
  const { about, row } = asked;
  const decided = kit.decide(part(about, `${about}.decided`), DECISION, ways, otherwise);
  return kit.ask(
    { hint, origin: about, charges },
    {
      ...asked,
      askedBy: loop.executor,
      onExpiry: 'reject',
      code: asked.code ?? ESCALATIONS[row].code,
      purpose: PURPOSES[about] ?? 'escalation',
      into: DECISION,
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
    part('escalation_check', `stop:${code}`),
    [set('error', error), set(ENDING, quote(code))],
    failedTrace(l),
  );
}

/** The last phase of a run that fails. */
export function failedTrace({ builder }: Lowering): NodeId {
  return builder.idOf('trace_logging.failed');
}

/** The step of the node of a phase. */
export function phase(l: Lowering, name: Phase): Step {
  return { id: idOf(l, name), origin: name };
}

/** The step of a further node of a phase. */
export function part(origin: string, hint: string): Step {
  return { hint, origin };
}

/** The node of a phase. */
export function idOf({ builder }: Lowering, phase: Phase): NodeId {
  return builder.idOf(phase);
}
