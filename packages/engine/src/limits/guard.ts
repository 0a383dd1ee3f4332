/**
 * Performs calls under the protections whose state all runs of a store share: circuit breakers and the retry budget. Each
 * decision becomes a note, which the journal keeps with the result of the call. So a replay needs no clock and no store.
 */
import { normalised, printOf } from '@sluice-internal/kernel/core';
import { mended, oneObject, parseJson, readingsOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { DEFAULT_MODEL, DEFAULT_RETRY_BUDGET, RETRY_CHECK, VERDICT_CHECK } from '@sluice-internal/kernel/ir';
import type {
  AgentDef,
  BreakerRules,
  DoNode,
  Failure,
  Instant,
  ProtectionNote,
  RetryBudgetRules,
  Settled,
  SharedProtections,
} from '@sluice-internal/kernel/ir';
import { pure } from '../ports/pure.ts';
import { failureOf } from '../ports/failures.ts';
import { valueAt } from '../ports/cells.ts';
import type { Swapped } from '../ports/cells.ts';
import type { Call, Performer } from '../ports/ports.ts';
import { probeAt } from './breaker.ts';
import type { BreakerState, Outcome } from './breaker.ts';
import { withinWindow } from './failure-rate.ts';
import { operationsOn, stateOf } from './operations.ts';
import type { Operate } from './operations.ts';
import { RETRY_BUDGET_KEY, SCRIPTED_BUDGET_KEY } from './retry-budget.ts';

export interface Performed {
  readonly result: Settled;
  readonly notes: readonly ProtectionNote[];
}

export interface Start {
  /** False if the call must not begin any more. */
  isAllowed(): boolean;
  /** The performer gets the call now. */
  made(): void;
}

/** The call was not made, because it was no longer allowed to start. */
export class NotStarted extends Error {}

function withoutNotes(result: Settled): Performed {
  return { result, notes: NO_NOTES };
}

function failed(error: unknown): Performed {
  return withoutNotes({ ok: false, error: failureOf(error) });
}

export const BREAKER_PREFIX = 'breaker:';
/** Breakers of scripted calls: a rehearsal opens no breaker of real runs, and a real outage none of a rehearsal. */
export const SCRIPTED_PREFIX = 'breaker.scripted:';

export class Guard {
  readonly #performer: Performer;
  readonly #shared: Swapped;
  readonly #operate: Operate;
  /** Calls that are not yet added to the shared retry budget. A write for each call would be expensive. */
  readonly #calls = { real: 0, scripted: 0 };

  constructor(performer: Performer, shared: Swapped) {
    this.#operate = operationsOn(shared);
    this.#performer = performer;
    this.#shared = shared;
  }

  /** `isAllowed` is called again after each wait for the shared state: the process may have lost its lease meanwhile. */
  perform(call: Call, start: Start): Promise<Performed> {
    const { kind, name } = call.command;
    if (kind === 'check' && name === VERDICT_CHECK) return this.#countVerdict(call);
    if (kind === 'check' && name === RETRY_CHECK) return this.#countRetry(call);
    const { breaker, retryBudget } = rulesOf(call);
    if (retryBudget !== null && isRepeated(call)) return this.#repeat(call, breaker, retryBudget, start);
    if (retryBudget !== null) this.#calls[this.#sideOf(call)] += 1;
    return breaker === null ? this.#call(call, start) : this.#withBreaker(call, breaker, start);
  }

  async #repeat(call: Call, breaker: BreakerRules | null, budget: RetryBudgetRules, start: Start): Promise<Performed> {
    const denied = await this.#takeToken(call, budget, isDeclared(call));
    if (denied !== null) return denied;
    return breaker === null ? this.#call(call, start) : this.#withBreaker(call, breaker, start);
  }

  /** A performer that throws has failed; the failure counts like any other. */
  #call(call: Call, start: Start): Promise<Performed> {
    if (!start.isAllowed()) return Promise.reject(new NotStarted());
    start.made();
    try {
      return this.#performer.perform(call).then(withoutNotes, failed);
    } catch (error) {
      return Promise.resolve(failed(error));
    }
  }

  /** Several calls are repeated as one, because the document declares it. */
  async #countRetry(call: Call): Promise<Performed> {
    const { command, flow } = call;
    const { retryBudget: rules = DEFAULT_RETRY_BUDGET } = {
      ...flow.shared,
      ...(flow.nodes[command.node] as DoNode).shared,
    };
    if (rules !== null) await this.#takeToken(call, rules, true);
    return { result: { ok: true, value: { granted: true } }, notes: NO_NOTES };
  }

  /** Null if the call may be made: a retry that the document declares always may. */
  async #takeToken(call: Call, rules: RetryBudgetRules, declared: boolean): Promise<Performed | null> {
    const side = this.#sideOf(call);
    const calls = this.#calls[side];
    this.#calls[side] = 0;
    const { granted, state } = await this.#operate(BUDGET_KEYS[side], 'retries.take', {
      ...{ rules, calls, declared, at: call.clock.now() },
    });
    if (granted) return null;
    const { share, burst } = rules;
    const message = `\`${call.command.name}\` failed, and the retry budget is used up: retries may be ${Math.round(share * 100)} % of the calls of all runs`;
    return {
      result: { ok: false, error: { class: 'transient', type: 'RetryBudgetError', message, unsent: 'retry_budget' } },
      notes: [{ type: 'retry.denied', tokens: state.tokens, share, burst }],
    };
  }

  /** An invariant has judged a result. The breaker of its agent counts the verdict, and no call is made. */
  async #countVerdict(call: Call): Promise<Performed> {
    const { command, flow } = call;
    const node = flow.nodes[command.node] as DoNode;
    const rules = { ...flow.shared, ...node.shared }.breaker ?? null;
    const notes: ProtectionNote[] = [];
    if (rules !== null) {
      const breaker = breakerOf(call, String(command.input['agent']));
      const outcome = command.input['ok'] === true ? 'invariant_kept' : 'invariant_violation';
      notes.push(...(await this.#report(call, breaker, rules, outcome)));
    }
    return { result: { ok: true, value: { counted: rules !== null } }, notes };
  }

  async #withBreaker(call: Call, rules: BreakerRules, start: Start): Promise<Performed> {
    const breaker = breakerOf(call);
    const side = this.#sideOf(call);
    const key = `${PREFIXES[side]}${breaker}`;
    const id = `${call.command.run} ${call.command.key}`;
    const notes: ProtectionNote[] = [];
    const byHand = side === 'scripted' ? await this.#openedByHand(breaker) : null;
    if (byHand !== null) return denied(breaker, byHand, rules, notes);
    const before = stateOf(await valueAt(this.#shared, key));
    if (before.status !== 'closed') {
      const probe = { call: id, at: call.clock.now() };
      const { allowed, change, state } = await this.#operate(key, 'breaker.probe', probe);
      if (change !== null) notes.push({ type: 'breaker.changed', breaker, ...change });
      if (!allowed) return denied(breaker, state, rules, notes);
    }
    const { result } = await this.#call(call, start);
    const outcome = outcomeOf(call, result, rules);
    if (before.status === 'closed' && outcome === 'ok' && isUntouched(before, rules, call.clock.now()))
      return { result, notes };
    return { result, notes: [...notes, ...(await this.#report(call, breaker, rules, outcome))] };
  }

  /** Reports the result of a call to its breaker. A change of the breaker becomes a note. */
  async #report(
    call: Call,
    breaker: string,
    rules: BreakerRules,
    outcome: Outcome,
  ): Promise<readonly ProtectionNote[]> {
    const { command, clock } = call;
    const change = await this.#operate(`${PREFIXES[this.#sideOf(call)]}${breaker}`, 'breaker.trip', {
      ...{ rules, call: `${command.run} ${command.key}`, outcome, at: clock.now() },
    });
    return change === null ? NO_NOTES : [{ type: 'breaker.changed', breaker, ...change }];
  }

  /** An operator stops the calls of all runs, also of scripted ones. */
  async #openedByHand(breaker: string): Promise<BreakerState | null> {
    const state = stateOf(await valueAt(this.#shared, `${BREAKER_PREFIX}${breaker}`));
    return state.status === 'open' && state.by !== null ? state : null;
  }

  #sideOf(call: Call): Side {
    return this.#performer.isScripted?.(call) === true ? 'scripted' : 'real';
  }
}

const NO_NOTES: readonly ProtectionNote[] = [];

type Side = 'real' | 'scripted';
const PREFIXES: { readonly [side in Side]: string } = { real: BREAKER_PREFIX, scripted: SCRIPTED_PREFIX };
const BUDGET_KEYS: { readonly [side in Side]: string } = { real: RETRY_BUDGET_KEY, scripted: SCRIPTED_BUDGET_KEY };

interface Rules {
  readonly breaker: BreakerRules | null;
  readonly retryBudget: RetryBudgetRules | null;
}

function rulesOf({ command, flow }: Call): Rules {
  const node = flow.nodes[command.node];
  if (node?.op !== 'do' || (command.kind !== 'model' && command.kind !== 'tool')) return NO_RULES;
  const rules: SharedProtections | undefined =
    node.shared === undefined ? flow.shared : { ...flow.shared, ...node.shared };
  const breaker = command.kind === 'model' ? (rules?.breaker ?? null) : null;
  const retryBudget = rules?.retryBudget === undefined ? defaultBudget(node) : rules.retryBudget;
  return { breaker, retryBudget };
}
const NO_RULES: Rules = { breaker: null, retryBudget: null };

function defaultBudget({ effect, retry }: DoNode): RetryBudgetRules | null {
  return effect.kind === 'model' || retry.max > 0 ? DEFAULT_RETRY_BUDGET : null;
}

/** The document declares this retry: of its node, or of the model for a request that did not get through. */
function isDeclared(call: Call): boolean {
  const { command, flow } = call;
  if (command.transport === true) return modelOf(call).entry?.retries !== undefined;
  const node = flow.nodes[command.node];
  return node?.op === 'do' && node.retry.max > 0 && node.retry.budgeted !== true;
}

/** Another model, or a request to repair or continue a reply, does not repeat a request that failed. */
function isRepeated({ command: { attempt, target, input } }: Call): boolean {
  return attempt > 1 && target === undefined && input['repair'] === undefined && input['partial'] === undefined;
}

/** The breaker of a call: its agent and its model. */
function breakerOf(call: Call, name = call.command.name): string {
  const { alias, entry } = modelOf(call, name);
  const model = entry?.provider === undefined ? alias || 'default' : `${entry.provider}/${entry.model ?? ''}`;
  return `${name}@${model}`;
}

interface ModelEntry {
  readonly provider?: string;
  readonly model?: string;
  readonly retries?: number;
}

function modelOf({ command, flow }: Call, name = command.name): { alias: string; entry: ModelEntry | undefined } {
  const agent: AgentDef | undefined = Object.hasOwn(flow.agents, name) ? flow.agents[name] : undefined;
  const alias = command.target ?? agent?.model ?? DEFAULT_MODEL;
  return { alias, entry: flow.models[alias] as ModelEntry | undefined };
}

/** A successful call changes nothing in the state, so the state is not written. */
function isUntouched(state: BreakerState, { rate: rules = null }: BreakerRules, now: Instant): boolean {
  const { providerErrors, schemaFailures, rate } = state;
  const isCounting = rules !== null && withinWindow(rate, rules, now).length > 0;
  return providerErrors === 0 && schemaFailures === 0 && !isCounting;
}

function denied(
  breaker: string,
  state: BreakerState,
  { fallback }: BreakerRules,
  notes: readonly ProtectionNote[],
): Performed {
  const cause = state.cause ?? 'provider_errors';
  const until = probeAt(state);
  const kind = fallback === null ? null : 'model' in fallback ? 'model' : 'answer' in fallback ? 'answer' : 'escalate';
  const note: ProtectionNote = {
    type: 'breaker.denied',
    breaker,
    cause,
    until,
    fallback: kind,
    ...(state.by === null ? {} : { by: state.by }),
  };
  const all = [...notes, note];
  if (fallback !== null && 'answer' in fallback)
    return { result: { ok: true, value: { text: fallback.answer }, unsent: true }, notes: all };
  const why = state.by === null ? WHY[cause] : `${state.by} opened it`;
  const error: Failure = {
    class: 'transient',
    type: 'BreakerOpenError',
    message: `the circuit breaker ${breaker} is open: ${why}`,
    unsent: 'breaker',
  };
  return { result: { ok: false, error }, notes: all };
}

const WHY = {
  provider_errors: 'its calls failed one after another',
  schema_failures: 'its replies did not fit their schema',
  invariant_violations: 'its results broke an invariant',
  provider_rate: 'too many of its recent calls failed',
  soft_rate: 'too many of its recent replies were not usable',
  identical_calls: 'it repeated the same tool call',
  probe_failed: 'its calls fail',
  operator: 'an operator opened it',
} as const;

/** The result of a call as its breaker counts it. */
function outcomeOf(call: Call, result: Settled, rules: BreakerRules): Outcome {
  const { flow, command, clock, signal } = call;
  // The engine ends a call at its deadline. Any other abort is not a failure of the provider.
  if (signal.aborted && !(command.deadline !== null && clock.now() >= command.deadline)) return 'neither';
  if (!result.ok) return signal.aborted || isProviderError(result.error) ? 'provider_error' : 'neither';
  const node = flow.nodes[command.node] as DoNode;
  const reply = result.value as { readonly text?: Json; readonly toolCalls?: readonly ToolCall[] } | null;
  const calls = reply?.toolCalls ?? [];
  if (calls.length > 0)
    return isStreak(command.input['messages'], calls, rules.identicalCalls) ? 'identical_calls' : 'ok';
  return schemaOutcome(node, reply?.text ?? null, command.input['repair'] !== undefined);
}

function schemaOutcome({ schema, fit }: DoNode, text: Json, isRepair: boolean): Outcome {
  if (schema === undefined || fits(schema, text)) return 'ok';
  return fit !== undefined && fit.repairs > 0 && !isRepair ? 'unfit' : 'schema_failure';
}

/** A reply that can be continued is not a failure of the provider. */
function isProviderError({ class: kind, partial }: Failure): boolean {
  if (partial !== undefined) return false;
  return kind === 'transient' || kind === 'rate_limit' || kind === 'timeout';
}

/** As the run judges the reply: an object inside a fence or prose counts too. */
function fits(schema: Json, text: Json): boolean {
  for (const reading of [...readingsOf(text), oneObject(text)])
    if (pure.validate(schema, reading) === null) return true;
  const found = typeof text === 'string' ? mended(text) : null;
  return found !== null && pure.validate(schema, parseJson(found.object)) === null;
}

interface ToolCall {
  readonly name: string;
  readonly args?: Json;
}

/** True when this reply makes a streak of identical calls reach the limit. A longer streak has tripped already. */
function isStreak(messages: Json | undefined, latest: readonly ToolCall[], limit: number): boolean {
  const earlier = Array.isArray(messages)
    ? messages.flatMap((message) => (message as { readonly toolCalls?: readonly ToolCall[] | null }).toolCalls ?? [])
    : [];
  const prints = [...earlier, ...latest].map(({ name, args }) => `${name} ${printOf(normalised(args ?? null, NONE))}`);
  const last = prints.at(-1);
  const before = prints.findLastIndex((print) => print !== last);
  const length = prints.length - 1 - before;
  return length >= limit && length - latest.length < limit;
}
const NONE: ReadonlySet<string> = new Set();
