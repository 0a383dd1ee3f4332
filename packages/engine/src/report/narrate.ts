/** Computes the public events of a run from the events of its journal. */
import type { Program } from '@sluice-internal/kernel/core';
import { oneObject, reply } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { hasEffects } from '@sluice-internal/kernel/ir';
import type { EffectKey, Event, NodeId, ProtectionNote, QuestionEvent, ThreadId } from '@sluice-internal/kernel/ir';
import type { ReadRun } from '../journal/open-run.ts';
import { enteredBy } from './entered.ts';
import { conditionAt, conditionText, isRepeated, nameAt, shownPath } from './authored.ts';
import { InputLog, type RunCall } from './calls.ts';
import { checkEvent, peopleEvents } from './effect-events.ts';
import { FailureTracer } from './failure.ts';
import { failsNode, joinText, noteText } from './trouble-text.ts';
import type { Base, ControlResult, EventError, InNode, StoryEvent } from '@sluice-internal/wire';
import { skippedBy } from './skipped.ts';

interface Step {
  readonly name: string;
  /** The part of the document that the name stands for. Entries such as `workers/t1` share one. */
  readonly origin: string;
  readonly startedAt: number;
  output: Json;
  error: EventError | null;
}
/** The facts of a run that its public events are computed from. */
interface Story {
  readonly program: Program;
  readonly log: InputLog;
  /** The authored node that each branch is in. */
  readonly steps: Map<ThreadId, Step>;
  /** Nodes that were entered or reported as skipped. */
  readonly mentioned: Set<string>;
  /** The node of the last fork of each branch. */
  readonly forks: Map<ThreadId, NodeId>;
  /** The last step of each branch, and which of its routes it took. */
  readonly routes: Map<ThreadId, { readonly from: string; index: number }>;
  readonly failures: FailureTracer;
  /** The last verdicts about a call, by branch. */
  readonly judged: Map<ThreadId, readonly ControlResult[]>;
}

/** Takes journal events in order, from the first one. */
export type Narrator = (event: Event) => readonly StoryEvent[];

/** Prompts are left out: those of a long run would not fit in memory. */
export function storyLog(program: Program): InputLog {
  return new InputLog(program, (kind) => kind === 'tool' || kind === 'ask' || kind === 'undo');
}

/** A caller that also needs the state and the calls of the run passes its own log. */
export function createNarrator(program: Program, log = storyLog(program)): Narrator {
  const story: Story = {
    program,
    log,
    steps: new Map(),
    mentioned: new Set(),
    forks: new Map(),
    routes: new Map(),
    failures: new FailureTracer(program, log),
    judged: new Map(),
  };
  return (event) => {
    log.take(event);
    story.failures.take(event);
    if (event.type === 'thread.forked') story.forks.set(event.thread, event.node);
    if (event.type === 'fork.joined') forgetBranches(story, event.thread);
    const entered = enter(story, event);
    return [...entered, ...eventsOf(story, event), ...passedOver(story, event), ...leave(story, event)];
  };
}

/** All public events of a run, from its journal alone. */
export function storyOf({ program, events }: ReadRun): readonly StoryEvent[] {
  return events.flatMap(createNarrator(program));
}

const ROOT: ThreadId = '0';

function enter(story: Story, event: Event): readonly StoryEvent[] {
  const { flow } = story.program;
  const thread = 'thread' in event ? event.thread : ROOT;
  const name = enteredBy(flow, event);
  if (name === undefined) return isPast(story, event) ? finish(story, thread, event, 'finished') : [];
  const before = finish(story, thread, event, 'finished');
  const taken = routeTo(story, thread, name, event);
  story.mentioned.add(name);
  const origin = 'node' in event && event.node !== undefined ? nameAt(flow, event.node) : name;
  story.steps.set(thread, { name, origin, startedAt: event.at, output: null, error: null });
  return [...before, ...taken, { type: 'node.started', ...base(event), node: name, branch: thread }];
}

/** The way from the step before, which for the first step of a branch is the one that started the branch. */
function routeTo(story: Story, thread: ThreadId, to: string, event: Event): readonly StoryEvent[] {
  const { routes } = story;
  const parent = thread.slice(0, Math.max(0, thread.lastIndexOf(':')));
  const { from, index = 0 } = routes.get(thread) ?? { from: routes.get(parent)?.from };
  routes.set(thread, { from: to, index: 0 });
  return from === undefined
    ? []
    : [{ type: 'route.taken', ...base(event), node: from, branch: thread, from, to, index }];
}

