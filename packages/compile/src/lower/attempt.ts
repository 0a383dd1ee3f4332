/**
 * Tries several nodes as one: a fork with a single branch, which a timeout ends and a failure starts again. A step that is
 * one call needs none of this, because a call has its own timeout and retry.
 */
import { RETRY_CHECK } from '@sluice-internal/kernel/ir';
import type { Expr, FailureKind, ForkNode, NodeId } from '@sluice-internal/kernel/ir';
import { decisionOf } from '@sluice-internal/kernel/catalog';
import { literal, quote } from '@sluice-internal/kernel/expr';
import { set, type Kit, type Step } from './kit.ts';

export interface Attempts {
  /** The first node of the attempt. */
  readonly step: Step;
  /** The name of every other node. */
  readonly part: (hint: string) => Step;
  /** The time of one attempt. */
  readonly timeoutMs: number | null;
  /** Further attempts, for failures that `when` (over `error`) takes. */
  readonly retry: {
    readonly max: number;
    readonly when: Expr;
    /** Milliseconds before the second attempt, the third, and so on; none unless given. */
    readonly delaysMs?: readonly number[];
  } | null;
  /**
   * True if an attempt can make calls that must not be made twice. After a timeout it is then not repeated, because a call
   * may still be open. After any other end it returns its observations, so the next attempt has its calls.
   */
  readonly risky: boolean;
  /** The number of times that the first node can be visited. */
  readonly visitsMax: number;
  /** Slots that an attempt returns. */
  readonly gather: ForkNode['gather'];
  /** Adds the nodes of an attempt and returns their first; they end at `done`. */
  readonly body: (done: NodeId) => NodeId;
  readonly next: NodeId;
  readonly fail: NodeId;
}

const OUTCOME = '_attempt';
const TRIES = '_tries';

export function addAttempts(kit: Kit, attempts: Attempts): NodeId {
  const { step, part, timeoutMs, retry, gather, body, next } = attempts;
  const head = body(kit.end({ state: 'completed', code: 'SUCCESS' }));
  const again = retry === null ? step.id : (part('try').id ?? kit.builder.fresh(part('try').hint ?? step.origin));
  const failed = retry === null ? attempts.fail : addRetry(kit, attempts, again ?? head);
  const fork = kit.fork(retry === null ? step : { ...part('try'), id: again }, {
    over: { heads: [{ name: step.origin, to: head }] },
    timeoutMs,
    ...(timeoutMs === null ? {} : { exceptPeople: true }),
    into: OUTCOME,
    gather,
    next,
    fail: kit.branchError(part('failed'), OUTCOME, failed),
  });
  return retry === null ? fork : kit.set(step, [set(TRIES, '0')], fork);
}

/** Budgets and policies would refuse the call again. */
const RETRIED = '!(error.class in ["budget", "policy"])';

function addRetry(kit: Kit, { step, part, retry, visitsMax, fail, risky }: Attempts, again: NodeId): NodeId {
  if (retry === null) return fail;
  const label = `attempts of ${part('retry').origin}`;
  const limit = { unit: 'visits', max: retry.max * visitsMax, over: fail, label } as const;
  const share = step.id === undefined ? undefined : { of: step.id, max: retry.max };
  const meter = kit.builder.meter(`attempts:${again}`, limit, share);
  const wait = addDelay(kit, { ...part('backoff'), onBudget: fail }, retry.delaysMs ?? [], again);
  const repeat = (hint: string, failure: FailureKind): NodeId =>
    addToken(
      kit,
      { ...part(`${hint}.token`), onBudget: fail },
      kit.set(
        { ...part(hint), charges: [meter], decision: decisionOf(failure, 'retry') },
        [set(TRIES, `${TRIES} + 1`)],
        wait,
      ),
    );
  const ended = risky ? ` && ${OUTCOME}[0].state != "cancelled"` : '';
  const when = `${TRIES} < ${retry.max} && ${RETRIED}${ended} && (${retry.when})`;
  return kit.pick(
    part('retries'),
    [
      { when: `${when} && ${PROVIDER}`, to: repeat('retry', 'provider_error') },
      { when, to: repeat('correct', 'schema_or_grounding') },
    ],
    fail,
  );
}

/** A failure of a provider or of a tool, and not of a reply. */
const PROVIDER = 'error.class in ["transient", "rate_limit", "timeout", "fatal"]';

/** A repeated attempt counts in the shared retry budget as a repeated call does, unless the document switches the budget off. */
function addToken(kit: Kit, step: Step, next: NodeId): NodeId {
  const { retryBudget, declared } = kit.builder.definitions.protections;
  if (retryBudget === null && declared.has('retry_budget')) return next;
  return kit.check(step, { check: RETRY_CHECK, input: { name: quote(step.origin) }, next, fail: next });
}

/**
 * Waits before the next attempt. The wait is a timer of the run, so it survives a crash. It counts as a retry: where
 * `budgets.retries` has none left, the error is final. The error is forgotten after the wait.
 */
function addDelay(kit: Kit, step: Step, delaysMs: readonly number[], next: NodeId): NodeId {
  const isInstant = delaysMs.every((delay) => delay === 0);
  const seconds = isInstant ? '0' : `${literal(delaysMs.map((delay) => delay / 1000))}[${TRIES} - 1]`;
  return kit.call(step, {
    effect: { kind: 'wait', about: step.origin, input: { for: seconds }, reserve: { retries: 1 } },
    writes: [set('error', 'null')],
    next,
    fail: next,
  });
}
