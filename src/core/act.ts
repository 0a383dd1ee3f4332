/**
 * `do`: asks the world for one thing, judges the answer, and commits it only if it is accepted (L3, L4). What is asked is
 * recorded by the fingerprint of its input; whoever performs it takes the input from the fold.
 */
import type { Amounts } from '../ir/dimensions.ts';
import { isOver, outOfTime } from './admit.ts';
import { codeOfFailure } from '../ir/codes.ts';
import type { FailureClass } from '../ir/codes.ts';
import { digest } from './digest.ts';
import { authorOf, expressionError } from './failure.ts';
import type { AgentDef, Case, DoNode, Write } from '../ir/nodes.ts';
import type { Json } from '../expr/json.ts';
import { declaredOf } from './declared.ts';
import { reserve, tripOnRepeat } from './meters.ts';
import { costOf, priceIn } from '../ir/price.ts';
import { evaluateInput, nodeAt } from './program.ts';
import type { Program } from './program.ts';
import { draw } from './random.ts';
import type {
  EffectKey,
  ErrorRecord,
  EventBody,
  Failure,
  Instant,
  Pending,
  Question,
  RunState,
  Slots,
  Thread,
  Undo,
  WriteRecord,
} from '../ir/events.ts';
import { parsedJson, readPath, reply, unfenced } from './slots.ts';
import { dimensionRow } from '../ir/dimensions.ts';
import { isCounted, stopsAtDeadline } from '../ir/meters.ts';
import { sooner, timingOf } from './timing.ts';

export function request(program: Program, state: RunState, thread: Thread, node: DoNode): readonly EventBody[] {
  // A run whose time is zero is over at its first call.
  if (isOver(state) && stopsAtDeadline(program.flow)) return outOfTime(state);
  let input: { [field: string]: Json };
  let undo: Undo | undefined;
  try {
    input = evaluateInput(program, node.effect.input, thread.slots);
    undo = node.undo && {
      tool: node.undo.tool,
      args: undoArgs(program, node, thread, input),
      timeoutMs: node.undo.timeoutMs,
    };
  } catch (cause) {
    return unasked(program, thread, node, expressionError(node, cause));
  }
  const unfit = node.takes === undefined ? null : program.pure.validate(node.takes, input['args'] ?? null);
  const name = nameOf(node);
  if (unfit !== null) {
    const message = `the arguments of \`${name}\` are not valid: ${unfit}`;
    return unasked(program, thread, node, recordOf(node, { class: 'semantic', type: 'ArgumentError', message }, 1));
  }
  const declared = declaredOf(program, node);
  const print = declared.print ?? digest(input, program.pure.hash);
  const repeated = tripOnRepeat(program, state, thread, node, `${name} ${print}`);
  if (repeated !== null) return [repeated];
  const timing = timingOf(program, state, thread, node);
  if ('type' in timing) return [timing];
  const { notBefore, paced, timed } = timing;
  if (notBefore !== undefined && state.deadline !== null && notBefore >= state.deadline)
    return unasked(program, thread, node, recordOf(node, tooEarly(name), 1));
  const reserved = reserve(program, state, thread, node, worstCase(program, node, input));
  if ('type' in reserved) return [reserved];
  const key = `${thread.id}#${thread.acts}`;
  return [
    {
      type: 'effect.requested',
      thread: thread.id,
      key,
      node: thread.at,
      kind: node.effect.kind,
      name,
      input: print,
      deadline: sooner(
        deadlineFrom(state, notBefore ?? state.now, node.timeoutMs, mayWait(program, node)),
        timing.until,
      ),
      holds: reserved.holds.length > 0 ? reserved.holds : undefined,
      charge: declared.visits,
      watched: declared.repeats,
      notBefore,
      paced,
      timed,
      question: question(state, node, key, print),
      undo,
    },
  ];
}