/** A route may be picked at any of the nodes that a step consists of. The last one that a step picks leads on. */
function picked(story: Story, event: Of<'route.picked'>): readonly StoryEvent[] {
  const route = story.routes.get(event.thread);
  if (route !== undefined) route.index = Math.max(0, event.index);
  return [];
}

function forgetBranches({ routes }: Story, thread: ThreadId): void {
  for (const each of routes.keys()) if (each.startsWith(`${thread}:`)) routes.delete(each);
}

/**
 * True if the step before is done: a fork of another node begins, or another node could not be entered. The step does not
 * last until the branches end, and does not fail with the other node.
 */
function isPast(story: Story, event: Event): boolean {
  if (event.type !== 'thread.forked' && event.type !== 'meter.tripped') return false;
  const step = story.steps.get(event.thread);
  const begins = event.type === 'thread.forked' || story.program.flow.nodes[event.node]?.label.enters !== undefined;
  return begins && step !== undefined && ![step.name, step.origin].includes(nameAt(story.program.flow, event.node));
}

function passedOver(story: Story, event: Event): readonly StoryEvent[] {
  const thread = 'thread' in event ? event.thread : ROOT;
  const { names, reason } = skippedBy(story.program.flow, event, story.steps.get(thread)?.name, story.mentioned);
  return names.map((node) => ({ type: 'node.skipped', ...base(event), node, branch: thread, reason }));
}

function leave(story: Story, event: Event): readonly StoryEvent[] {
  const all = [...story.steps.keys()];
  switch (event.type) {
    case 'thread.ended':
    case 'undo.started':
      return finish(story, event.thread, event, event.state === 'completed' ? 'finished' : 'failed');
    case 'fork.joined':
      return all
        .filter((thread) => thread.startsWith(`${event.thread}:`))
        .flatMap((thread) => finish(story, thread, event, 'stopped'));
    case 'run.halted':
      return all.flatMap((thread) => finish(story, thread, event, 'stopped'));
    case 'run.ended': {
      const status = event.state === 'completed' ? 'finished' : 'failed';
      return [...all.flatMap((thread) => finish(story, thread, event, status)), ended(story, event)];
    }
    default:
      return [];
  }
}

function finish(
  story: Story,
  thread: ThreadId,
  event: Event,
  status: 'finished' | 'failed' | 'stopped',
): readonly StoryEvent[] {
  const step = story.steps.get(thread);
  story.steps.delete(thread);
  if (step === undefined) return [];
  const about = { ...base(event), node: step.name, branch: thread, durationMs: event.at - step.startedAt };
  if (status === 'stopped') return [{ type: 'node.stopped', ...about }];
  if (status === 'failed' || step.error !== null) return [{ type: 'node.failed', ...about, error: step.error }];
  return [{ type: 'node.finished', ...about, output: step.output }];
}

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;
type Narrate<Type extends Event['type']> = (story: Story, event: Of<Type>) => readonly StoryEvent[];

function eventsOf(story: Story, event: Event): readonly StoryEvent[] {
  const narrate = NARRATED[event.type] as Narrate<Event['type']> | undefined;
  return narrate?.(story, event) ?? [];
}

