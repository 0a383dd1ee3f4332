/** The line that a person sees for one public event. Many events have no line. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CLOSED_BECAUSE } from '@sluice-internal/wire';
import type { ControlResult, RunEvent, StoryEvent } from '@sluice-internal/wire';
import { oneLine, plural, seconds } from '@sluice-internal/library/documents';

export interface Notice {
  readonly kind: keyof typeof LABELS;
  readonly node: string;
  readonly text: string;
  readonly ms?: number;
}

/** The first word of the line of a notice. */
const LABELS = {
  entered: 'enter',
  ended: 'done',
  failed: 'failed',
  waiting: 'waiting',
  answered: 'answer',
  tool: 'tool',
  refused: 'refused',
  retry: 'retry',
  trouble: 'trouble',
  undo: 'undo',
  undone: 'undone',
  stopped: 'stopped',
  skipped: 'skipped',
} as const;

export function lineOf({ kind, node, text, ms }: Notice): string {
  const time = ms === undefined ? '' : seconds(ms);
  const parts = [oneLine(node), oneLine(text, 300), time].filter((part) => part !== '');
  return `${LABELS[kind].padEnd(8)} ${parts.join('  ')}`;
}

type Of<Type extends StoryEvent['type']> = Extract<StoryEvent, { readonly type: Type }>;
type Words = { readonly [type in StoryEvent['type']]?: (event: Of<type>) => Omit<Notice, 'node'> | null };

const WORDS: Words = {
  'node.started': () => ({ kind: 'entered', text: '' }),
  'node.finished': ({ durationMs }) => ({ kind: 'ended', text: '', ms: durationMs }),
  'node.failed': ({ durationMs }) => ({ kind: 'failed', text: '', ms: durationMs }),
  'node.stopped': ({ durationMs }) => ({ kind: 'stopped', text: '', ms: durationMs }),
  // At the end of a run the path shows the nodes that were not entered.
  'node.skipped': ({ reason }) => (reason === 'path' ? null : { kind: 'skipped', text: 'its condition does not hold' }),
  'node.retried': ({ error, delayMs }) => ({
    kind: 'retry',
    text: `${error.type}: ${error.message}; retry ${delayMs <= 0 ? 'at once' : `in ${seconds(delayMs)}`}`,
  }),
  'model.continued': ({ reason }) => ({ kind: 'retry', text: `${reason}; another request continues the reply` }),
  'reply.repaired': ({ how }) => ({
    kind: 'trouble',
    text: `the reply was almost JSON and was read: ${how.join(', ')}`,
  }),
  'tool.refused': ({ tool, args, reason }) => ({ kind: 'refused', text: `${tool} ${argsText(args)}: ${reason}` }),
  // The line of the retry says that it is called again.
  'tool.started': ({ tool, args, attempt }) =>
    attempt > 1 ? null : { kind: 'tool', text: `${tool} ${argsText(args)}` },
  'tool.failed': ({ tool, error }) => ({ kind: 'trouble', text: `${tool}: ${error.type}: ${error.message}` }),
  'tool.unknown': ({ tool }) => ({ kind: 'trouble', text: `${tool}: it is not known if it happened` }),
  'check.finished': ({ check, result }) => objection(check, result),
  'question.asked': ({ message, choices }) => ({ kind: 'waiting', text: `${message} (${choices.join(' or ')})` }),
  'question.answered': ({ choice, by }) => ({ kind: 'answered', text: `${choice}${by === '' ? '' : ` (${by})`}` }),
  'question.agreed': ({ choice, by, missing }) => ({ kind: 'answered', text: `${choice} (${by}); ${missing} missing` }),
  'question.refused': ({ choice, by, reason }) => ({ kind: 'refused', text: `${choice} (${by}): ${reason}` }),
  'question.escalated': ({ to }) => ({
    kind: 'waiting',
    text: `no person answered in time; now ${to.join(', ')} may answer`,
  }),
  'question.closed': ({ reason }) => ({
    kind: 'stopped',
    text: `the question is closed: ${CLOSED_BECAUSE[reason]}`,
  }),
  'wait.started': ({ signal, until }) => ({ kind: 'waiting', text: waitText(signal, until) }),
  'wait.finished': ({ signal, by }) => ({
    kind: 'answered',
    text: signal === null ? 'the time is over' : `signal ${signal} (${by})`,
  }),
  'memory.quarantined': ({ entry, reason }) => ({
    kind: 'refused',
    text: `memory ${entry} is in quarantine: ${reason}`,
  }),
  'budget.reached': ({ budget, left, needed }) => ({
    kind: 'trouble',
    text: left <= 0 ? `${budget} is reached` : `${budget} is too small to continue: ${left} left, ${needed} needed`,
  }),
  'budget.raised': ({ budget, by }) => ({ kind: 'answered', text: `${budget} is raised by ${by}` }),
  'budget.granted': ({ by, dimension, amount }) => ({
    kind: 'answered',
    text: `${by} adds ${amount} to budgets.${dimension}, and the run goes on`,
  }),
  'guard.failed': (event) => ({ kind: 'trouble', text: guardText(event) }),
  trouble: ({ message }) => ({ kind: 'trouble', text: message }),
  'undo.started': ({ tool, args }) => ({ kind: 'undo', text: `${tool} ${argsText(args)}` }),
  'undo.finished': ({ tool, error }) =>
    error === null
      ? { kind: 'undone', text: tool }
      : { kind: 'trouble', text: `not undone: ${tool}: ${error.type}: ${error.message}` },
  'guidance.given': ({ by, text: words, agent }) => ({
    kind: 'answered',
    text: `${by} to ${agent ?? 'the next agent'}: ${words}`,
  }),
  'run.cancelled': ({ by, reason }) => ({ kind: 'trouble', text: `cancelled by ${by}: ${reason}` }),
  'run.limited': (event) => ({ kind: 'trouble', text: limitText(event) }),
};

