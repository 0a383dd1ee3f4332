/** Computes the public events of a run from the events of its journal. */
import { evolve } from '../../core/evolve.ts';
import { inputOf } from '../../core/outstanding.ts';
import type { Program } from '../../core/program.ts';
import type { Json } from '../../expr/json.ts';
import type { EffectKey, Event, ProtectionNote, ThreadId } from '../../ir/events.ts';
import { enteredBy } from './report.ts';
import type { QuestionEvent } from '../../ir/questions.ts';
import { conditionText, isRepeated, nameAt, shownPath } from './authored.ts';
import { checkEvent, peopleEvents } from './effect-events.ts';
import { failsNode, joinText, noteText } from './trouble-text.ts';
import type { Base, EventError, InNode, StoryEvent } from './run-events.ts';
import { skippedBy } from './skipped.ts';
import type { CallInfo, Step, Story } from './story.ts';

/** Takes journal events in order, from the first one. */
export type Narrator = (event: Event) => readonly StoryEvent[];

export function createNarrator(program: Program): Narrator {
  const story: Story = {
    program,
    state: null,
    steps: new Map(),
    calls: new Map(),
    mentioned: new Set(),
    forks: new Map(),
  };
  return (event) => {
    story.state = evolve(story.state, event);
    if (event.type === 'thread.forked') story.forks.set(event.thread, event.node);
    const entered = enter(story, event);
    return [...entered, ...eventsOf(story, event), ...passedOver(story, event), ...leave(story, event)];
  };
}

const ROOT: ThreadId = '0';

function enter(story: Story, event: Event): readonly StoryEvent[] {
  const { flow } = story.program;
  const thread = 'thread' in event ? event.thread : ROOT;
  const name = enteredBy(flow, event);
  if (name === undefined) return isPast(story, event) ? finish(story, thread, event, 'finished') : [];
  const before = finish(story, thread, event, 'finished');
  story.mentioned.add(name);
  const origin = 'node' in event && event.node !== undefined ? nameAt(flow, event.node) : name;
  story.steps.set(thread, { name, origin, startedAt: event.at, output: null, error: null });
  return [...before, { type: 'node.started', ...base(event), node: name, branch: thread }];
}

/**
 * A fork of another node begins, or another node could not be entered: the step before it is done. It neither lasts until the
 * branches end nor fails with the other node.
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
  'slots.written': refused,
  'undo.requested': undoRequested,
  'effect.settled': settled,
  'effect.judged': judged,
  'effect.dropped': dropped,
  'meter.tripped': budgetEvents,
  'meter.raised': budgetEvents,
  'expression.failed': (story, event) => [trouble(story, event, event.error.message)],
  'guard.failed': (story, event) => {
    const { flow } = story.program;
    if (isRepeated(flow, event)) return [];
    return [trouble(story, event, `${conditionText(flow, event)} cannot be evaluated: ${event.message}`)];
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
  'run.halted': (_, event) => [{ type: 'run.cancelled', ...base(event), by: event.by, reason: event.why }],
};

function dropped(story: Story, event: Of<'effect.dropped'>): readonly StoryEvent[] {
  const call = story.calls.get(event.key);
  if (call === undefined || call.questionId === null) return [];
  return [{ type: 'question.closed', ...inNode(event, call), id: call.questionId, reason: event.why }];
}

function answers(story: Story, event: Of<QuestionEvent['type']>): readonly StoryEvent[] {
  const call = story.calls.get(event.key);
  return call === undefined ? [] : peopleEvents(event, inNode(event, call), call.questionId);
}

function protection(story: Story, event: Of<ProtectionNote['type']>): readonly StoryEvent[] {
  const call = story.calls.get(event.key);
  if (call === undefined) return [];
  return [{ type: 'trouble', ...inNode(event, call), message: noteText(event) }];
}

const UNSETTLED = { questionId: null, signal: null, result: null, used: {}, attempt: 1 } as const;
type Begun = Pick<CallInfo, 'kind' | 'name' | 'node' | 'args'> & Partial<CallInfo>;

function begin(story: Story, event: Of<'effect.requested' | 'undo.requested'>, begun: Begun): CallInfo {
  const call = { ...UNSETTLED, thread: event.thread, startedAt: event.at, ...begun };
  story.calls.set(event.key, call);
  return call;
}

function requested(story: Story, event: Of<'effect.requested'>): readonly StoryEvent[] {
  const input = inputFor(story, event.key);
  const call = begin(story, event, {
    kind: event.kind,
    name: event.name,
    node: nameAt(story.program.flow, event.node),
    args: input['args'] ?? null,
    questionId: event.question?.id ?? null,
    signal: event.signal ?? null,
  });
  const about = inNode(event, call);
  if (event.question !== undefined) {
    const { message = '', ...packet } = input;
    const { id, choices, askedBy } = event.question;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const asked = { id, message: text, choices, packet, askedBy, expiresAt: event.deadline };
    return [{ type: 'question.asked', ...about, ...asked }];
  }
  if (event.kind === 'wait') return [{ type: 'wait.started', ...about, signal: call.signal, until: event.deadline }];
  if (event.kind === 'model') return [{ type: 'model.started', ...about, agent: event.name }];
  if (event.kind === 'tool') return [{ type: 'tool.started', ...about, tool: event.name, args: call.args }];
  return [];
}

/** A call that was refused is recorded as an observation with the step that refused it. A failed call has none. */
function refused(story: Story, event: Of<'slots.written'>): readonly StoryEvent[] {
  if (story.program.flow.nodes[event.node]?.op !== 'let') return [];
  const slots = story.state?.threads.get(event.thread)?.slots ?? {};
  return event.writes.flatMap(({ slot, mode }) => {
    const list = mode === 'append' ? slots[slot] : null;
    const last = (Array.isArray(list) ? (list.at(-1) ?? {}) : {}) as { readonly [field: string]: Json };
    const { tool, args = null, error, refused: step } = last;
    if (typeof tool !== 'string' || typeof error !== 'string' || typeof step !== 'string') return [];
    const about = { ...base(event), node: nameAt(story.program.flow, event.node), branch: event.thread };
    return [{ type: 'tool.refused', ...about, tool, args, reason: error }];
  });
}

