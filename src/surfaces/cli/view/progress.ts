/** The steps of a run with their status, and notices for people. Computed from public events, for both views. */
import { inherited } from '../../../ir/branches.ts';
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { EffectKey, Event, ThreadId } from '../../../ir/events.ts';
import { createProgram } from '../../../core/program.ts';
import { pure } from '../../../runtime/engine/pure.ts';
import { createNarrator } from '../../../runtime/report/narrate.ts';
import type { StoryEvent } from '../../../runtime/report/run-events.ts';
import { harmless } from '../code-points.ts';
import { oneLine } from '../text.ts';
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
/** How much streamed text is kept for a step. */
const HEARD_MAX = 2000;
/** How much of it is shown beside the step when it is complete. */
const BESIDE_MAX = 60;

export function createProgress(flow: CompiledFlow): Progress {
  const narrate = createNarrator(createProgram(flow, pure));
  const steps: Step[] = [];
  const latest: Event[] = [];
  const current = new Map<ThreadId, Step>();
  const threads = new Map<EffectKey, ThreadId>();
  const heard = new Map<EffectKey, string>();
  /** The end of a finished text stays beside its step. */
  const settleText = (key: EffectKey): void => {
    const text = heard.get(key);
    const step = inherited(current, threads.get(key) ?? '');
    heard.delete(key);
    if (text === undefined || step === undefined) return;
    step.text = '';
    step.doing = oneLine(text.slice(-BESIDE_MAX));
  };
  return {
    steps,
    latest,
    hear: (key, text) => {
      const tail = ((heard.get(key) ?? '') + text).slice(-HEARD_MAX);
      heard.set(key, tail);
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
  if (!('branch' in event)) return;
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
