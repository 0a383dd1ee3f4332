/**
 * Requests an effect (L4). A request is made only if its input can be evaluated, its arguments are valid, no meter trips and
 * the worst case can be reserved. The journal stores the fingerprint of the input; performers get the input from the fold.
 */
import type { Json } from '../expr/json.ts';
import { instantOf } from '../expr/time.ts';
import { worstCase } from '../ir/estimate.ts';
import type { EffectKey, ErrorRecord, EventBody, Hold, Instant, RunState, Slots, Undo } from '../ir/events.ts';
import { hasEffects } from '../ir/effect-classes.ts';
import { stopsAtDeadline } from '../ir/meters.ts';
import type { DoNode, Input } from '../ir/nodes.ts';
import { outOfTime } from './admit.ts';
import { declaredOf } from './declared.ts';
import type { Declared } from './declared.ts';
import { argsIn, lookedUpBy, markOf } from './deeds.ts';
import { digest } from './digest.ts';
import { awaitsDrops } from './drops.ts';
import { isOver, isPast } from './due.ts';
import { errorRecord, expressionError, nameOf, route } from './failure.ts';
import { meterAt, reserve } from './meters.ts';
import { stuckBefore } from './turns.ts';
import { inWords, normalised, tripOnRepeat } from './repeats.ts';
import { evaluateInput } from './program.ts';
import { questionOf, tooManyQuestions } from './question.ts';
import type { Program, Visit } from './program.ts';
import { deadlineFrom, sooner, timesOf, timingOf } from './timing.ts';
import type { Timing } from './timing.ts';

export function request(visit: Visit<DoNode>): readonly EventBody[] {
  const { program, state, node } = visit;
  // A run without any time ends at its first call.
  if ((isOver(state) && stopsAtDeadline(program.flow)) || isPast(state)) return outOfTime(state);
  const prepared = prepare(visit);
  if ('class' in prepared) return failUnrequested(visit, prepared);
  const declared = declaredOf(program, node);
  const prints = printsOf(program, declared, node, prepared.input);
  const repeated = tripOnSame(visit, prints);
  if (repeated !== null) return [repeated];
  // This event resets the monitor, so the next decision makes the call.
  const stuck = declared.turns === undefined ? null : stuckBefore(visit, declared.turns);
  if (stuck !== null) return [stuck];
  const timing = timingOf(visit, declared);
  if ('type' in timing) return [timing];
  const untimely = untimelyCall(visit, timing);
  if (untimely !== null) return failUnrequested(visit, untimely);
  const wait = waitOf(state, node, prepared.input);
  if ('class' in wait) return failUnrequested(visit, wait);
  const amounts = declared.countsInput ? worstCase(program, node, prepared.input) : node.effect.reserve;
  const holds = reserve(visit, declared, amounts);
  if (holds !== undefined && 'type' in holds) return awaitsDrops(state) ? [] : [holds];
  const granted = { declared, prints, timing, wait, holds, undo: prepared.undo, ...deedOf(visit, prepared.input) };
  return [requested(visit, granted)];
}

/** The failure of a call whose input cannot be evaluated, or does not fit the schema of its tool. No control judges such a call. */
export function unfitCall(visit: Visit<DoNode>): readonly EventBody[] | null {
  const prepared = prepare(visit);
  return 'class' in prepared ? failUnrequested(visit, prepared) : null;
}

interface Prints {
  /** The fingerprint of the input. */
  readonly fingerprint: string;
  /** The fingerprint without differences of spelling and ignored fields; only where repeats are watched. */
  readonly compared: string | undefined;
  /** The fingerprint without the order of words, if a meter compares words and the input has a text of several words. */
  readonly words: string | undefined;
}

interface Granted {
  readonly declared: Declared;
  readonly prints: Prints;
  readonly timing: Timing;
  readonly wait: Wait;
  readonly holds: readonly Hold[] | undefined;
  readonly undo: Undo | undefined;
  readonly mark: string | undefined;
  readonly verifies: EffectKey | undefined;
}

