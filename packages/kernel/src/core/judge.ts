/** Judges the answer to an effect (L3): it is accepted and committed, tried again, or fails on a route that the flow declares. */
import { withoutReasoning } from '../expr/almost-json.ts';
import { isRecord, type Json } from '../expr/json.ts';
import type {
  EffectKey,
  ErrorRecord,
  EventBody,
  Failure,
  Instant,
  Pending,
  RunState,
  Settled,
  Thread,
} from '../ir/events.ts';
import { LIMITS } from '../ir/limits.ts';
import type { DoNode, MeterId } from '../ir/nodes.ts';
import { judgeControls } from './controls.ts';
import { declaredOf } from './declared.ts';
import { errorRecord, expressionError, addsEffects, nameOf, route } from './failure.ts';
import { nodeAt, recordWrites } from './program.ts';
import type { Program, Visit } from './program.ts';
import { adviceOn, repeatedFailure } from './repeats.ts';
import { PART, isPart, noObject, repaired } from './mend.ts';
import { ambiguity, oneObject, readingsOf, reply } from '../expr/reply.ts';
import { TOO_MANY_CALLS, callsIn, declaredAttempt, retry } from './retry.ts';
import { readPath } from './slots.ts';
import { timingOf } from './timing.ts';

export function judge(program: Program, state: RunState, thread: Thread, key: EffectKey): readonly EventBody[] {
  const pending = state.pending.get(key);
  if (pending === undefined || pending.observed === null) return [];
  const node = nodeAt(program, pending.node) as DoNode;
  const visit = { program, state, thread, node };
  if (pending.control !== undefined && node.controls !== undefined) return judgeControls(visit, node.controls, pending);
  return judgeCall(visit, pending, pending.observed);
}

function judgeCall(visit: Visit<DoNode>, pending: Pending, observed: Settled): readonly EventBody[] {
  const { node } = visit;
  const { key } = pending;
  const mended = observed.ok ? repaired(visit, pending, observed.value) : null;
  if (mended !== null) return [mended];
  const failure = observed.ok ? refusal(visit, observed.value) : observed.error;
  if (observed.ok && failure === null) return accept(visit, key, observed.value);
  const unsent = !observed.ok && observed.error.unsent !== undefined ? 1 : 0;
  const record = errorRecord(node, failure as Failure, declaredAttempt(pending) - unsent);
  const again = retry(visit, pending, record, failure as Failure);
  if (again !== null && typeof again !== 'string') return [again];
  if (observed.ok && record.type === 'SchemaError' && node.fit?.lenient === true)
    return accept(visit, key, observed.value);
  const message = again === null ? record.message : `${record.message}; it is not tried again: ${again}`;
  return giveUp(visit, key, { ...record, message });
}

/** No attempt is left, or none can be made. */
function giveUp(visit: Visit<DoNode>, key: EffectKey, error: ErrorRecord): readonly EventBody[] {
  const late = cutOff(visit, key, error);
  if (late !== null) return late;
  const suspected = repeatedFailure(visit, key);
  if (suspected === null) return [failed(visit, key, error)];
  return [suspected, failed(visit, key, { ...error, message: adviceOn(error.message, suspected) })];
}

function accept(visit: Visit<DoNode>, key: EffectKey, it: Json): readonly EventBody[] {
  const { program, state, thread, node } = visit;
  try {
    const writes = declaredOf(program, node).writes ?? recordWrites(program, node.writes, thread.slots, it);
    const events: EventBody[] = [{ type: 'effect.judged', key, verdict: 'accepted' }];
    const raises = node.grant === undefined ? [] : granted(visit, node.grant, it);
    if (raises.length > 0) events.push({ type: 'meter.raised', key, raises, ...deadlineAfter(program, state, raises) });
    events.push({ type: 'slots.written', thread: thread.id, node: thread.at, writes, to: node.next });
    return [...lacking(visit, it), ...events];
  } catch (cause) {
    return [failed(visit, key, expressionError(node, cause))];
  }
}

/** A field of the reply that decides a route or enters an argument, and is not there. */
function lacking({ thread, node }: Visit<DoNode>, it: Json): readonly EventBody[] {
  const reads = node.fit?.reads;
  if (reads === undefined || callsIn(it) > 0) return [];
  const object = oneObject(reply(readPath(it, ['text'])));
  const paths = reads.fields
    .filter((field) => !isRecord(object) || !Object.hasOwn(object, field))
    .map((field) => [...reads.of, field]);
  return paths.length === 0 ? [] : [{ type: 'value.missing', thread: thread.id, node: thread.at, paths }];
}

type Raise = { readonly meter: MeterId; readonly by: number };