const NARRATED: { readonly [Type in Event['type']]?: Narrate<Type> } = {
  'run.started': ({ program }, event) => [
    { type: 'run.started', ...base(event), flow: program.flow.id, input: event.input },
  ],
  'effect.requested': requested,
  'route.picked': picked,
  'call.judged': judgedCall,
  'slots.written': refused,
  'undo.requested': undoRequested,
  'effect.settled': settled,
  'effect.judged': judged,
  'reply.repaired': (story, event) => {
    const call = callOf(story, event);
    if (call === undefined) return [];
    const step = story.steps.get(call.thread);
    if (step !== undefined && event.text !== undefined) step.output = oneObject(reply(event.text));
    return [
      { type: 'reply.repaired', ...inNode(story, event, call), agent: call.name, call: event.key, how: event.how },
    ];
  },
  'effect.dropped': dropped,
  'drop.answered': (story, event) => {
    const call = callOf(story, event);
    return call === undefined || event.sent !== 'unknown' ? [] : unknown(story, event, call);
  },
  'undo.denied': (story, event) => [
    trouble(story, event, `${event.tool} was not called: the budget of undo calls is used up, so a call stays`),
  ],
  'meter.tripped': budgetEvents,
  'meter.raised': budgetEvents,
  'budget.granted': (_, event) => {
    const { by, dimension, amount } = event;
    return [{ type: 'budget.granted', ...base(event), by, dimension, amount }];
  },
  'expression.failed': (story, event) => [trouble(story, event, event.error.message)],
  'guard.failed': (story, event) => {
    const { flow } = story.program;
    if (isRepeated(flow, event)) return [];
    const guard = conditionAt(flow, event.node, event.index);
    return [{ type: 'guard.failed', ...placed(story, event), guard, why: event.message }];
  },
  'guard.coerced': (story, event) => [
    trouble(story, event, `in ${conditionText(story.program.flow, event)}, ${event.notes.join('; ')}`),
  ],
  'value.missing': (story, event) => [
    trouble(story, event, `a value does not exist: ${event.paths.map(shownPath).join(', ')}`),
  ],
  'deadlock.suspected': (story, event) => [
    trouble(story, event, `${event.stuck.agents.join(', ')}: no new fact (${event.stuck.rule.replaceAll('_', ' ')})`),
  ],
  'failure.repeated': (story, event) => [
    trouble(
      story,
      event,
      `${event.tool} failed ${event.failures} times in a row${event.any === true ? '' : ' with the same arguments and error'}`,
    ),
  ],
  'answer.counted': answers,
  'answer.refused': answers,
  'question.escalated': answers,
  'question.notified': answers,
  'review.saturated': answers,
  'breaker.changed': protection,
  'breaker.denied': protection,
  'retry.denied': protection,
  'fork.joined': joined,
  'guidance.given': (_, event) => {
    const { by, text, agent } = event;
    return [{ type: 'guidance.given', ...base(event), by, text, agent }];
  },
  'limit.met': (_, event) => {
    const { limit, used, max, ends = false } = event;
    return [{ type: 'run.limited', ...base(event), limit, used, max, ends }];
  },
  // A limit that ends the run is told by `run.limited`.
  'run.halted': (_, event) =>
    event.code === 'BUDGET_EXHAUSTED'
      ? []
      : [{ type: 'run.cancelled', ...base(event), by: event.by, reason: event.why }],
};

function dropped(story: Story, event: Of<'effect.dropped'>): readonly StoryEvent[] {
  const call = callOf(story, event);
  if (call === undefined || call.question === null || event.why === 'late') return [];
  return [{ type: 'question.closed', ...inNode(story, event, call), question: call.question.id, reason: event.why }];
}

function answers(story: Story, event: Of<QuestionEvent['type']>): readonly StoryEvent[] {
  const call = callOf(story, event);
  if (call === undefined || call.question === null) return [];
  return peopleEvents(event, inNode(story, event, call), call.question.id);
}

function protection(story: Story, event: Of<ProtectionNote['type']>): readonly StoryEvent[] {
  const call = callOf(story, event);
  return call === undefined ? [] : [{ type: 'trouble', ...inNode(story, event, call), message: noteText(event) }];
}

function requested(story: Story, event: Of<'effect.requested'>): readonly StoryEvent[] {
  const { input, signal } = story.log.calls.get(event.key) as RunCall;
  const about = placed(story, event);
  if (event.question !== undefined) {
    const { message = '', ...data } = input;
    const { id: question, payload, choices, askedBy } = event.question;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const asked = { question, payload, message: text, choices, data, askedBy, expiresAt: event.deadline };
    return [{ type: 'question.asked', ...about, ...asked }];
  }
  if (event.kind === 'wait') return [{ type: 'wait.started', ...about, signal, until: event.deadline }];
  const { key: call } = event;
  if (event.kind === 'model') return [{ type: 'model.started', ...about, agent: event.name, call }];
  if (event.kind === 'tool')
    return [{ type: 'tool.started', ...about, tool: event.name, args: input['args'] ?? null, attempt: 1, call }];
  return [];
}

function judgedCall(story: Story, event: Of<'call.judged'>): readonly StoryEvent[] {
  const node = story.program.flow.nodes[event.node];
  const tool = node?.op === 'do' && node.effect.kind === 'tool' ? node.effect.tool : '';
  const controls = event.controls.map(([control, verdict, reason]): ControlResult => {
    const ok = verdict === 'pass' ? true : verdict === 'refuse' || verdict === 'stop' ? false : null;
    return { control, ok, ...(reason === undefined ? {} : { reason }) };
  });
  story.judged.set(event.thread, controls);
  const step = story.steps.get(event.thread);
  if ('error' in event && step !== undefined) step.error = errorOf(event.error);
  return [{ type: 'call.judged', ...placed(story, event), tool, controls }];
}