function undoRequested(story: Story, event: Of<'undo.requested'>): readonly StoryEvent[] {
  const { args = null } = inputFor(story, event.key);
  const node = story.calls.get(event.undoes)?.node ?? '';
  const call = begin(story, event, { kind: 'undo', name: event.tool, node, args });
  return [{ type: 'undo.started', ...inNode(event, call), tool: event.tool, args: call.args }];
}

function settled(story: Story, event: Of<'effect.settled'>): readonly StoryEvent[] {
  const call = story.calls.get(event.key);
  if (call === undefined) return [];
  call.attempt = event.attempt;
  call.used = event.result.used ?? {};
  call.result = event.result.ok ? event.result.value : null;
  if (call.kind === 'undo') {
    const error = event.result.ok ? null : event.result.error;
    return [{ type: 'undo.finished', ...inNode(event, call), tool: call.name, error }];
  }
  if (call.questionId === null || !event.result.ok) return [];
  const { choice, by, text } = (event.result.value ?? {}) as { choice?: unknown; by?: unknown; text?: unknown };
  const answer = {
    choice: String(choice),
    by: typeof by === 'string' ? by : '',
    text: typeof text === 'string' ? text : null,
  };
  return [{ type: 'question.answered', ...inNode(event, call), id: call.questionId, ...answer }];
}

function judged(story: Story, event: Of<'effect.judged'>): readonly StoryEvent[] {
  const call = story.calls.get(event.key);
  if (call === undefined || call.kind === 'undo') return [];
  const about = inNode(event, call);
  const durationMs = event.at - call.startedAt;
  if (event.verdict === 'retry' && event.continues === true)
    return [{ type: 'model.continued', ...about, agent: call.name, reason: event.error.message }];
  if (event.verdict === 'retry') {
    const delayMs = Math.max(0, event.notBefore - event.at);
    return [{ type: 'node.retried', ...about, attempt: call.attempt, delayMs, error: errorOf(event.error) }];
  }
  const step = story.steps.get(call.thread);
  if (event.verdict === 'failed') {
    const error = errorOf(event.error);
    if (step !== undefined) step.error = error;
    if (call.kind !== 'tool') return [{ type: 'trouble', ...about, message: `${error.type}: ${error.message}` }];
    return [{ type: 'tool.failed', ...about, tool: call.name, args: call.args, error, durationMs }];
  }
  if (step !== undefined) step.error = null;
  return accepted(call, step, about, durationMs);
}

