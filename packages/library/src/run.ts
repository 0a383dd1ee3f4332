/** A handle of one run: its events, its result, and the operations on it. */
import type { Json } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import type {
  BudgetGrant,
  ChainedEvent,
  Delta,
  Engine,
  GivenAnswer,
  GivenRemark,
  OpenedRun,
  Report,
  Waiting,
} from '@sluice-internal/engine/ports';
import type { RunEvent } from '@sluice-internal/wire';
import type { RunId } from '@sluice-internal/kernel/ir';
import { didYouMean } from '@sluice-internal/compile/source';
import type { Questions } from './define/definition.ts';
import { RunFailedError, RunWaitsError } from './host/errors.ts';
import type { ForkEdits } from './host/fork.ts';
import type { Stories, Story } from './host/stories.ts';

/**
 * Options of `run.events`.
 * @example
 * const options: ReadOptions = { after: '12.0', signal: AbortSignal.timeout(5_000) };
 */
export interface ReadOptions {
  /** Only later events: an `id` or a `seq` of an earlier event, also as text, such as the header `Last-Event-ID`. */
  readonly after?: string | number | undefined;
  /** False: only the events that are stored now. Default: true. */
  readonly live?: boolean | undefined;
  /** Ends the reader when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Options of `run.answer`.
 * @example
 * const options: AnswerOptions = { by: 'anna', text: 'The parcel is lost.' };
 */
export interface AnswerOptions {
  /** The person who answers. It is recorded. */
  readonly by: string;
  readonly text?: string;
  /** Replaces the proposed data. */
  readonly edit?: Json;
  /** The data for the `fields` of an approval node. */
  readonly data?: Json;
  /** The `payload` of the question that the person saw. Another question is refused then. */
  readonly payload?: string;
  /** The private key of the person (Ed25519, PEM), if the flow gives that person a key. */
  readonly key?: GivenAnswer['key'];
  /** Instead of `key`: a signature that was made elsewhere, and its time. */
  readonly signature?: string;
  readonly signedAt?: number;
}

/**
 * Options of `run.result`.
 * @example
 * const options: ResultOptions = { onQuestion: 'throw' };
 */
export interface ResultOptions {
  readonly signal?: AbortSignal;
  /**
   * While the run waits for a person: `wait` waits with it, and tells it through `onNotice` of the engine. `throw` throws a
   * `RunWaitsError` with the open questions. Default: `wait`.
   */
  readonly onQuestion?: 'wait' | 'throw';
}

/**
 * The report on a run that ended well, with a typed output.
 * @example
 * const { output, usage }: Result<unknown> = await run.result();
 */
export interface Result<Output> extends Omit<Report, 'output'> {
  readonly output: Output;
}

/**
 * A handle of a run. The run continues also if the handle is not used.
 * @example
 * const run = await engine.run(refunds, { message: 'money back' });
 * const [question] = await run.waiting();
 * if (question !== undefined) await run.answer('gate', 'approve', { by: 'anna' });
 * const { output } = await run.result();
 */
export interface Run<Output = Json, Asked extends Questions = Questions> {
  readonly id: RunId;
  /** Readable events from the beginning, then new ones until the run ends. */
  events(options?: ReadOptions): AsyncIterableIterator<RunEvent>;
  /**
   * Resolves when the run has ended well. Throws a `RunFailedError` if it ended in another way, and the error `engine-closed` if the
   * engine closes before.
   */
  result(options?: ResultOptions): Promise<Result<Output>>;
  /** Resolves when the run waits for a person or has ended, with the open questions. */
  waiting(): Promise<readonly Waiting[]>;
  /** The questions that are open now. */
  questions(): Promise<readonly Waiting[]>;
  /** Answers an open question, by node or by id. Waits until the run asks it. */
  answer<Node extends keyof Asked & string>(
    question: Node | `a_${string}`,
    choice: Asked[Node] & string,
    options: AnswerOptions,
  ): Promise<void>;
  /** Sends a signal to a run that waits for it. */
  signal(name: string, options?: Parameters<Engine['signal']>[2]): Promise<void>;
  /** A remark of a person to the agents of the run, or to one of them. It reaches the next request of that agent. */
  guide(text: string, options: Omit<GivenRemark, 'text'>): Promise<void>;
  /** Stops the run and undoes its effects. */
  cancel(options: { readonly by: string; readonly reason?: string }): Promise<void>;
  /** Continues the run if no live process owns it. With `grant`: adds to budgets of a run that ended because one was used up. */
  resume(grant?: BudgetGrant): Promise<void>;
  /** Starts a new run that shares the events of this one up to event `at`. */
  fork(edits: ForkEdits): Promise<Run>;
  /** The state of the run now. */
  report(): Promise<Report>;
}

export interface RunSource {
  readonly engine: RunEngine;
  readonly stories: Stories;
  /** The handle keeps the run open as long as it is referenced itself. */
  readonly opened?: OpenedRun | undefined;
  /** Tells an operator something. */
  readonly notice?: ((message: string) => void) | undefined;
}

/** The operations of the engine that a handle uses. */
type RunEngine = Pick<Engine, 'answer' | 'approvals' | 'cancel' | 'events' | 'get' | 'guide' | 'signal' | 'wait'> & {
  resume(run: RunId, grant?: BudgetGrant): Promise<unknown>;
  fork(run: RunId, edits: ForkEdits): Promise<Run>;
};

export function createRun(source: RunSource, id: RunId): Run {
  const { engine } = source;
  return {
    id,
    events: (options) => publicEvents(source, id, options),
    result: (options) => resultOf(source, id, options),
    waiting: async () => {
      await engine.wait(id);
      return engine.approvals(id);
    },
    answer: async (name, choice, { by, data, ...rest }) => {
      const given = data === undefined ? rest : { ...rest, edit: data };
      const question = await findQuestion(engine, id, name);
      const fields = ANSWER_FIELDS.flatMap((field) => (given[field] === undefined ? [] : [[field, given[field]]]));
      await engine.answer(question.id, { choice, by, ...(Object.fromEntries(fields) as typeof given) });
    },
    signal: (name, options) => engine.signal(id, name, options),
    guide: (text, options) => engine.guide(id, { ...options, text }),
    cancel: ({ by, reason }) => engine.cancel(id, by, reason),
    questions: () => engine.approvals(id),
    resume: async (grant) => void (await engine.resume(id, grant)),
    fork: (edits) => engine.fork(id, edits),
    report: () => engine.get(id),
  };
}

const ANSWER_FIELDS = ['text', 'edit', 'payload', 'key', 'signature', 'signedAt'] as const;

function publicEvents(
  { engine, stories }: RunSource,
  id: RunId,
  options: ReadOptions = {},
): AsyncIterableIterator<RunEvent> {
  const isNew = positionAfter(options.after);
  const ready: RunEvent[] = [];
  const after = Math.max(0, seqOf(options.after) - 1);
  const source = engine.events(id, {
    deltas: true,
    after,
    live: options.live ?? true,
    signal: options.signal,
  }) as AsyncIterableIterator<ChainedEvent | Delta>;
  let story: Promise<Story> | null = null;
  const iterator: AsyncIterableIterator<RunEvent> = {
    next: async () => {
      for (;;) {
        const event = ready.shift();
        if (event !== undefined && options.signal?.aborted !== true) return { done: false, value: event };
        // The reader subscribes first: text that is streamed while the run is read reaches it too.
        const nextEvent = source.next();
        story ??= stories.of(id);
        const [next, { tell }] = await Promise.all([nextEvent, story]);
        if (next.done === true) return { done: true, value: undefined };
        ready.push(...tell(next.value).filter(isNew));
      }
    },
    return: async () => {
      ready.length = 0;
      await source.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** The journal event of a position. */
function seqOf(after: ReadOptions['after']): number {
  return Math.trunc(Number(after ?? 0));
}

/** True for events after a position. A number means the whole journal event. */
function positionAfter(after: ReadOptions['after']): (event: RunEvent) => boolean {
  if (after === undefined || after === '') return () => true;
  if (!/^\d+(\.\d+)?$/.test(String(after)))
    throw new SluiceError('bad-start', `\`${after}\` is not the id of an event`, 'Ids look like `12.0`.');
  const [seq = 0, index = Number.POSITIVE_INFINITY] = String(after).split('.').map(Number);
  return (event) => event.seq > seq || (event.seq === seq && Number(event.id.split('.')[1]) > index);
}

async function resultOf(
  { engine, notice }: RunSource,
  id: RunId,
  { signal, onQuestion = 'wait' }: ResultOptions = {},
): Promise<Result<Json>> {
  const told = new Set<string>();
  for (;;) {
    signal?.throwIfAborted();
    await aborted(engine.wait(id), signal);
    const report = await engine.get(id);
    if (!hasEnded(report)) {
      const { waiting } = report;
      if (report.state === 'suspended' && waiting.length > 0) {
        const waits = new RunWaitsError(id, waiting);
        if (onQuestion === 'throw') throw waits;
        if (waiting.some((each) => !told.has(each.id))) notice?.(waits.message);
        for (const each of waiting) told.add(each.id);
      }
      await nextEvent(engine, id, signal);
      continue;
    }
    if (report.code === 'SUCCESS' || report.code === 'PARTIAL_SUCCESS') return report;
    throw new RunFailedError(report);
  }
}

function hasEnded({ state }: Report): boolean {
  return state !== 'suspended' && state !== 'running' && state !== 'pending';
}

/** Resolves with the next event that is stored from now on. */
async function nextEvent(
  engine: RunEngine,
  id: RunId,
  signal: AbortSignal | undefined,
  wanted: (event: ChainedEvent) => boolean = () => true,
): Promise<void> {
  let last = 0;
  for await (const { seq } of engine.events(id, { live: false })) last = seq;
  for await (const event of engine.events(id, { after: last, signal })) if (wanted(event)) return;
  signal?.throwIfAborted();
  if (!hasEnded(await engine.get(id)))
    throw new SluiceError('engine-closed', 'the engine was closed while a caller waited for the run');
}

function aborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise, stopped]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** Finds an open question by id, by node, or by the last part of a node inside a map or a sub-flow. */
async function findQuestion(engine: RunEngine, id: RunId, name: string): Promise<Waiting> {
  for (;;) {
    const open = await engine.approvals(id);
    const found =
      open.find((question) => question.id === name || question.node === name) ??
      open.find(({ node }) => node.split('/').at(-1) === name);
    if (found !== undefined) return found;
    const stop = new AbortController();
    const isSettled = await Promise.race([
      engine.wait(id).then(() => true),
      nextEvent(engine, id, stop.signal, isQuestion).then(
        () => false,
        () => false,
      ),
    ]).finally(() => stop.abort());
    if (!isSettled) continue;
    const now = await engine.approvals(id);
    if (now.some((question) => !open.some((known) => known.id === question.id))) continue;
    throw noQuestion(await engine.get(id), name, now);
  }
}

function isQuestion(event: ChainedEvent): boolean {
  return event.type === 'effect.requested' && event.question !== undefined;
}

function noQuestion(report: Report, name: string, open: readonly Waiting[]): SluiceError {
  const { run, state, code } = report;
  if (state === 'completed') return new SluiceError('run-ended', `run \`${run}\` has ended with ${code}`);
  if (state === 'failed' || state === 'cancelled') return new RunFailedError(report);
  const names = open.map(({ node }) => node);
  const asks = names.length === 0 ? 'The run asks nothing.' : `It asks ${names.join(', ')}.`;
  const help = didYouMean(name, names, asks);
  return new SluiceError('approval-not-found', `run \`${run}\` has no open question \`${name}\``, help);
}