/** The verdicts about the call, and the step that refused it if it is no control. */
function refusedBy(judged: readonly ControlResult[], step: string, reason: string): readonly ControlResult[] {
  return judged.some(({ ok }) => ok === false) ? judged : [...judged, { control: step, ok: false, reason }];
}

/** A call that was refused is recorded as an observation with the step that refused it. A failed call has none. */
function refused(story: Story, event: Of<'slots.written'>): readonly StoryEvent[] {
  if (story.program.flow.nodes[event.node]?.op !== 'let') return [];
  const slots = story.log.state?.threads.get(event.thread)?.slots ?? {};
  return event.writes.flatMap(({ slot, mode }) => {
    const list = mode === 'append' ? slots[slot] : null;
    const last = (Array.isArray(list) ? (list.at(-1) ?? {}) : {}) as { readonly [field: string]: Json };
    const { tool, args = null, error, refused: step } = last;
    if (typeof tool !== 'string' || typeof error !== 'string' || typeof step !== 'string') return [];
    const controls = refusedBy(story.judged.get(event.thread) ?? [], step, error);
    return [{ type: 'tool.refused', ...placed(story, event), tool, args, reason: error, controls }];
  });
}

function undoRequested(story: Story, event: Of<'undo.requested'>): readonly StoryEvent[] {
  const call = story.log.calls.get(event.key) as RunCall;
  const { args = null } = call.input;
  return [{ type: 'undo.started', ...inNode(story, event, call), tool: event.tool, args }];
}

function settled(story: Story, event: Of<'effect.settled'>): readonly StoryEvent[] {
  const call = callOf(story, event);
  if (call === undefined) return [];
  const about = inNode(story, event, call);
  const { result } = event;
  if (call.kind === 'undo')
    return [{ type: 'undo.finished', ...about, tool: call.name, error: result.ok ? null : result.error }];
  // Of a call whose time is over, the answer of the host to the drop says it.
  if (!result.ok && result.error.sent === 'unknown' && call.why !== 'late') return unknown(story, event, call);
  if (call.question === null || !result.ok) return [];
  const { choice, by, text } = (result.value ?? {}) as { choice?: unknown; by?: unknown; text?: unknown };
  const answer = {
    choice: String(choice),
    by: typeof by === 'string' ? by : '',
    text: typeof text === 'string' ? text : null,
  };
  return [{ type: 'question.answered', ...about, question: call.question.id, ...answer }];
}

/** An earlier process may have made the call. */
function unknown(story: Story, event: Of<'effect.settled' | 'drop.answered'>, call: RunCall): readonly StoryEvent[] {
  if (call.kind !== 'tool' || !hasEffects(story.program.flow, call.name)) return [];
  const args = call.input['args'] ?? null;
  return [{ type: 'tool.unknown', ...inNode(story, event, call), call: call.key, tool: call.name, args }];
}

function judged(story: Story, event: Of<'effect.judged'>): readonly StoryEvent[] {
  const call = callOf(story, event);
  if (call === undefined || call.kind === 'undo') return [];
  const about = inNode(story, event, call);
  const durationMs = event.at - call.at;
  if (event.verdict === 'retry' && event.continues === true)
    return [{ type: 'model.continued', ...about, agent: call.name, reason: event.error.message, call: call.key }];
  if (event.verdict === 'retry') {
    const { number: attempt } = call.attempts.at(-1) ?? { number: 1 };
    const delayMs = Math.max(0, event.notBefore - event.at);
    const retried = { type: 'node.retried', ...about, attempt, delayMs, error: errorOf(event.error) } as const;
    if (call.kind !== 'tool') return [retried];
    const again = { tool: call.name, args: call.input['args'] ?? null, attempt: attempt + 1, call: call.key };
    return [retried, { type: 'tool.started', ...about, ...again }];
  }
  const step = story.steps.get(call.thread);
  if (event.verdict === 'failed') {
    const error = errorOf(event.error);
    if (step !== undefined) step.error = error;
    if (call.kind !== 'tool') return [{ type: 'trouble', ...about, message: `${error.type}: ${error.message}` }];
    const args = call.input['args'] ?? null;
    return [{ type: 'tool.failed', ...about, tool: call.name, args, error, durationMs, call: call.key }];
  }
  if (step !== undefined) step.error = null;
  return accepted(story, call, about, durationMs);
}