function waitFinished({ signal, result }: CallInfo, about: InNode): StoryEvent {
  const { data = null, by = '' } = (result ?? {}) as { data?: Json; by?: string };
  return { type: 'wait.finished', ...about, signal, data, by };
}

function accepted(call: CallInfo, step: Step | undefined, about: InNode, durationMs: number): readonly StoryEvent[] {
  const { name, result, used } = call;
  switch (call.kind) {
    case 'model': {
      const { text = '', toolCalls = [] } = (result ?? {}) as {
        text?: string;
        toolCalls?: readonly { name: string; args: Json }[];
      };
      if (step !== undefined && toolCalls.length === 0) step.output = text;
      const { inputTokens = 0, outputTokens = 0, costMicros = 0 } = used;
      return [
        {
          type: 'model.finished',
          ...about,
          agent: name,
          durationMs,
          text,
          inputTokens,
          outputTokens,
          costUsd: costMicros / 1_000_000,
        },
        ...toolCalls.map(
          ({ name: tool, args }) => ({ type: 'tool.proposed', ...about, agent: name, tool, args }) as const,
        ),
      ];
    }
    case 'tool':
      if (step !== undefined && step.name === about.node) step.output = result;
      return [{ type: 'tool.finished', ...about, tool: name, args: call.args, result, durationMs }];
    case 'wait':
      return [waitFinished(call, about)];
    case 'check':
      return [checkEvent(name, result, about)];
    default:
      return [];
  }
}

function budgetEvents(story: Story, event: Of<'meter.tripped'> | Of<'meter.raised'>): readonly StoryEvent[] {
  const { meters } = story.program.flow;
  if (event.type === 'meter.raised') {
    const call = story.calls.get(event.key);
    return event.raises.map(({ meter, by }) => ({
      type: 'budget.raised',
      ...base(event),
      node: call?.node ?? '',
      branch: call?.thread ?? ROOT,
      budget: meters[meter]?.label ?? meter,
      by,
    }));
  }
  const { left, needs, node, thread } = event;
  const budget = meters[event.meter]?.label ?? event.meter;
  return [
    {
      type: 'budget.reached',
      ...base(event),
      node: nameAt(story.program.flow, node),
      branch: thread,
      budget,
      left,
      needed: needs,
    },
  ];
}

function ended(story: Story, event: Of<'run.ended'>): StoryEvent {
  const outcome = story.state?.outcome;
  const error = outcome?.error ?? null;
  return {
    type: 'run.ended',
    ...base(event),
    state: event.state,
    code: event.code,
    output: outcome?.output ?? null,
    error: error === null ? null : errorOf(error),
  };
}

function joined(story: Story, event: Of<'fork.joined'>): readonly StoryEvent[] {
  const { program, state, steps, forks } = story;
  const fork = forks.get(event.thread);
  const step = steps.get(event.thread);
  const { error, thread } = event;
  if (step !== undefined)
    step.error = error !== undefined && failsNode(program.flow, event, fork) ? errorOf(error) : null;
  if (event.met) return [];
  const node = step?.name ?? nameAt(story.program.flow, event.to);
  const message = joinText(program.flow, state, event, fork);
  return [{ type: 'trouble', ...base(event), node, branch: thread, message }];
}

type AtNode = Extract<Event, { readonly node: string; readonly thread: ThreadId }>;

function trouble(story: Story, event: AtNode, message: string): StoryEvent {
  return {
    type: 'trouble',
    ...base(event),
    node: nameAt(story.program.flow, event.node),
    branch: event.thread,
    message,
  };
}

function base({ seq, at }: Event): Base {
  return { seq, at };
}

function inNode(event: Event, { node, thread }: CallInfo): InNode {
  return { ...base(event), node, branch: thread };
}

function inputFor({ program, state }: Story, key: EffectKey): ReturnType<typeof inputOf> {
  const pending = state?.pending.get(key);
  return state === null || pending === undefined ? {} : inputOf(program, state, pending);
}

function errorOf({ class: kind, type, message }: EventError): EventError {
  return { class: kind, type, message };
}