/** The mark of a call that must not happen twice by mistake, and the call that a lookup is about. */
function deedOf(
  { program, state, thread, node: { effect } }: Visit<DoNode>,
  input: Prepared['input'],
): Pick<Granted, 'mark' | 'verifies'> {
  if (effect.kind !== 'tool') return NO_DEED;
  const verifies = input['verifies'] === undefined ? undefined : lookedUpBy(state, thread.id, input);
  return { mark: markOf(program, effect.tool, argsIn(input)), verifies };
}
const NO_DEED = { mark: undefined, verifies: undefined };

function requested({ program, state, thread, node }: Visit<DoNode>, granted: Granted): EventBody {
  const { declared, prints, timing, wait, holds, undo, mark, verifies } = granted;
  const { fingerprint, compared, words } = prints;
  const { visits, repeats, turns } = declared;
  const { notBefore, paced, timed } = timing;
  const key = `${thread.id}#${thread.acts}`;
  const { wholeMs } = timesOf(program, node);
  const ends = wholeMs === undefined ? undefined : state.now + wholeMs;
  const timeout = deadlineFrom(state, notBefore ?? state.now, node.timeoutMs, node.effect.kind === 'ask');
  return {
    type: 'effect.requested',
    thread: thread.id,
    key,
    node: thread.at,
    kind: node.effect.kind,
    name: nameOf(node),
    input: fingerprint,
    deadline: sooner(sooner(timeout, timing.until), wait.until ?? ends ?? null),
    holds,
    charge: visits,
    watched: repeats,
    turns,
    print: compared === fingerprint ? undefined : compared,
    words,
    notBefore,
    paced,
    timed,
    question: node.effect.kind === 'ask' ? questionOf(state.run, node.effect, key, fingerprint) : undefined,
    until: wait.until,
    signal: wait.signal,
    ends,
    undo,
    mark,
    verifies,
  };
}

function printsOf(program: Program, declared: Declared, node: DoNode, input: Prepared['input']): Prints {
  const { fingerprint: constant, repeats } = declared;
  const fingerprint = constant ?? digest(input, program.pure.hash);
  if (repeats === undefined) return { fingerprint, compared: undefined, words: undefined };
  const ignored = new Set(repeats.flatMap((id) => meterAt(program, id).ignore ?? []));
  const plain = normalised(input, ignored);
  const isRead = !hasEffects(program.flow, nameOf(node));
  const words = isRead && repeats.some((id) => meterAt(program, id).words === true) ? inWords(plain) : null;
  return {
    fingerprint,
    compared: digest(plain, program.pure.hash),
    words: words === null ? undefined : digest(words, program.pure.hash),
  };
}

function tripOnSame(visit: Visit<DoNode>, { compared, words }: Prints): EventBody | null {
  if (compared === undefined) return null;
  const name = nameOf(visit.node);
  return tripOnRepeat(visit, { name, print: `${name} ${compared}`, words });
}

interface Prepared {
  readonly input: { readonly [field: string]: Json };
  readonly undo: Undo | undefined;
}

/** The input, and the compensation with its arguments; or the error that prevents the request. */
function prepare({ program, thread, node }: Visit<DoNode>): Prepared | ErrorRecord {
  try {
    const input = evaluateInput(program, node.effect.input, thread.slots);
    const undo = node.undo && {
      tool: node.undo.tool,
      args: undoArgs(program, thread.slots, node.undo.input, input),
      timeoutMs: node.undo.timeoutMs,
    };
    const invalid = node.takes === undefined ? null : program.pure.validate(node.takes, input['args'] ?? null);
    if (invalid === null) return { input, undo };
    const message = `the arguments of \`${nameOf(node)}\` are not valid: ${invalid}`;
    return errorRecord(node, { class: 'semantic', type: 'ArgumentError', message }, 1);
  } catch (cause) {
    return expressionError(node, cause);
  }
}

