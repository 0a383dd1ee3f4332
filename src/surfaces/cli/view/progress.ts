/** The steps of a run with their status, and notices for people. Computed from events, for both views. */
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { EffectKey, Event, ThreadId } from '../../../ir/events.ts';
import { enteredBy } from '../../../runtime/report/report.ts';
import { oneLine } from '../text.ts';
import { answerText, noticesOf, type Notice } from './notices.ts';

export type StepStatus = 'running' | 'waiting' | 'done' | 'failed' | 'stopped';

export interface Step {
  readonly name: string;
  readonly thread: ThreadId;
  readonly startedAt: number;
  endedAt: number | null;
  status: StepStatus;
  /** For example `agent triage_bot` or `tool http.get`. */
  doing: string;
}

export interface Progress {
  readonly steps: readonly Step[];
  readonly latest: readonly Event[];
  take(event: Event): readonly Notice[];
  /** Adds streamed text of a model call. The end of it is shown beside its step. */
  hear(key: EffectKey, text: string): void;
}

const LATEST_MAX = 4;
/** How much streamed text is shown beside a step. */
const HEARD_MAX = 60;
const ROOT: ThreadId = '0';

export function createProgress(flow: CompiledFlow): Progress {
  const steps: Step[] = [];
  const latest: Event[] = [];
  const current = new Map<ThreadId, Step>();
  const effects = new Map<string, { thread: ThreadId; node: string; kind: string }>();

  const finish = (thread: ThreadId, at: number, status: StepStatus): readonly Notice[] => {
    const step = current.get(thread);
    current.delete(thread);
    if (step === undefined || step.endedAt !== null) return [];
    step.endedAt = at;
    if (step.status !== 'failed') step.status = status;
    const kind = step.status === 'failed' || step.status === 'stopped' ? step.status : 'ended';
    return [{ kind, node: step.name, text: '', ms: at - step.startedAt }];
  };
  const below = (parent: ThreadId): readonly ThreadId[] =>
    [...current.keys()].filter((thread) => thread.startsWith(`${parent}:`));

  const enter = (event: Event): readonly Notice[] => {
    const name = enteredBy(flow, event);
    if (name === undefined) return [];
    const thread = 'thread' in event ? event.thread : ROOT;
    const ended = finish(thread, event.at, 'done');
    const step: Step = { name, thread, startedAt: event.at, endedAt: null, status: 'running', doing: '' };
    current.set(thread, step);
    steps.push(step);
    return [...ended, { kind: 'entered', node: name, text: '' }];
  };

  const close = (event: Event): readonly Notice[] => {
    if (event.type === 'thread.ended')
      return finish(event.thread, event.at, event.state === 'completed' ? 'done' : 'failed');
    if (event.type === 'fork.joined')
      return below(event.thread).flatMap((thread) => finish(thread, event.at, 'stopped'));
    if (event.type === 'run.halted')
      return [...current.keys()].flatMap((thread) => finish(thread, event.at, 'stopped'));
    if (event.type === 'run.ended')
      return [...current.keys()].flatMap((thread) =>
        finish(thread, event.at, event.state === 'completed' ? 'done' : 'failed'),
      );
    return [];
  };

  const mark = (event: Event): void => {
    if (event.type === 'effect.requested') {
      effects.set(event.key, { thread: event.thread, node: event.node, kind: event.kind });
      const step = current.get(event.thread);
      if (step === undefined) return;
      step.status = event.kind === 'ask' ? 'waiting' : 'running';
      step.doing = DOING[event.kind](event.name);
    } else if (event.type === 'effect.settled' || event.type === 'effect.judged') {
      heard.delete(event.key);
      const step = current.get(effects.get(event.key)?.thread ?? '');
      if (step === undefined) return;
      if (event.type === 'effect.judged' && event.verdict === 'failed') step.status = 'failed';
      else if (event.type === 'effect.settled' && step.status === 'waiting') {
        step.status = 'running';
        step.doing = event.result.ok ? answerText(event.result.value) : 'no answer';
      }
    }
  };

  const heard = new Map<EffectKey, string>();
  const hear = (key: EffectKey, text: string): void => {
    const tail = ((heard.get(key) ?? '') + text).slice(-HEARD_MAX);
    heard.set(key, tail);
    const step = current.get(effects.get(key)?.thread ?? '');
    if (step !== undefined && step.status === 'running') step.doing = oneLine(tail).trim();
  };

  return {
    steps,
    latest,
    hear,
    take: (event) => {
      latest.push(event);
      if (latest.length > LATEST_MAX) latest.shift();
      const entered = enter(event);
      mark(event);
      const asked = 'key' in event ? effects.get(event.key) : undefined;
      const node = originOf(flow, asked?.node ?? ('node' in event ? (event.node ?? null) : null));
      return [...entered, ...noticesOf(event, node, asked?.kind ?? null, flow), ...close(event)];
    },
  };
}

const DOING = {
  model: (name: string) => `agent ${name}`,
  tool: (name: string) => `tool ${name}`,
  check: (name: string) => `check ${name}`,
  ask: () => 'waits for a person',
} as const;

function originOf(flow: CompiledFlow, id: string | null): string {
  return id === null ? '' : (flow.nodes[id]?.label.name ?? id);
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
