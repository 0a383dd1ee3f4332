/**
 * One invocation of an agent as a `do`, and what its error mode makes of a failure. Where the invocation comes from
 * (workflow, step, upstream agent) is part of what is asked, so that it is on every command and the fold derives it again.
 */
import type { FailureClass } from '../../../ir/codes.ts';
import type { DoNode, Expr, NodeId, Retry, Write } from '../../../ir/nodes.ts';
import { object, quote } from '../../expressions/cel-text.ts';
import type { Lowering } from './lowering.ts';
import type { Step } from './model.ts';
import { UPSTREAM } from './plan.ts';
import type { PlannedCall } from './plan.ts';
import { slotOf } from './text.ts';
import { addStepTurn } from './turn.ts';

/** Set when a failed step was passed over: the run is then a partial success at best. */
export const PARTIAL = '_partial';

interface Way {
  readonly writes: readonly Write[];
  readonly next: NodeId;
  /** Where a failure goes that the error mode passes over. */
  readonly skipped: NodeId;
}

export function addCall(lowering: Lowering, step: Step, call: PlannedCall, way: Way): NodeId {
  const { builder, workflow } = lowering;
  const effect = builder.model(step.agent, call.prompt);
  const source = object([
    ['workflow', quote(workflow.id)],
    ['step', String(step.index)],
    ['upstream', call.upstream],
  ]);
  const { agents } = builder.definitions;
  const agent = Object.hasOwn(agents, step.agent) ? agents[step.agent] : undefined;
  const schema = agent?.output ?? null;
  const failed = builder.failedEnd();
  const skips = step.onError === 'Skip';
  const denied = skips ? [{ when: 'error.class == "budget"', to: failed }] : [];
  const fail = skips ? passedOver(lowering, step, way.skipped) : failed;
  const retry: Retry = { max: step.retries, baseMs: 0, capMs: 0, on: step.retries > 0 ? RETRIED : [] };
  if (agent !== undefined && agent.tools.length > 0) {
    const { writes, next } = way;
    const lost = skips
      ? builder.add(builder.fresh(`${step.name}.failed`), {
          op: 'pick',
          origin: step.name,
          cases: denied,
          otherwise: fail,
        })
      : fail;
    return addStepTurn(lowering, step, { agent, prompt: call.prompt, source, retry, writes, next, fail: lost });
  }
  const node: DoNode = {
    op: 'do',
    origin: step.name,
    enters: step.name,
    effect: { ...effect, input: { ...effect.input, source } },
    ...(schema === null ? {} : { schema, unfenced: true }),
    writes: way.writes,
    timeoutMs: step.timeoutMs,
    retry,
    next: way.next,
    failed: denied,
    fail,
  };
  return builder.add(lowering.idOf(step), node, lowering.at(step));
}

export function set(slot: string, value: Expr): Write {
  return { slot, mode: 'set', value };
}

/** The reply, in the step's variable where it has one. */
export function storeReply({ output }: Step): readonly Write[] {
  return output === null ? [] : [set(slotOf(output), 'it.text')];
}

export function trackUpstream({ tracks }: Lowering, agent: string | null): readonly Write[] {
  return tracks ? [set(UPSTREAM, agent === null ? 'null' : quote(agent))] : [];
}

/** Adds, at `at`, a look whether the agent would be handed its own output; `call` is where it goes if not. */
export function guardDistinct(lowering: Lowering, step: Step, at: NodeId, call: NodeId): void {
  const { builder } = lowering;
  const error = object([
    ['class', quote('semantic')],
    ['type', quote('SameAgentError')],
    ['message', quote(`step \`${step.name}\` would hand the agent \`${step.agent}\` its own output`)],
    ['node', quote(step.name)],
    ['code', quote('VALIDATION_FAIL')],
  ]);
  const refuse = builder.add(
    builder.fresh(`${step.name}.refuse`),
    { op: 'let', origin: step.name, writes: [set('error', error)], next: builder.failedEnd() },
    lowering.at(step),
  );
  const cases = [{ when: `${UPSTREAM} == ${quote(step.agent)}`, to: refuse }];
  builder.add(at, { op: 'pick', origin: step.name, cases, otherwise: call }, lowering.at(step));
}

/** What the spec repeats: a failure or a timeout. What was denied would be denied again. */
const RETRIED: readonly FailureClass[] = ['transient', 'rate_limit', 'fatal', 'timeout', 'refused', 'semantic'];

/** The failure is dealt with, so that it must not be taken for the reason of a later end. */
function passedOver(lowering: Lowering, step: Step, next: NodeId): NodeId {
  const { builder } = lowering;
  const writes = [set(PARTIAL, 'true'), set('error', 'null')];
  return builder.add(
    builder.fresh(`${step.name}.skip`),
    { op: 'let', origin: step.name, writes, next },
    lowering.at(step),
  );
}