function undoArgs(program: Program, slots: Slots, given: Input | undefined, input: Prepared['input']): Undo['args'] {
  return given === undefined ? (input['args'] ?? {}) : evaluateInput(program, given, { ...slots, input });
}

/** The failure of an effect that could not be requested. It takes the same route as the failure of a call. */
function failUnrequested(visit: Visit<DoNode>, error: ErrorRecord): readonly EventBody[] {
  const { program, thread, node } = visit;
  const charge = declaredOf(program, node).visits;
  const to = route(visit, node, error);
  return [{ type: 'expression.failed', thread: thread.id, node: thread.at, error, to, charge }];
}

/** The error of a call that would have to wait too long, that has too little time left, or that is one question too many. */
function untimelyCall({ program, state, node }: Visit<DoNode>, { notBefore }: Timing): ErrorRecord | null {
  const { queueMs = Infinity } = timesOf(program, node);
  if (notBefore !== undefined && notBefore - state.now > queueMs) return queued(node, queueMs);
  if (notBefore !== undefined && notBefore >= (deadlineFrom(state, notBefore, null) ?? Infinity)) return tooEarly(node);
  return isNearlyOver(state, node)
    ? tooLate(node)
    : tooManyQuestions(state, node, node.effect.kind === 'ask' ? nameOf(node) : null);
}

/** True in the last two percent of the run's time, at most the last second: a call would not end in time. */
function isNearlyOver(state: RunState, { effect }: DoNode): boolean {
  const end = deadlineFrom(state, state.now, null);
  if (end === null || effect.kind === 'ask') return false;
  const wholeMs = end - state.startedAt - (state.waitedMs ?? 0);
  return end - state.now < Math.min(1000, wholeMs / 50);
}

function tooLate(node: DoNode): ErrorRecord {
  const message = `\`${nameOf(node)}\` was not called: the time of the run is nearly over`;
  return errorRecord(node, { class: 'timeout', type: 'DeadlineError', message }, 1);
}

function queued(node: DoNode, queueMs: number): ErrorRecord {
  const message = `\`${nameOf(node)}\` was not called: its rate limit has no place within ${queueMs / 1000} s`;
  return errorRecord(node, { class: 'rate_limit', type: 'RateLimitError', message }, 1);
}

function tooEarly(node: DoNode): ErrorRecord {
  const message = `the rate limit of \`${nameOf(node)}\` is used up, and the run has no time to wait`;
  return errorRecord(node, { class: 'rate_limit', type: 'RateLimitError', message }, 1);
}

interface Wait {
  readonly until?: Instant | undefined;
  readonly signal?: string | undefined;
}

/** The end of a wait, from its input; an error if the input has none. */
function waitOf({ now }: RunState, node: DoNode, input: Prepared['input']): Wait | ErrorRecord {
  if (node.effect.kind !== 'wait') return NO_WAIT;
  const { for: seconds, until, signal } = input;
  if (typeof signal === 'string' && signal !== '') return { signal };
  if (typeof seconds === 'number' && Number.isFinite(seconds)) return { until: now + Math.max(0, seconds) * 1000 };
  const instant = typeof until === 'string' ? instantOf(until) : null;
  if (instant !== null) return { until: instant };
  const wanted = signal !== undefined ? 'the name of a signal' : until === undefined ? 'a number' : AN_INSTANT;
  const message = `\`${nameOf(node)}\` waits for ${wanted}, but got ${JSON.stringify(signal ?? seconds ?? until ?? null)}`;
  return errorRecord(node, { class: 'semantic', type: 'WaitError', message }, 1);
}

const NO_WAIT: Wait = {};
const AN_INSTANT = 'an instant with its time zone, such as 2026-12-01T09:00:00Z';
