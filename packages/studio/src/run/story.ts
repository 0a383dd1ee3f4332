/** The story of a run: one row for each thing that happened, in words. */
import type { ControlResult, RunEvent } from '@sluice-internal/wire';
import { dollars, duration, inline, short } from '../ui/format.ts';
import type { IconName } from '../ui/icon.tsx';
import type { Tone } from '../ui/states.ts';

export interface StoryRow {
  readonly id: string;
  readonly seq: number;
  readonly at: number;
  readonly node: string | undefined;
  readonly icon: IconName;
  readonly tone: Tone;
  /** Who or what: the agent, the tool, the person. */
  readonly name: string;
  readonly does: string;
  readonly aside: string;
  readonly body: string;
  /** Something went wrong: these are the stops of the keys `n` and `p`. */
  readonly isTrouble: boolean;
  /** The body is the reason of the trouble, and not a value. */
  readonly isReason: boolean;
  readonly controls: readonly ControlResult[];
  readonly call: string | null;
  /** The row is about a decision between steps; it can be left out. */
  readonly isMinor: boolean;
}

type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;
type Words = Partial<Omit<StoryRow, 'id' | 'seq' | 'at' | 'node'>> & Pick<StoryRow, 'icon' | 'name' | 'does'>;

const BODY_MAX = 600;

/** What each type of event says. Other types are no part of the story. */
const WORDS: { readonly [Type in RunEvent['type']]?: (event: Of<Type>) => Words | null } = {
  'run.started': ({ input }) => ({ icon: 'play', name: 'Started', does: '', body: inputText(input) }),
  'run.ended': ({ state, code, error, output }) => ({
    ...{ icon: ENDS[state] ?? 'flag', tone: endTone(state, code), name: code, does: 'is the end' },
    body: error === null ? (output === null ? '' : inline(output, BODY_MAX)) : error.message,
    ...{ isTrouble: state === 'failed', isReason: error !== null },
  }),
  'run.cancelled': ({ by, reason }) => ({
    icon: 'dash',
    name: by,
    does: 'cancelled the run',
    body: reason,
    tone: 'waiting',
  }),
  'run.limited': ({ limit, used, max }) => trouble('Limit', `${limit}: ${short(used)} of ${short(max)}`, ''),
  'guidance.given': ({ by, text, agent }) => ({
    ...{ icon: 'note', name: by, does: agent === null ? 'says' : `says to ${agent}`, body: text },
  }),
  'budget.granted': ({ by, dimension, amount }) => ({
    icon: 'plus',
    name: by,
    does: `added ${amount} to ${dimension}`,
  }),
  'node.failed': ({ node, error, durationMs }) => ({
    ...trouble(node, 'failed', error?.message ?? ''),
    aside: took(durationMs),
  }),
  'node.stopped': ({ node }) => ({ icon: 'dash', name: node, does: 'was stopped', isMinor: true }),
  'node.skipped': ({ node, reason }) =>
    reason === 'path'
      ? null
      : { icon: 'dash', name: node, does: 'was skipped: its condition did not hold', isMinor: true },
  'node.retried': ({ node, delayMs, error }) => ({
    ...trouble(node, 'tries again', error.message),
    ...{ icon: 'retry', tone: 'waiting', aside: delayMs === 0 ? '' : `after ${duration(delayMs)}` },
  }),
  'model.continued': ({ agent, reason }) => ({ icon: 'agent', name: agent, does: `goes on: ${reason}`, isMinor: true }),
  'model.finished': ({ agent, text, durationMs, inputTokens, outputTokens, costUsd, call }) => ({
    ...{ icon: 'agent', name: agent, does: text === '' ? 'asked for a tool' : 'replied', body: text, call },
    aside: [
      `${short(inputTokens + outputTokens)} tok`,
      ...(costUsd === 0 ? [] : [dollars(costUsd)]),
      ...(durationMs < 1 ? [] : [duration(durationMs)]),
    ].join(' · '),
  }),
  'tool.refused': ({ tool, args, reason, controls }) => ({
    ...trouble(tool, 'refused', reason),
    ...{ icon: 'shield', aside: 'not called', controls, does: `refused ${inline(args, 120)}` },
  }),
  'tool.finished': ({ tool, args, result, durationMs, call }) => ({
    ...{ icon: 'tool', tone: 'ok', name: tool, does: inline(args, 120), body: inline(result, BODY_MAX) },
    ...{ aside: took(durationMs), call },
  }),
  'tool.failed': ({ tool, error, durationMs, call }) => ({
    ...trouble(tool, 'failed', error.message),
    ...{ icon: 'tool', aside: took(durationMs), call },
  }),
  'tool.unknown': ({ tool, call }) => ({
    ...trouble(tool, 'may have happened', 'The process stopped while the call was in flight.'),
    call,
  }),
  'memory.recalled': ({ entries }) => ({ icon: 'note', name: 'Memory', does: `${entries.length} read`, isMinor: true }),
  'memory.written': ({ entry }) => ({ icon: 'note', name: 'Memory', does: `kept ${entry}`, isMinor: true }),
  'memory.quarantined': ({ reason }) => trouble('Memory', 'set an entry apart', reason),
  'memory.refused': ({ reason }) => trouble('Memory', 'refused an entry', reason),
  'check.finished': ({ check, result }) => ({
    icon: 'check',
    name: check,
    does: 'checked',
    body: inline(result, 240),
    isMinor: true,
  }),
  'question.asked': ({ askedBy, message }) => ({
    icon: 'person',
    tone: 'waiting',
    name: askedBy,
    does: 'asks a person',
    body: message,
  }),
  'question.answered': ({ by, choice, text }) => ({
    ...{
      icon: 'person',
      tone: choice === 'reject' ? 'failed' : 'ok',
      name: by,
      does: `answered ${choice}`,
      body: text ?? '',
    },
  }),
  'question.agreed': ({ by, choice, missing }) => ({
    icon: 'person',
    name: by,
    does: `agreed: ${choice}`,
    aside: `${missing} missing`,
  }),
  'question.refused': ({ by, choice, reason }) => trouble(by, `may not answer ${choice}`, reason),
  'question.escalated': ({ to }) => ({
    icon: 'person',
    tone: 'waiting',
    name: 'Question',
    does: `goes to ${to.join(', ')}`,
  }),
  'question.closed': ({ reason }) => ({
    icon: 'dash',
    name: 'Question',
    does: `closed: ${reason === 'halt' ? 'the run was stopped' : 'nobody waits for it'}`,
  }),
  'wait.started': ({ signal, until }) => ({
    icon: 'clock',
    tone: 'waiting',
    name: signal ?? 'Timer',
    does: until === null ? 'is waited for' : `until ${new Date(until).toLocaleTimeString('en-GB')}`,
  }),
  'wait.finished': ({ signal, by }) => ({
    icon: 'clock',
    name: signal ?? 'Timer',
    does: signal === null ? 'is over' : `came from ${by}`,
  }),
  'budget.reached': ({ budget, left, needed }) =>
    trouble('Budget', `${budget}: ${short(left)} left, ${short(needed)} needed`, ''),
  'budget.raised': ({ budget, by }) => ({ icon: 'plus', name: 'Budget', does: `${budget} raised by ${short(by)}` }),
  trouble: ({ message }) => trouble('Trouble', '', message),
  'undo.started': ({ tool, args }) => ({
    icon: 'undo',
    tone: 'undone',
    name: tool,
    does: 'undoes',
    body: inline(args, 240),
    isMinor: true,
  }),
  'undo.finished': ({ tool, error }) =>
    error === null
      ? { icon: 'undo', tone: 'undone', name: tool, does: 'has undone' }
      : trouble(tool, 'could not undo', error.message),
};

