/** The steps of a run with their status, its usage against budgets, and notices for people. Computed from public events, for both views. */
import { BUDGET_ROWS, inherited, isCounted, shownAmount } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Dimension, EffectKey, Event, Meter, RunState, ThreadId } from '@sluice-internal/kernel/ir';
import { createProgram } from '@sluice-internal/kernel/core';
import { pure } from '@sluice-internal/engine/ports';
import { createNarrator, storyLog } from '@sluice-internal/engine/report';
import type { StoryEvent } from '@sluice-internal/wire';
import { dollars, grouped, harmless, oneLine } from '@sluice-internal/library/documents';
import { argsText, noticeOf, type Notice } from './notices.ts';

export type StepStatus = 'running' | 'waiting' | 'done' | 'failed' | 'stopped';

export interface Step {
  readonly name: string;
  readonly thread: ThreadId;
  readonly startedAt: number;
  endedAt: number | null;
  status: StepStatus;
  /** For example `agent triage_bot` or `tool http.get`. */
  doing: string;
  /** The end of the text that its model is generating. */
  text: string;
}

export interface Progress {
  readonly steps: readonly Step[];
  readonly latest: readonly Event[];
  /** Usage against budgets, as one line. */
  spending(): string;
  take(event: Event): readonly Notice[];
  /** Adds streamed text of a model call. The end of it is shown below its step. */
  hear(key: EffectKey, text: string): void;
}

export interface View {
  take(event: Event): void;
  /** Adds streamed text of a model call in progress. */
  hear(key: EffectKey, text: string): void;
  /** Keeps the drawn lines and stops drawing until the next event. */
  pause(): void;
  /** Ends the view. */
  end(): void;
}

const LATEST_MAX = 4;
/** The length of the streamed text that is kept for a step. */
const TAIL_MAX = 2000;
/** The length of the part that is shown beside a complete step. */
const BESIDE_MAX = 60;

export function createProgress(flow: CompiledFlow): Progress {
  const program = createProgram(flow, pure);
  const log = storyLog(program);
  const narrate = createNarrator(program, log);
  const steps: Step[] = [];
  const latest: Event[] = [];
  const current = new Map<ThreadId, Step>();
  const threads = new Map<EffectKey, ThreadId>();
  const tails = new Map<EffectKey, string>();
  /** The end of a finished text stays beside its step. */
  const settleText = (key: EffectKey): void => {
    const text = tails.get(key);
    const step = inherited(current, threads.get(key) ?? '');
    tails.delete(key);
    if (text === undefined || step === undefined) return;
    step.text = '';
    step.doing = oneLine(text.slice(-BESIDE_MAX));
  };
  return {
    steps,
    latest,
    spending: () => (log.state === null ? '' : spendingLine(flow, log.state)),
    hear: (key, text) => {
      const tail = ((tails.get(key) ?? '') + text).slice(-TAIL_MAX);
      tails.set(key, tail);
      const step = inherited(current, threads.get(key) ?? '');
      if (step?.status === 'running') step.text = harmless(tail);
    },
    take: (event) => {
      latest.push(event);
      if (latest.length > LATEST_MAX) latest.shift();
      if (event.type === 'effect.requested') threads.set(event.key, event.thread);
      if (event.type === 'effect.settled') settleText(event.key);
      return narrate(event).flatMap((each) => {
        apply(each, steps, current);
        return noticeOf(each) ?? [];
      });
    },
  };
}

function apply(event: StoryEvent, steps: Step[], current: Map<ThreadId, Step>): void {
  if (event.branch === undefined) return;
  if (event.type === 'node.started') {
    const { node: name, branch: thread, at: startedAt } = event;
    const step: Step = { name, thread, startedAt, endedAt: null, status: 'running', doing: '', text: '' };
    current.set(thread, step);
    steps.push(step);
    return;
  }
  const step = inherited(current, event.branch);
  if (step === undefined) return;
  const ended = ENDED[event.type];
  if (ended !== undefined && step.thread === event.branch) {
    step.status = ended;
    step.endedAt = event.at;
    current.delete(event.branch);
    return;
  }
  const doing = doingOf(event);
  if (doing === null) return;
  step.status = event.type === 'question.asked' ? 'waiting' : 'running';
  step.doing = doing;
}

const ENDED: { readonly [type: string]: StepStatus } = {
  'node.finished': 'done',
  'node.failed': 'failed',
  'node.stopped': 'stopped',
};

function doingOf(event: StoryEvent): string | null {
  switch (event.type) {
    case 'model.started':
      return `agent ${event.agent}`;
    case 'tool.started':
      return `tool ${event.tool} ${argsText(event.args)}`.trimEnd();
    case 'question.asked':
      return 'waits for a person';
    case 'question.answered':
      return `${event.choice}${event.by === '' ? '' : ` (${event.by})`}`;
    case 'undo.started':
      return `undo ${event.tool}`;
    default:
      return null;
  }
}

/** `steps 3 of 100 · calls 2 · tokens 300 · $0.0012 of $0.50` */
function spendingLine(flow: CompiledFlow, { spent, usage }: Pick<RunState, 'spent' | 'usage'>): string {
  const limits = limitsOf(flow);
  return SHOWN.flatMap(({ name, charged, live = '' }) => {
    const amount = (charged === 'visit' ? spent : usage)[name] ?? 0;
    const limit = limits.get(name);
    if (amount === 0 && limit === undefined) return [];
    const of = limit === undefined ? '' : ` of ${amountText(name, limit)}`;
    return [`${live} ${amountText(name, amount)}${of}`.trimStart()];
  }).join(' · ');
}

/** The meter that every entered node charges. */
const STEPS = 'steps';

const SHOWN = BUDGET_ROWS.filter(({ live }) => live !== undefined);

function amountText(dimension: Dimension, amount: number): string {
  return dimension === 'costMicros' ? dollars(shownAmount(dimension, amount)) : grouped(amount);
}

/** The run's budget of each dimension. */
function limitsOf(flow: CompiledFlow): ReadonlyMap<Dimension, number> {
  const limits = new Map<Dimension, number>();
  const steps = flow.meters[STEPS]?.max ?? null;
  if (steps !== null) limits.set('steps', steps);
  for (const { unit, max, label } of Object.values<Meter>(flow.meters)) {
    if (max === null || !isCounted(unit) || !label.startsWith('budgets.')) continue;
    limits.set(unit, Math.min(max, limits.get(unit) ?? Infinity));
  }
  return limits;
}