/** What cannot be asked for fails like an effect that was. */
function unasked(program: Program, thread: Thread, node: DoNode, error: ErrorRecord): readonly EventBody[] {
  const to = route(program, thread, node.failed, node.fail, error);
  return [
    {
      type: 'expression.failed',
      thread: thread.id,
      node: thread.at,
      error,
      to,
      charge: declaredOf(program, node).visits,
    },
  ];
}

/** Judges what was observed: accepted and committed, tried again, or failed on a way that the flow declares. */
export function judge(program: Program, state: RunState, thread: Thread, key: EffectKey): readonly EventBody[] {
  const pending = state.pending.get(key);
  if (pending === undefined || pending.observed === null) return [];
  const node = nodeAt(program, pending.node) as DoNode;
  const failure = pending.observed.ok
    ? objection(program, thread, node, pending.observed.value)
    : pending.observed.error;
  if (failure === null && pending.observed.ok) {
    const it = pending.observed.value;
    try {
      const writes = declaredOf(program, node).writes ?? recordWrites(program, node.writes, thread.slots, it);
      const events: EventBody[] = [{ type: 'effect.judged', key, verdict: 'accepted' }];
      const raises = node.grant === undefined ? [] : granted(program, state, thread, node.grant, it);
      if (raises.length > 0)
        events.push({ type: 'meter.raised', key, raises, ...deadlineAfter(program, state, raises) });
      events.push({ type: 'slots.written', thread: thread.id, node: thread.at, writes, to: node.next });
      return events;
    } catch (cause) {
      return [failed(program, thread, node, key, expressionError(node, cause))];
    }
  }
  const error = recordOf(node, failure as Failure, pending.attempt);
  const retryAfterMs = failure?.retryAfterMs ?? 0;
  const again = retry(program, state, thread, node, pending, error, retryAfterMs);
  return again !== null
    ? [again]
    : (cutOff(program, state, thread, node, key, error) ?? [failed(program, thread, node, key, error)]);
}

/** The amounts that an answer adds to the limits. A value that is not a number above zero adds nothing. */
function granted(
  program: Program,
  state: RunState,
  thread: Thread,
  grant: NonNullable<DoNode['grant']>,
  it: Json,
): { meter: string; by: number }[] {
  // In an order of their own: that of the keys is lost when a flow is stored.
  const grants = Object.entries(grant).sort(([a], [b]) => (a < b ? -1 : 1));
  return grants.flatMap(([meter, source]) => {
    const by = program.evaluate(source, thread.slots, it);
    if (typeof by !== 'number' || !Number.isFinite(by) || by <= 0) return [];
    // More time is granted from now on: the time since the deadline is not taken off it.
    const late = meter === program.flow.clock && state.late === true ? state.now - (state.deadline ?? state.now) : 0;
    return [{ meter, by: by + late }];
  });
}

function deadlineAfter(
  { flow }: Program,
  { deadline }: RunState,
  raises: readonly { readonly meter: string; readonly by: number }[],
): { readonly deadline?: Instant } {
  const by = raises.find(({ meter }) => meter === flow.clock)?.by;
  return by === undefined || deadline === null ? {} : { deadline: deadline + by };
}

/** The writes with the values that must be computed now; the others stay references. */
export function recordWrites(program: Program, writes: readonly Write[], slots: Slots, it: Json): WriteRecord[] {
  const records: WriteRecord[] = [];
  for (const { slot, path, mode, value } of writes)
    records.push({ slot, path, mode, from: program.record(value, slots, it) });
  return records;
}

/** The first declared way out that takes this failure. */
export function route(
  program: Program,
  thread: Thread,
  cases: readonly Case[],
  fallback: string,
  error: ErrorRecord,
): string {
  const slots = { ...thread.slots, error: error as unknown as Json };
  for (const { when, to } of cases) {
    try {
      if (program.evaluate(when, slots) === true) return to;
    } catch {
      // A guard over an error record is checked at compile time; one that still cannot be evaluated does not take it.
    }
  }
  return fallback;
}

/** `free`: bounded by its own time alone, and not by the run's. */
export function deadlineFrom(state: RunState, start: Instant, timeoutMs: number | null, free = false): Instant | null {
  return sooner(timeoutMs === null ? null : start + timeoutMs, free ? null : state.deadline);
}

