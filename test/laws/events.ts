/** Random events of every type, with the strings and values that formats trip over. */
import fc from 'fast-check';
import { FAILURE_CLASSES, TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import type { Event, EventBody, Recorded } from '@sluice-internal/kernel/ir';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { EventType } from '../../packages/kernel/src/ir/events.ts';
import { ANY_CHARACTER } from '../support/any-character.ts';

const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    '"',
    '\\',
    '\n',
    '\u2028',
    '\ud800',
    '$blob',
    '$literal',
    '__proto__',
    'ünï 🐱',
    ',\n["s"',
    '0#1',
  ),
  fc.string({ unit: ANY_CHARACTER, maxLength: 8 }),
);
/** As it would come back from a store: without -0 and without what JSON cannot say. */
const plain = fc.jsonValue({ maxDepth: 3 }).map((value) => parseJson(JSON.stringify(value)));
export const values: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: plain },
  fc.constantFrom<Json[]>(
    { $blob: 'x' },
    { $literal: 1 },
    { $literal: { $blob: 'x' } },
    { a: 1, $blob: 'x' },
    { $blob: 'x', a: 1 },
    { $literal: 1, $blob: 2 },
    [{ $blob: 'x' }],
    '$blob',
    { $blob: null },
  ),
  // Keys that JSON escapes, and keys that an object has already.
  fc.array(fc.tuple(text, plain), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  plain.map((value) => ({ $literal: value })),
  plain.map((value) => ({ first: 1, $literal: value })),
  // Big ones are put aside.
  fc.integer({ min: 4080, max: 4120 }).map((length) => 'x'.repeat(length)),
  plain.map((value) => ({ big: 'y'.repeat(5000), value })),
);

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const ref = fc.record({ ref: fc.array(text, { minLength: 1, maxLength: 3 }) });
const value = fc.record({ value: values });
const recorded: fc.Arbitrary<Recorded> = fc.oneof(
  ref,
  value,
  fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(ref, value), { maxKeys: 3 }).map((object) => ({ object })),
);
const charge = optional(fc.array(text, { maxLength: 2 }));
const error = fc.record({
  class: fc.constantFrom(...FAILURE_CLASSES),
  type: text,
  message: text,
  node: text,
  code: fc.constantFrom(...TERMINAL_CODES),
});
const failure = fc.record({ class: fc.constantFrom(...FAILURE_CLASSES), type: text, message: text });
const state = fc.constantFrom('completed' as const, 'failed' as const, 'cancelled' as const);
const code = fc.constantFrom(...TERMINAL_CODES);
const thread = fc.constantFrom('0', '0:1.2', '0:1.2:0.0');
const key = fc.tuple(thread, fc.nat(99)).map(([id, n]) => `${id}#${n}`);
const instant = fc.integer({ min: 0, max: 2 ** 45 });
const paced = optional(fc.array(fc.record({ meter: text, perMs: fc.nat(100_000) }), { minLength: 1, maxLength: 2 }));
const holds = optional(
  fc.array(fc.record({ meter: text, dimension: fc.constant('toolCalls' as const), amount: fc.nat() }), {
    minLength: 1,
    maxLength: 2,
  }),
);
const used = fc.record(
  { outputTokens: fc.nat(), costMicros: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((n) => n + 0) },
  { requiredKeys: [] },
);
const result = fc.oneof(
  fc.record({ ok: fc.constant(true as const), value: values, used: optional(used) }),
  fc.record({ ok: fc.constant(true as const), value: values, unsent: fc.constant(true as const) }),
  fc.record({ ok: fc.constant(false as const), error: failure, used: optional(used) }),
);
const write = fc.record({
  slot: text,
  path: optional(fc.array(text, { maxLength: 2 })),
  mode: fc.constantFrom('set' as const, 'append' as const, 'reply' as const),
  from: recorded,
});
const question = fc.record({
  id: text,
  about: text,
  choices: fc.array(text, { maxLength: 3 }),
  onExpiry: text,
  code,
  askedBy: text,
  payload: text,
});
const proof = fc.record(
  { via: fc.constantFrom('key' as const, 'os_user' as const, 'script' as const), signature: text, at: fc.nat() },
  { requiredKeys: ['via'] },
);
const undo = fc.record({ tool: text, args: values, timeoutMs: fc.nat() });
const gather = fc.array(
  fc.record({ slot: text, mode: fc.constantFrom('first' as const, 'last' as const, 'any' as const, 'merge' as const) }),
  { maxLength: 2 },
);
const ending = { node: optional(text), state, code, output: recorded, charge };
const is = <T extends EventType>(type: T): fc.Arbitrary<T> => fc.constant(type);

