/**
 * The changes of everything that a caller may see, for pages that show lists: one stream for all topics. Changes are read from the feed of
 * the engine, so a reader that comes back with its last id misses nothing, and one that stops reading makes nothing grow.
 */
import { present } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { ListedRun, RunChange, Store } from '@sluice-internal/engine/ports';
import type { EngineView, RunEvent } from '@sluice-internal/library';
import { Refusal } from './problem.ts';
import { redactedEvent } from './content.ts';
import { rowOf } from './rows.ts';
import type { SentEvent } from './sse.ts';
import type { Who } from '../auth/who.ts';

export interface ChangeRequest {
  readonly store: Store;
  readonly view: EngineView;
  readonly who: Who;
  readonly topics: readonly string[];
  readonly signal: AbortSignal;
  readonly after?: string;
  /** Calls back when documents have changed, until the result is called. */
  readonly onFlows: (told: (ids: readonly string[]) => void) => () => void;
}

/** Changes of this time are told together: of each run only the last one. */
const TOGETHER_MS = 100;
const TOGETHER_MAX = 1000;
const RUNS_MAX = 20;
const TOPICS = new Set(['runs', 'questions', 'flows']);
const RUN_TOPIC = /^run:([^@]+)(?:@(\d+(?:\.\d+)?))?$/;
const ID = /^c:(.*)\.\d+$/;

/** Throws before the first event if a topic is wrong. */
export async function changesOf(request: ChangeRequest): Promise<AsyncGenerator<SentEvent, void>> {
  const { store, view, topics, after } = request;
  const runs = topics.flatMap((topic) => runIn(topic) ?? []);
  if (runs.length > RUNS_MAX) throw new Refusal('bad-request', `a stream has at most ${RUNS_MAX} topics \`run:ID\``);
  const handles = await Promise.all(
    runs.map(async ({ run, from }) => ({ handle: await view.open(run), from, isBack: after !== undefined })),
  );
  const now = (await store.journal.changes(null, 0)).next;
  const place = ID.exec(after ?? '')?.[1] ?? null;
  const isLost = after !== undefined && (place === null || !(await isPlace(store, place)));
  const start = place === null || isLost ? now : place;
  const sources = [
    ...(topics.includes('runs') || topics.includes('questions') ? [listChanges(request, start)] : []),
    ...(topics.includes('flows') ? [flowChanges(request)] : []),
    ...handles.map((each) => runChanges(request, each)),
  ];
  return merged(sources, { start, isLost, signal: request.signal });
}

function runIn(topic: string): { readonly run: string; readonly from: string | undefined } | null {
  const [, run, from] = RUN_TOPIC.exec(topic) ?? [];
  if (run !== undefined) return { run, from };
  if (TOPICS.has(topic)) return null;
  throw new Refusal('bad-request', `\`${topic.slice(0, 100)}\` is no topic`, {
    help: 'The topics: runs, questions, flows, run:ID.',
  });
}

async function isPlace(store: Store, place: string): Promise<boolean> {
  try {
    await store.journal.changes(place, 1);
    return true;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'bad-cursor') return false;
    throw error;
  }
}

interface Merging {
  readonly start: string;
  /** The place of the reader is not known: it reads its lists again. */
  readonly isLost: boolean;
  readonly signal: AbortSignal;
}

