/**
 * Repeats a failed effect as its node declares: first with the same target, after a delay with full jitter, then once with
 * each fallback target. A request that did not get through to a provider is repeated even if the node declares no retry. No
 * attempt is made that has no time or no budget.
 */
import { worstCase } from '../ir/estimate.ts';
import type { ErrorRecord, EventBody, Failure, Instant, Pending, RunState, Thread } from '../ir/events.ts';
import type { DoNode, Retry } from '../ir/nodes.ts';
import { route } from './failure.ts';
import { reserve } from './meters.ts';
import { evaluateInput } from './program.ts';
import type { Program } from './program.ts';
import { draw } from './random.ts';
import { deadlineFrom, sooner, timingOf } from './timing.ts';

/** The event of the next attempt; null if there is none. */
export function retry(
  program: Program,
  state: RunState,
  thread: Thread,
  node: DoNode,
  pending: Pending,
  error: ErrorRecord,
  { retryAfterMs = 0, transportRetries = 0 }: Failure,
): EventBody | null {
  const next = nextAttempt(program, thread, node, pending, error, transportRetries);
  if (next === null) return null;
  const { target, policy } = next;
  const transport = policy === TRANSPORT;
  const notBefore = target === undefined ? delayed(state, policy, pending, retryAfterMs) : state.now;
  if (notBefore >= (deadlineFrom(state, notBefore, null) ?? Infinity)) return null;
  const timing = timingOf(program, state, thread, node);
  if ('type' in timing) return null;
  const input = evaluateInput(program, node.effect.input, thread.slots);
  const amounts = { ...worstCase(program, node, input, target), retries: 1, ...(transport ? { modelCalls: 0 } : {}) };
  const reserved = reserve(program, state, thread, node, amounts);
  if ('type' in reserved) return null;
  const start = Math.max(notBefore, timing.notBefore ?? notBefore);
  return {
    type: 'effect.judged',
    key: pending.key,
    verdict: 'retry',
    error,
    target,
    ...(transport ? { transport } : {}),
    notBefore: start,
    deadline: sooner(deadlineFrom(state, start, node.timeoutMs), timing.until),
    holds: reserved.holds.length > 0 ? reserved.holds : undefined,
    paced: timing.paced,
  };
}

interface Attempt {
  /** The fallback target; undefined is the same target again. */
  readonly target: string | undefined;
  readonly policy: Delay;
}

function nextAttempt(
  program: Program,
  thread: Thread,
  node: DoNode,
  pending: Pending,
  error: ErrorRecord,
  transportRetries: number,
): Attempt | null {
  if (pending.target === undefined) {
    const { transported = 0, attempt } = pending;
    const isDeclared = node.retry.max > 0 && isRetried(program, thread, node, error);
    if (isDeclared && attempt - transported <= node.retry.max) return { target: undefined, policy: node.retry };
    if (!isDeclared && transported < transportRetries) return { target: undefined, policy: TRANSPORT };
  }
  const target = nextTarget(node, pending, error);
  return target === undefined ? null : { target, policy: node.retry };
}

function isRetried(program: Program, thread: Thread, { retry: { on, when } }: DoNode, error: ErrorRecord): boolean {
  if (!on.includes(error.class)) return false;
  return when === undefined || route(program, thread, [{ when, to: 'again' }], '', error) === 'again';
}

type Delay = Pick<Retry, 'baseMs' | 'capMs' | 'factor'>;
const TRANSPORT: Delay = { baseMs: 500, capMs: 30_000 };

/** Full jitter, but never earlier than the callee asked for. */
function delayed({ seed, now }: RunState, policy: Delay, pending: Pending, retryAfterMs: number): Instant {
  const { baseMs, capMs, factor = 2 } = policy;
  const most = Math.min(capMs, baseMs * factor ** pending.attempt);
  const jitter = baseMs === 0 ? 0 : draw(seed, `${pending.key} ${pending.attempt}`) * most;
  return now + Math.floor(Math.max(jitter, retryAfterMs));
}

function nextTarget({ retry: { fallback } }: DoNode, { target }: Pending, error: ErrorRecord): string | undefined {
  if (fallback === undefined || !fallback.on.includes(error.class)) return undefined;
  return fallback.targets[target === undefined ? 0 : fallback.targets.indexOf(target) + 1];
}