function accepted(story: Story, call: RunCall, about: InNode, durationMs: number): readonly StoryEvent[] {
  const { name, signal } = call;
  const step = story.steps.get(call.thread);
  const result = call.attempts.at(-1)?.value ?? null;
  switch (call.kind) {
    case 'model':
      return replied(story, call, about, durationMs);
    case 'tool':
      if (step !== undefined && step.name === about.node) step.output = result;
      return [
        {
          ...{ type: 'tool.finished', ...about, tool: name, args: call.input['args'] ?? null },
          ...{ result, durationMs, call: call.key },
        },
      ];
    case 'wait': {
      const { data = null, by = '' } = (result ?? {}) as { data?: Json; by?: string };
      return [{ type: 'wait.finished', ...about, signal, data, by }];
    }
    case 'check':
      return [checkEvent(name, result, about)];
    default:
      return [];
  }
}

function replied(story: Story, call: RunCall, about: InNode, durationMs: number): readonly StoryEvent[] {
  const { name: agent, attempts } = call;
  const { value = null, used = {} } = attempts.at(-1) ?? {};
  const { text = '', toolCalls = [] } = (value ?? {}) as {
    text?: string;
    toolCalls?: readonly { name: string; args: Json }[];
  };
  const step = story.steps.get(call.thread);
  if (step !== undefined && toolCalls.length === 0)
    step.output = readsObject(story, call) ? oneObject(reply(text)) : text;
  const { inputTokens = 0, outputTokens = 0, costMicros = 0 } = used;
  const tokens = { inputTokens, outputTokens, costUsd: costMicros / 1_000_000 };
  return [
    { type: 'model.finished', ...about, agent, durationMs, text, ...tokens, call: call.key },
    ...toolCalls.map(
      ({ name: tool, args }) => ({ type: 'tool.proposed', ...about, agent, tool, args, call: call.key }) as const,
    ),
  ];
}

/** The flow reads the reply as data: it has a schema, or a route reads a field of it. */
function readsObject({ program }: Story, { id }: RunCall): boolean {
  const node = program.flow.nodes[id];
  return node?.op === 'do' && node.fit !== undefined && node.fit.whole !== true;
}

function budgetEvents(story: Story, event: Of<'meter.tripped'> | Of<'meter.raised'>): readonly StoryEvent[] {
  const { meters } = story.program.flow;
  if (event.type === 'meter.raised') {
    const { node = '', thread: branch = ROOT } = callOf(story, event) ?? {};
    const about = { ...base(event), node, branch };
    return event.raises.map(({ meter, by }) => ({
      ...{ type: 'budget.raised', ...about },
      budget: meters[meter]?.label ?? meter,
      by,
    }));
  }
  const { left, needs: needed } = event;
  const budget = meters[event.meter]?.label ?? event.meter;
  return [{ type: 'budget.reached', ...placed(story, event), budget, left, needed }];
}

function ended(story: Story, event: Of<'run.ended'>): StoryEvent {
  const outcome = story.log.state?.outcome;
  const error = outcome?.error ?? null;
  return {
    type: 'run.ended',
    ...base(event),
    state: event.state,
    code: event.code,
    output: outcome?.output ?? null,
    error: error === null ? null : errorOf(error),
    failure: story.failures.failure(),
  };
}

function joined(story: Story, event: Of<'fork.joined'>): readonly StoryEvent[] {
  const { program, log, steps, forks } = story;
  const fork = forks.get(event.thread);
  const step = steps.get(event.thread);
  const { error, thread } = event;
  if (step !== undefined)
    step.error = error !== undefined && failsNode(program.flow, event, fork) ? errorOf(error) : null;
  if (event.met) return [];
  const node = step?.name ?? nameAt(story.program.flow, event.to);
  const message = joinText(program.flow, log.state, event, fork);
  return [{ type: 'trouble', ...base(event), node, branch: thread, message }];
}

type AtNode = Extract<Event, { readonly node: string; readonly thread: ThreadId }>;

function trouble(story: Story, event: AtNode, message: string): StoryEvent {
  return { type: 'trouble', ...placed(story, event), message };
}

function base({ seq, at }: Event): Base {
  return { seq, at };
}

/** The place of an event at a node. */
function placed({ program }: Story, event: AtNode): InNode {
  return { ...base(event), node: nameAt(program.flow, event.node), branch: event.thread };
}

/** The place of an event of a call. A compensation belongs to the node of the call that it undoes. */
function inNode({ log }: Story, event: Event, { node, thread: branch, undoes }: RunCall): InNode {
  return { ...base(event), node: undoes === null ? node : (log.calls.get(undoes)?.node ?? ''), branch };
}

function callOf({ log }: Story, { key }: { readonly key: EffectKey }): RunCall | undefined {
  return log.calls.get(key);
}

function errorOf({ class: kind, type, message }: EventError): EventError {
  return { class: kind, type, message };
}