/** The next event of each source is asked for when its last one was taken. */
async function* merged(
  sources: readonly AsyncGenerator<SentEvent, void>[],
  { start, isLost, signal }: Merging,
): AsyncGenerator<SentEvent, void> {
  const { promise: stopped, resolve } = Promise.withResolvers<null>();
  const onAbort = (): void => resolve(null);
  signal.addEventListener('abort', onAbort, { once: true });
  const nextOf = async (source: AsyncGenerator<SentEvent, void>) => ({ source, result: await source.next() });
  const next = new Map(sources.map((source) => [source, nextOf(source)]));
  let place = start;
  let index = 0;
  try {
    // A reader that loses its connection before the first change has a place to come back to.
    yield isLost ? { id: `c:${start}.0`, event: 'gap', data: { after: null } } : { id: `c:${start}.0` };
    while (!signal.aborted) {
      const first = await Promise.race([stopped, ...next.values()]);
      if (first === null) return;
      const { source, result } = first;
      if (result.done === true) next.delete(source);
      else {
        next.set(source, nextOf(source));
        const { id, ...event } = result.value;
        index = id === undefined || id === place ? index + 1 : 0;
        place = id ?? place;
        yield { id: `c:${place}.${index}`, ...event };
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const [source, result] of next) {
      result.catch(() => undefined);
      void source.return();
    }
  }
}

/** The last state of each run that changed. The id is the place of the change. */
async function* listChanges(
  { store, view, who, topics, signal }: ChangeRequest,
  after: string,
): AsyncGenerator<SentEvent, void> {
  const feed = view.feed({ after, signal })[Symbol.asyncIterator]();
  const open = new Map<string, number>();
  let next = feed.next();
  for (;;) {
    const first = await next;
    if (first.done === true) return;
    const changed = new Map([[first.value.run, first.value]]);
    await pause(TOGETHER_MS, signal);
    next = feed.next();
    for (let more = await ready(next); more !== null && changed.size < TOGETHER_MAX; more = await ready(next)) {
      // Runs stay in the order of their last change, so that the place of a reader is never before a change that it lacks.
      changed.delete(more.run);
      changed.set(more.run, more);
      next = feed.next();
    }
    for (const change of changed.values())
      yield* toldOf(await rowFor(store, change), change, { topics, open, content: who.content });
  }
}

function* toldOf(
  run: ListedRun | null,
  { cursor }: RunChange,
  {
    topics,
    open,
    content,
  }: { readonly topics: readonly string[]; readonly open: Map<string, number>; readonly content: boolean },
): Generator<SentEvent, void> {
  // The run was removed since.
  if (run === null) return;
  const questions = run.facts?.questions ?? 0;
  const hadQuestions = open.get(run.run) ?? 0;
  if (topics.includes('questions') && (questions > 0 || hadQuestions !== questions))
    yield { event: 'questions', data: { topic: 'questions', run: run.run, open: questions } };
  if (questions > 0) open.set(run.run, questions);
  else open.delete(run.run);
  if (topics.includes('runs')) yield { id: cursor, event: 'runs', data: { topic: 'runs', ...rowOf(run, content) } };
  else yield { id: cursor };
}

async function rowFor({ index }: Store, { run, tenant }: RunChange): Promise<ListedRun | null> {
  const { items } = await index.list({ prefix: run, tenant, limit: 10 });
  return items.find((each) => each.run === run) ?? null;
}

/** The value, if it is there already. */
async function ready(next: Promise<IteratorResult<RunChange>>): Promise<RunChange | null> {
  let timer: NodeJS.Immediate | undefined;
  const none = new Promise<null>((resolve) => {
    timer = setImmediate(() => setImmediate(() => resolve(null)));
  });
  const result = await Promise.race([next, none]);
  clearImmediate(timer);
  return result === null || result.done === true ? null : result.value;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

async function* flowChanges({ onFlows, signal }: ChangeRequest): AsyncGenerator<SentEvent, void> {
  const changed = new Set<string>();
  let wake = (): void => undefined;
  const off = onFlows((ids) => {
    for (const id of ids) changed.add(id);
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      if (changed.size === 0) await new Promise<void>((resolve) => (wake = resolve));
      const flows = [...changed];
      changed.clear();
      if (flows.length > 0) yield { event: 'flows', data: { topic: 'flows', flows } };
    }
  } finally {
    off();
    signal.removeEventListener('abort', onAbort);
  }
}

interface Followed {
  readonly handle: Awaited<ReturnType<EngineView['open']>>;
  /** The last event that the reader has. */
  readonly from: string | undefined;
  /** The reader was here before. */
  readonly isBack: boolean;
}

/** Their own ids are in the data. A reader that comes back names its last event: `run:ID@12.0`. */
async function* runChanges(
  { who, signal }: ChangeRequest,
  { handle, from, isBack }: Followed,
): AsyncGenerator<SentEvent, void> {
  const topic = `run:${handle.id}`;
  if (isBack && from === undefined) yield { event: 'gap', data: { run: handle.id, after: null } };
  const shown = (event: RunEvent): RunEvent => (who.content ? event : redactedEvent(event));
  for await (const event of handle.events({ signal, ...present({ after: from }) })) {
    if (event.type === 'model.text') {
      const { call, text, from: place } = event;
      if (who.content) yield { event: 'text', data: { topic, run: handle.id, call, from: place, text } };
    } else if (event.type !== 'model.reasoning' && event.type !== 'model.arguments')
      yield { event: 'run.event', data: { topic, ...shown(event) } };
  }
}