/** If the deadline can be extended, questions stay open past it. */
function mayWait({ flow }: Program, { effect }: DoNode): boolean {
  return effect.kind === 'ask' && !stopsAtDeadline(flow);
}

/** A model that was cut off because time was up goes where whatever lacks a budget goes: nothing was done yet. */
function cutOff(
  program: Program,
  state: RunState,
  thread: Thread,
  node: DoNode,
  key: EffectKey,
  error: ErrorRecord,
): readonly EventBody[] | null {
  if (node.onBudget === undefined || error.class !== 'timeout' || node.effect.kind !== 'model') return null;
  const timing = timingOf(program, state, thread, node);
  if (!('type' in timing)) return null;
  return [{ type: 'effect.judged', key, verdict: 'failed', error, to: timing.to }, timing];
}

function tooEarly(name: string): Failure {
  return {
    class: 'rate_limit',
    type: 'RateLimitError',
    message: `\`${name}\` is called too often, and the run has no time to wait`,
  };
}

export function nameOf(node: DoNode): string {
  const { effect } = node;
  switch (effect.kind) {
    case 'model':
      return effect.agent;
    case 'tool':
      return effect.tool;
    case 'check':
      return effect.check;
    case 'ask':
      return effect.about;
  }
}

function objection(program: Program, thread: Thread, node: DoNode, value: Json): Failure | null {
  if (node.schema !== undefined && !asksForTools(program, node, value)) {
    const problem =
      node.effect.kind === 'model'
        ? replyProblem(program, node.schema, readPath(value, ['text']))
        : program.pure.validate(node.schema, value);
    if (problem !== null) return { class: 'semantic', type: 'SchemaError', message: problem };
  }
  if (node.accept === undefined) return null;
  try {
    if (program.evaluate(node.accept, thread.slots, value) === true) return null;
  } catch (cause) {
    return expressionError(node, cause);
  }
  // Within a turn the origin is whose turn it is, and not what was called.
  const what = node.label.authored === undefined ? node.label.name : nameOf(node);
  return { class: 'semantic', type: 'RejectedError', message: `the result of \`${what}\` was not accepted` };
}

/** A schema may describe an object, text, or other JSON. A reply is valid if it fits in one of these readings. */
function replyProblem({ pure }: Program, schema: Json, text: Json): string | null {
  const problem = pure.validate(schema, reply(text));
  if (problem === null || pure.validate(schema, text) === null) return null;
  const parsed = parsedJson(typeof text === 'string' ? unfenced(text) : text);
  return parsed !== null && pure.validate(schema, parsed) === null ? null : problem;
}

/** A reply that asks for tools is not the answer yet, where the agent has any. */
function asksForTools({ flow }: Program, { effect }: DoNode, value: Json): boolean {
  if (
    effect.kind !== 'model' ||
    !Object.hasOwn(flow.agents, effect.agent) ||
    flow.agents[effect.agent]?.tools.length === 0
  )
    return false;
  const calls = readPath(value, ['toolCalls']);
  return Array.isArray(calls) && calls.length > 0;
}

/** The same again where the node's policy says so, and after that, once each, the models that stand in. */
function retry(
  program: Program,
  state: RunState,
  thread: Thread,
  node: DoNode,
  pending: Pending,
  error: ErrorRecord,
  retryAfterMs: number,
): EventBody | null {
  const { max, baseMs, capMs, on } = node.retry;
  const again = pending.model === undefined && pending.attempt <= max && on.includes(error.class);
  const model = again ? undefined : standIn(node, pending, error);
  if (!again && model === undefined) return null;
  const jitter =
    baseMs === 0
      ? 0
      : draw(state.seed, `${pending.key} ${pending.attempt}`) * Math.min(capMs, baseMs * 2 ** pending.attempt);
  const notBefore = state.now + (again ? Math.floor(Math.max(jitter, retryAfterMs)) : 0);
  if (state.deadline !== null && notBefore >= state.deadline) return null;
  const timing = timingOf(program, state, thread, node);
  if ('type' in timing) return null;
  const input = evaluateInput(program, node.effect.input, thread.slots);
  const reserved = reserve(program, state, thread, node, { ...worstCase(program, node, input, model), retries: 1 });
  if ('type' in reserved) return null;
  const holds = reserved.holds.length > 0 ? reserved.holds : undefined;
  const start = Math.max(notBefore, timing.notBefore ?? notBefore);
  const deadline = sooner(deadlineFrom(state, start, node.timeoutMs), timing.until);
  const { paced } = timing;
  return {
    type: 'effect.judged',
    key: pending.key,
    verdict: 'retry',
    error,
    model,
    notBefore: start,
    deadline,
    holds,
    paced,
  };
}