const breakerStatus = fc.constantFrom('closed' as const, 'open' as const, 'half_open' as const);
const walk = fc.record(
  {
    at: fc.nat(),
    asks: fc.constantFrom('itself' as const, 'refusal' as const),
    refused: fc.record({ reason: text, verdict: values, instead: fc.nat() }, { requiredKeys: ['reason', 'verdict'] }),
    doubt: text,
    edits: fc.nat(),
    approved: text,
    again: fc.constant(true as const),
    call: text,
    until: fc.nat(),
    waits: fc.nat(),
  },
  { requiredKeys: ['at'] },
);
const judgedBy = fc.oneof(
  fc.tuple(text, fc.constantFrom('pass' as const, 'ask' as const)),
  fc.tuple(text, fc.constantFrom('refuse' as const, 'wait' as const, 'stop' as const), text),
);

const judgedCall = {
  type: is('call.judged'),
  thread,
  node: text,
  of: optional(text),
  controls: fc.array(judgedBy, { maxLength: 3 }),
  writes: optional(fc.array(write, { maxLength: 2 })),
};

const bodies: { readonly [type in EventType]: fc.Arbitrary<Extract<EventBody, { type: type }>> } = {
  'run.repinned': fc.record({
    type: fc.constant('run.repinned' as const),
    by: fc.string(),
    modules: fc.dictionary(fc.string(), fc.string()),
  }),
  'guidance.given': fc.record({
    type: is('guidance.given'),
    by: text,
    text,
    agent: fc.option(text),
  }),
  'guidance.heard': fc.record({
    type: is('guidance.heard'),
    thread,
    node: text,
    of: fc.nat(),
    agent: text,
    writes: fc.array(write, { maxLength: 2 }),
  }),
  'run.forked': fc.record(
    {
      type: is('run.forked'),
      by: text,
      edits: fc.array(fc.record({ slot: text, path: fc.array(text, { maxLength: 2 }), value: values }), {
        maxLength: 2,
      }),
      agents: fc.dictionary(text, fc.record({ instructions: text, model: text }, { requiredKeys: [] }), { maxKeys: 2 }),
      idleMs: fc.nat(),
    },
    { requiredKeys: ['type', 'by', 'edits', 'idleMs'] },
  ),
  'reply.repaired': fc.record(
    {
      type: is('reply.repaired'),
      key,
      how: fc.array(text, { maxLength: 2 }),
      text,
      args: fc.array(fc.tuple(fc.nat(5), values), { maxLength: 2 }),
    },
    { requiredKeys: ['type', 'key', 'how'] },
  ),
  'drop.answered': fc.record({
    type: is('drop.answered'),
    key,
    sent: fc.constantFrom('yes' as const, 'no' as const, 'unknown' as const),
  }),
  'run.resumed': fc.record({
    type: is('run.resumed'),
    idleMs: fc.nat(),
    calls: fc.array(fc.record({ key, deadline: fc.option(instant) }), { maxLength: 2 }),
  }),
  'undo.denied': fc.record({ type: is('undo.denied'), thread, node: text, undoes: key, tool: text, meter: text }),
  'answer.counted': fc.record({
    type: is('answer.counted'),
    key: text,
    answer: fc.record({ choice: text, by: text, text, proof }, { requiredKeys: ['choice', 'by'] }),
    missing: fc.nat(),
  }),
  'answer.refused': fc.record({
    type: is('answer.refused'),
    key: text,
    answer: fc.record(
      { choice: text, by: text, payload: text, unproven: text, edit: values },
      { requiredKeys: ['choice', 'by'] },
    ),
    reason: fc.constantFrom(
      'not-an-approver' as const,
      'identity-unproven' as const,
      'stale-payload' as const,
      'not-a-choice' as const,
      'bad-answer' as const,
    ),
  }),
  'question.escalated': fc.record({ type: is('question.escalated'), key: text, to: fc.array(text, { maxLength: 2 }) }),
  'run.started': fc.record({
    type: is('run.started'),
    run: text,
    flow: text,
    entry: text,
    input: values,
    seed: fc.nat(),
    origin: fc.record({ by: text, tenant: text, user: text }, { requiredKeys: [] }),
    deadline: fc.option(instant),
  }),
  'breaker.changed': fc.record({
    type: is('breaker.changed'),
    key,
    breaker: text,
    from: breakerStatus,
    to: breakerStatus,
    cause: fc.constantFrom('provider_errors' as const, 'cooldown' as const),
    trips: fc.nat(),
    until: fc.option(instant),
    enforced: fc.boolean(),
  }),
  'breaker.denied': fc.record({
    type: is('breaker.denied'),
    key,
    breaker: text,
    cause: fc.constantFrom('provider_errors' as const, 'operator' as const),
    until: fc.option(instant),
    fallback: fc.constantFrom('model' as const, 'answer' as const, null),
  }),
  'deadlock.suspected': fc.record({
    type: is('deadlock.suspected'),
    thread,
    node: text,
    meter: text,
    stuck: fc.record({ rule: fc.constantFrom('cycle' as const, 'hops' as const), agents: fc.array(text) }),
  }),
  'failure.repeated': fc.record({
    type: is('failure.repeated'),
    thread,
    node: text,
    meter: text,
    tool: text,
    failures: fc.nat(),
    any: optional(fc.constant(true as const)),
  }),
  'question.notified': fc.record({
    type: is('question.notified'),
    key,
    to: text,
    attempts: fc.nat(),
    problem: optional(text),
  }),
  'review.saturated': fc.record({ type: is('review.saturated'), key, open: fc.nat(), ageMs: fc.nat() }),
  'retry.denied': fc.record({
    type: is('retry.denied'),
    key,
    tokens: fc.nat(),
    share: fc.constantFrom(0.1, 0.15),
    burst: fc.nat(),
  }),
  'call.judged': fc.oneof(
    fc.record({ ...judgedCall, walk }),
    fc.record({
      ...judgedCall,
      to: text,
      refusal: fc.record({ control: text, step: text, tag: text, reason: text }),
      charge,
    }),
    fc.record({ ...judgedCall, to: text, error, charge }),
  ),
  'slots.written': fc.record({
    type: is('slots.written'),
    thread,
    node: text,
    writes: fc.array(write, { maxLength: 3 }),
    to: text,
    charge,
  }),
  'route.picked': fc.record({
    type: is('route.picked'),
    thread,
    node: text,
    index: fc.integer({ min: -1, max: 5 }),
    to: text,
    charge,
  }),
  'value.missing': fc.record({
    type: is('value.missing'),
    thread,
    node: text,
    paths: fc.array(fc.array(text, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
  }),
  'guard.coerced': fc.record({
    type: is('guard.coerced'),
    thread,
    node: text,
    index: fc.nat(5),
    notes: fc.array(text),
  }),
  'guard.failed': fc.record({ type: is('guard.failed'), thread, node: text, index: fc.nat(5), message: text }),
  'expression.failed': fc.record({ type: is('expression.failed'), thread, node: text, error, to: text, charge }),
  'effect.requested': fc
    .record({
      type: is('effect.requested'),
      key,
      node: text,
      kind: fc.constantFrom('model' as const, 'tool' as const, 'check' as const, 'ask' as const, 'wait' as const),
      name: text,
      input: fc.base64String({ maxLength: 22 }),
      deadline: fc.option(instant),
      holds,
      charge,
      watched: charge,
      turns: charge,
      print: optional(text),
      words: optional(text),
      notBefore: optional(instant),
      paced,
      timed: charge,
      question: optional(question),
      ends: optional(instant),
      undo: optional(undo),
      mark: optional(text),
      verifies: optional(key),
      control: optional(fc.nat()),
    })
    .map((event) => ({ ...event, thread: event.key.slice(0, event.key.indexOf('#')) })),
  'effect.settled': fc.record({ type: is('effect.settled'), key, attempt: fc.nat(9), result }),
  'effect.judged': fc.oneof(
    fc.record({ type: is('effect.judged'), key, verdict: fc.constant('accepted' as const) }),
    fc.record({
      type: is('effect.judged'),
      key,
      verdict: fc.constant('retry' as const),
      error,
      model: optional(text),
      notBefore: instant,
      deadline: fc.option(instant),
      holds,
      paced,
    }),
    fc.record({ type: is('effect.judged'), key, verdict: fc.constant('failed' as const), error, to: fc.option(text) }),
  ),
  'effect.dropped': fc.record({
    type: is('effect.dropped'),
    key,
    why: fc.constantFrom('join' as const, 'halt' as const),
  }),
  'meter.raised': fc.record({
    type: is('meter.raised'),
    key,
    raises: fc.array(fc.record({ meter: text, by: fc.integer({ min: 1, max: 9 }) }), { maxLength: 3 }),
  }),
  'budget.granted': fc.record({
    type: is('budget.granted'),
    by: text,
    dimension: text,
    amount: fc.nat(),
    raises: fc.array(fc.record({ meter: text, by: fc.integer({ min: 1, max: 9 }) }), { maxLength: 3 }),
  }),
  'meter.tripped': fc.record({
    type: is('meter.tripped'),
    thread,
    node: text,
    meter: text,
    why: fc.constantFrom('limit' as const, 'foreseen' as const),
    left: fc.nat(),
    needs: fc.nat(),
    to: text,
  }),
  'thread.forked': fc.record({
    type: is('thread.forked'),
    thread,
    key,
    node: text,
    branches: fc.oneof(
      fc.record({ heads: fc.array(fc.record({ name: text, to: text }), { maxLength: 3 }) }),
      fc.record({ each: recorded, count: fc.nat(), as: text, to: text }),
    ),
    started: fc.nat(),
    deadline: fc.option(instant),
    into: text,
    gather,
    charge,
  }),
  'thread.started': fc.record({ type: is('thread.started'), thread, index: fc.nat() }),
  'thread.ended': fc.record({ type: is('thread.ended'), thread, ...ending }),
  'fork.joined': fc.record({
    type: is('fork.joined'),
    thread,
    met: fc.boolean(),
    why: fc.constantFrom('met' as const, 'short' as const, 'late' as const),
    error: optional(error),
    to: text,
  }),
  'undo.started': fc.record({ type: is('undo.started'), thread, ...ending }),
  'undo.requested': fc.record({ type: is('undo.requested'), thread, key, undoes: key, tool: text, deadline: instant }),
  'rollback.started': fc.record({ type: is('rollback.started'), thread, node: text, undoes: fc.array(key) }),
  'run.halted': fc.record({ type: is('run.halted'), state, code, by: text, why: text }),
  'limit.met': fc.record({
    type: is('limit.met'),
    limit: fc.constantFrom('events' as const, 'bytes' as const),
    used: fc.nat(),
    max: fc.nat(),
    ends: optional(fc.constant(true as const)),
  }),
  'run.broken': fc.record({ type: is('run.broken'), error }),
  'clock.read': fc.record({ type: is('clock.read') }),
  'run.ended': fc.record({ type: is('run.ended'), ...ending }),
};
export const TYPES = Object.keys(bodies) as EventType[];

/** What one turn stores: events of one instant, numbered from `after`. */
export const appends: fc.Arbitrary<{ readonly after: number; readonly at: number; readonly events: readonly Event[] }> =
  fc
    .record({
      after: fc.nat(1000),
      at: instant,
      bodies: fc.array(fc.oneof(...TYPES.map((type) => bodies[type] as fc.Arbitrary<EventBody>)), {
        minLength: 1,
        maxLength: 5,
      }),
    })
    .map(({ after, at, bodies: drawn }) => ({
      after,
      at,
      events: drawn.map((body, index) => ({ ...body, seq: after + 1 + index, at })),
    }));