const ENDS: { readonly [state: string]: IconName } = { completed: 'flag', failed: 'cross', cancelled: 'dash' };

function endTone(state: string, code: string): Tone {
  if (state === 'failed') return 'failed';
  if (state === 'cancelled') return 'idle';
  return code === 'SUCCESS' ? 'ok' : 'waiting';
}

/** Calls of a script take no time. */
function took(ms: number): string {
  return ms < 1 ? '' : duration(ms);
}

function trouble(name: string, does: string, reason: string): Words {
  return { icon: 'warning', tone: 'failed', name, does, body: reason, isTrouble: true, isReason: true };
}

function inputText(input: unknown): string {
  if (typeof input === 'string') return `“${input}”`;
  const { message } = (input ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' && Object.keys(input as object).length === 1
    ? `“${message}”`
    : inline(input, BODY_MAX);
}

const PLAIN = {
  tone: 'idle',
  aside: '',
  body: '',
  isTrouble: false,
  isReason: false,
  controls: [],
  call: null,
  isMinor: false,
} as const;

/** A row keeps what was said when its event came: rows before it never change. */
export function storyOf(events: readonly RunEvent[]): readonly StoryRow[] {
  const judged = new Map<string, readonly ControlResult[]>();
  return events.flatMap((event): readonly StoryRow[] => {
    if (event.type === 'call.judged') judged.set(`${event.node}|${event.branch}|${event.tool}`, event.controls);
    const words = (WORDS[event.type] as ((event: RunEvent) => Words | null) | undefined)?.(event) ?? null;
    if (words === null) return [];
    const { id, seq, at, node } = event;
    return [{ ...PLAIN, ...words, controls: words.controls ?? controlsOf(event, judged), id, seq, at, node }];
  });
}

/** What a call passed before it was made. */
function controlsOf(event: RunEvent, judged: ReadonlyMap<string, readonly ControlResult[]>): readonly ControlResult[] {
  if (event.type !== 'tool.finished' && event.type !== 'tool.failed') return [];
  return judged.get(`${event.node}|${event.branch}|${event.tool}`) ?? [];
}