function standIn({ effect }: DoNode, { model }: Pending, error: ErrorRecord): string | undefined {
  if (effect.kind !== 'model' || effect.fallback === undefined || !OUT_OF_REACH.has(error.class)) return undefined;
  return effect.fallback[model === undefined ? 0 : effect.fallback.indexOf(model) + 1];
}

/** Failures that say something about the provider and nothing about what it was asked. */
const OUT_OF_REACH: ReadonlySet<FailureClass> = new Set(['transient', 'rate_limit']);

function failed(program: Program, thread: Thread, node: DoNode, key: EffectKey, error: ErrorRecord): EventBody {
  const to = route(program, thread, node.failed, node.fail, error);
  return { type: 'effect.judged', key, verdict: 'failed', error, to };
}

function recordOf(node: DoNode, failure: Failure, attempt: number): ErrorRecord {
  const { class: kind, type, message } = failure;
  return { class: kind, type, message, node: authorOf(node), code: codeOfFailure(kind, attempt) };
}

/** Input tokens are counted only where a meter limits them: counting is the one part of a request that is not cheap. */
function worstCase(program: Program, node: DoNode, input: { [field: string]: Json }, model?: string): Amounts {
  const { effect } = node;
  if (effect.kind !== 'model' || !limitsTokens(program, node)) return effect.reserve;
  const agent = program.flow.agents[effect.agent];
  const inputTokens = program.pure.countTokens(
    `${agent?.instructions ?? ''}\n${JSON.stringify(input)}${offered(program, agent)}`,
  );
  const outputTokens = effect.reserve.outputTokens ?? 0;
  const costMicros = costOf(priceIn(program.flow, effect.agent, model), { inputTokens, outputTokens });
  return { ...effect.reserve, inputTokens, costMicros, contextTokens: inputTokens };
}

/** A provider is also sent what the agent may call and what its reply must look like, and counts it as input. */
function offered({ flow }: Program, agent: AgentDef | undefined): string {
  if (agent === undefined || (agent.tools.length === 0 && agent.output === null)) return '';
  return JSON.stringify([agent.output, agent.tools.map((tool) => flow.tools[tool] ?? tool)]);
}

function limitsTokens(program: Program, node: DoNode): boolean {
  return (node.charges ?? []).some((id) => {
    const unit = program.flow.meters[id]?.unit;
    return unit !== undefined && isCounted(unit) && dimensionRow(unit).byInput === true;
  });
}

function question(state: RunState, node: DoNode, key: EffectKey, payload: string): Question | undefined {
  const { effect } = node;
  if (effect.kind !== 'ask') return undefined;
  const { about, choices, onExpiry, code, askedBy } = effect;
  const id = `a_${state.run}.${key.replace(/[#:]/g, '.')}`;
  return { id, about, choices: choices.map(({ name }) => name), onExpiry, code, askedBy, payload };
}

function undoArgs(program: Program, node: DoNode, thread: Thread, input: { [field: string]: Json }): Json {
  const args: { [field: string]: Json } = {};
  const slots = { ...thread.slots, input };
  for (const [field, source] of Object.entries(node.undo?.input ?? {})) args[field] = program.evaluate(source, slots);
  return args;
}