/** The text of a refusing gate. Other checks have other lines. */
function objection(check: string, result: Json): Omit<Notice, 'node'> | null {
  if (!isRecord(result) || result['ok'] !== false) return null;
  const gate = /^(?:validator|contract):(.*)$/.exec(check)?.[1];
  return gate === undefined ? null : { kind: 'refused', text: `${gate}: ${text(result['reason'])}` };
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function noticeOf(event: StoryEvent | RunEvent): Notice | null {
  const words = WORDS[event.type as StoryEvent['type']] as
    | ((given: typeof event) => Omit<Notice, 'node'> | null)
    | undefined;
  const notice = words?.(event) ?? null;
  return notice === null ? null : { node: event.node ?? '', ...notice };
}

type Details = { readonly [type in StoryEvent['type']]: (event: Of<type>) => string };

const DETAILS: Details = {
  'run.started': ({ flow, input }) => `${flow} ${argsText(input)}`,
  'node.started': () => '',
  'route.taken': ({ from, to }) => `${from} to ${to}`,
  'node.finished': ({ durationMs, output }) =>
    `${seconds(durationMs)}${output === null ? '' : `  ${argsText(output)}`}`,
  'node.failed': ({ durationMs, error }) =>
    `${seconds(durationMs)}${error === null ? '' : `  ${error.type}: ${error.message}`}`,
  'node.stopped': ({ durationMs }) => seconds(durationMs),
  'node.skipped': ({ reason }) => (reason === 'path' ? 'the run took another path' : 'its condition does not hold'),
  'node.retried': ({ attempt, delayMs, error }) =>
    `attempt ${attempt} failed, next in ${seconds(delayMs)}: ${error.type}: ${error.message}`,
  'model.started': ({ agent }) => agent,
  'model.continued': ({ agent, reason }) => `${agent}  ${reason}`,
  'model.finished': ({ agent, durationMs, text, inputTokens, outputTokens }) =>
    `${agent}  ${seconds(durationMs)}  ${inputTokens}+${outputTokens} tokens  ${argsText(text)}`,
  'reply.repaired': ({ agent, how }) => `${agent}  ${how.join(', ')}`,
  'tool.proposed': ({ agent, tool, args }) => `${agent}  ${tool} ${argsText(args)}`,
  'call.judged': ({ tool, controls }) => `${tool}  ${controls.map(verdictText).join(', ')}`,
  'tool.refused': ({ tool, args, reason }) => `${tool} ${argsText(args)}: ${reason}`,
  'tool.started': ({ tool, args, attempt }) => `${tool} ${argsText(args)}${attempt > 1 ? `  attempt ${attempt}` : ''}`,
  'tool.finished': ({ tool, result, durationMs }) => `${tool}  ${seconds(durationMs)}  ${argsText(result)}`,
  'tool.failed': ({ tool, error, durationMs }) => `${tool}  ${seconds(durationMs)}  ${error.type}: ${error.message}`,
  'tool.unknown': ({ tool }) => `${tool}: it is not known if it happened`,
  'memory.recalled': ({ entries, quarantined }) =>
    `${plural(entries.length, 'entry', 'entries')}${quarantined.length === 0 ? '' : `, ${quarantined.length} in quarantine`}`,
  'memory.written': ({ entry, trust, expiresAt }) => `${entry}  ${trust}, until ${new Date(expiresAt).toISOString()}`,
  'memory.quarantined': ({ entry, reason }) => `${entry}: ${reason}`,
  'memory.refused': ({ reason }) => reason,
  'check.finished': ({ check, result }) => `${check}  ${argsText(result)}`,
  'question.asked': ({ message, choices }) => `${message} (${choices.join(' or ')})`,
  'question.answered': ({ choice, by, text }) =>
    `${choice}${by === '' ? '' : ` by ${by}`}${text === null ? '' : `: ${text}`}`,
  'question.agreed': ({ choice, by, missing }) => `${choice} by ${by}; ${missing} missing`,
  'question.refused': ({ choice, by, reason }) => `${choice} by ${by}: ${reason}`,
  'question.escalated': ({ to }) => to.join(', '),
  'question.closed': ({ reason }) => reason,
  'wait.started': ({ signal, until }) => waitText(signal, until),
  'wait.finished': ({ signal, data, by }) => `${signal ?? 'timer'} by ${by}  ${argsText(data)}`,
  'budget.reached': ({ budget, left, needed }) => `${budget}: ${left} left, ${needed} needed`,
  'budget.raised': ({ budget, by }) => `${budget} by ${by}`,
  'budget.granted': ({ by, dimension, amount }) => `budgets.${dimension} by ${amount}, from ${by}`,
  'guard.failed': guardText,
  trouble: ({ message }) => message,
  'undo.started': ({ tool, args }) => `${tool} ${argsText(args)}`,
  'undo.finished': ({ tool, error }) => `${tool}${error === null ? '' : `  ${error.type}: ${error.message}`}`,
  'guidance.given': ({ by, text: words, agent }) => `by ${by} to ${agent ?? 'the next agent'}: ${words}`,
  'run.cancelled': ({ by, reason }) => `by ${by}: ${reason}`,
  'run.limited': (event) => limitText(event),
  'run.ended': ({ code, output }) => `${code}  ${argsText(output)}`,
};

function guardText({ guard, why }: Of<'guard.failed'>): string {
  return `${guard === null ? 'a condition' : `the condition \`${guard}\``} cannot be evaluated: ${why}`;
}

function verdictText({ control, ok, reason }: ControlResult): string {
  return `${control}: ${ok === null ? 'open' : ok ? 'ok' : 'refused'}${reason === undefined ? '' : ` (${reason})`}`;
}

/** The rest of an event's line in `sluice trace`, after its type and node. */
export function detailOf(event: StoryEvent): string {
  return (DETAILS[event.type] as (event: StoryEvent) => string)(event);
}

function limitText({ limit, used, max, ends }: Of<'run.limited'>): string {
  return `${used} of ${max} ${limit}: ${ends ? 'the run stops' : 'the run stops when it has all of them'}`;
}

function waitText(signal: string | null, until: number | null): string {
  const end = until === null ? '' : ` until ${new Date(until).toISOString()}`;
  return signal === null ? `waits${end}` : `waits for the signal ${signal}${end}`;
}

/** Arguments as short JSON. */
export function argsText(args: unknown): string {
  return oneLine(args === null || args === undefined ? '' : JSON.stringify(args), 120);
}