/** The amounts that an answer adds to the limits. A value that is not a number above zero adds nothing. */
function granted({ program, state, thread }: Visit, grant: NonNullable<DoNode['grant']>, it: Json): readonly Raise[] {
  // Sorted, because a stored flow does not keep the order of its keys.
  const grants = Object.entries(grant).sort(([a], [b]) => (a < b ? -1 : 1));
  return grants.flatMap(([meter, source]) => {
    const by = program.evaluate(source, thread.slots, it);
    if (typeof by !== 'number' || !Number.isFinite(by) || by <= 0) return [];
    // Granted time begins now: the time since the deadline does not reduce it.
    const isLate = meter === program.flow.clock && state.late === true;
    return [{ meter, by: by + (isLate ? state.now - (state.deadline ?? state.now) : 0) }];
  });
}

function deadlineAfter(
  { flow }: Program,
  { deadline }: RunState,
  raises: readonly Raise[],
): { readonly deadline?: Instant } {
  const by = raises.find(({ meter }) => meter === flow.clock)?.by;
  return by === undefined || deadline === null ? {} : { deadline: deadline + by };
}

/** A call whose result is refused took effect. It is repeated only if it is idempotent. */
function refusal(visit: Visit<DoNode>, value: Json): Failure | null {
  const { program, node } = visit;
  const failure = objection(visit, value);
  return failure !== null && addsEffects(program.flow, node) ? { ...failure, ran: true } : failure;
}

/** The reason to refuse an answer; null if it is accepted. */
function objection({ program, thread, node }: Visit<DoNode>, value: Json): Failure | null {
  const { accept: guard, label } = node;
  const excess = tooManyCalls(node, value);
  if (excess !== null) return excess;
  try {
    const isExempt = node.unless !== undefined && program.evaluate(node.unless, thread.slots, value) === true;
    const problem = isExempt ? null : unfit(program, node, value);
    if (problem !== null) return { class: 'semantic', type: 'SchemaError', message: problem };
    if (guard === undefined || program.evaluate(guard, thread.slots, value) === true) return null;
  } catch (cause) {
    return expressionError(node, cause);
  }
  // Inside an agent's turn the label names the turn, so the message names the call.
  const name = label.authored === undefined ? label.name : nameOf(node);
  return { class: 'semantic', type: 'RejectedError', message: `the result of \`${name}\` was not accepted` };
}

/** None of the calls of such a reply is made. */
function tooManyCalls({ effect }: DoNode, value: Json): Failure | null {
  const calls = effect.kind === 'model' ? callsIn(value) : 0;
  if (calls <= LIMITS.replyCalls) return null;
  const message = `the reply has ${calls} tool calls, and a reply may have ${LIMITS.replyCalls}`;
  return { class: 'semantic', type: TOO_MANY_CALLS, message };
}

/**
 * The reason why an observation does not fit; null if it fits. It satisfies a schema if one of its readings does. Of a reply
 * that satisfies it neither as text nor as JSON, the one object in it counts.
 */
function unfit({ pure }: Program, node: DoNode, value: Json): string | null {
  const { schema, fit, effect } = node;
  const text = effect.kind === 'model' ? answerIn(value) : value;
  if (schema === undefined)
    return fit === undefined || fit.whole === true ? null : (ambiguity(text) ?? noObject(node, text));
  let first: string | null = null;
  for (const reading of readingsOf(text)) {
    const problem = pure.validate(schema, reading);
    if (problem === null) return null;
    first ??= problem;
  }
  if (effect.kind !== 'model') return first;
  if (isPart(text)) return PART;
  const object = oneObject(text);
  return object === text ? (ambiguity(text) ?? first) : pure.validate(schema, object);
}

/** The text of a reply without reasoning. */
function answerIn(reply: Json): Json {
  const text = readPath(reply, ['text']);
  return typeof text === 'string' ? withoutReasoning(text) : text;
}

/** If a time meter cuts off a model call, the thread takes the route of the meter, because the call changed nothing. */
function cutOff(visit: Visit<DoNode>, key: EffectKey, error: ErrorRecord): readonly EventBody[] | null {
  const { node } = visit;
  if (node.onBudget === undefined || error.class !== 'timeout' || node.effect.kind !== 'model') return null;
  const timing = timingOf(visit);
  if (!('type' in timing)) return null;
  return [{ type: 'effect.judged', key, verdict: 'failed', error, to: timing.to }, timing];
}

function failed(visit: Visit<DoNode>, key: EffectKey, error: ErrorRecord): EventBody {
  return { type: 'effect.judged', key, verdict: 'failed', error, to: route(visit, visit.node, error) };
}
