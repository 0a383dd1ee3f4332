/**
 * The changes of everything that a caller may see, for pages that show lists. All readers share one look at the database; each keeps only
 * the last state of what it has not read yet, so a reader that stopped does not make it grow.
 */
import type { ListedRun } from '@sluice-internal/engine/ports';
import type { EngineView, RunEvent } from '@sluice-internal/library';
import { Refusal } from './problem.ts';
import { redactedEvent } from './content.ts';
import { rowOf } from './rows.ts';
import type { SentEvent } from './sse.ts';
import type { Who } from '../auth/who.ts';

export interface ChangeRequest {
  readonly view: EngineView;
  readonly who: Who;
  readonly topics: readonly string[];
  readonly signal: AbortSignal;
  readonly after?: string;
}

/** What waits for a reader: above this it gets a `gap`, and reads its lists again. */
const WAITING_MAX = 1000;
const RUN_TOPIC = /^run:(.+)$/;

/** Looks for runs that changed since an instant. */
export type Look = (since: number) => Promise<readonly ListedRun[]>;

interface Reader {
  readonly topics: ReadonlySet<string>;
  readonly owns: (run: ListedRun) => boolean;
  readonly waiting: Map<string, SentEvent>;
  lost: boolean;
  wake: () => void;
}

export class Changes {
  readonly #readers = new Set<Reader>();
  readonly #look: Look;
  readonly #pollMs: number;
  /** The last state that was told of each run that changed lately. */
  #told = new Map<string, string>();
  #since = Date.now();
  #cursor = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(look: Look, pollMs = 100) {
    this.#look = look;
    this.#pollMs = pollMs;
  }

  /** Tells that documents have changed. */
  flowsChanged(ids: readonly string[]): void {
    for (const reader of this.#readers)
      if (reader.topics.has('flows'))
        this.#put(reader, 'flows', { id: this.#next(0), event: 'flows', data: { topic: 'flows', flows: ids } });
  }

  /** Throws before the first event if a topic is wrong. */
  async read({ view, who, topics, signal, after }: ChangeRequest): Promise<AsyncGenerator<SentEvent, void>> {
    for (const topic of topics)
      if (topic !== 'runs' && topic !== 'questions' && topic !== 'flows' && !RUN_TOPIC.test(topic))
        throw new Refusal('bad-request', `\`${topic}\` is no topic`, {
          help: 'The topics: runs, questions, flows, run:ID.',
        });
    const runs = topics.flatMap((topic) => RUN_TOPIC.exec(topic)?.[1] ?? []);
    const handles = await Promise.all(runs.map((run) => view.open(run)));
    const reader: Reader = {
      ...{ topics: new Set(topics), waiting: new Map(), lost: after !== undefined, wake: () => undefined },
      owns: ({ tenant }) => tenant === who.tenant,
    };
    const shown = (event: RunEvent): RunEvent => (who.content ? event : redactedEvent(event));
    const own = handles.map((handle) => follow(handle.events({ signal }), handle.id, shown));
    return this.#events(reader, own, signal);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async *#events(
    reader: Reader,
    own: readonly AsyncGenerator<SentEvent, void>[],
    signal: AbortSignal,
  ): AsyncGenerator<SentEvent, void> {
    this.#readers.add(reader);
    this.#start();
    const onAbort = (): void => reader.wake();
    signal.addEventListener('abort', onAbort, { once: true });
    const next = new Map(own.map((source) => [source, source.next()]));
    try {
      while (!signal.aborted) {
        if (reader.lost) {
          reader.lost = false;
          yield { id: this.#next(0), event: 'gap', data: { after: null } };
        }
        const waiting = [...reader.waiting.values()];
        reader.waiting.clear();
        for (const event of waiting) yield event;
        if (reader.waiting.size > 0 || reader.lost) continue;
        const woken = new Promise<null>((resolve) => (reader.wake = () => resolve(null)));
        const first = await Promise.race([
          woken,
          ...[...next].map(async ([source, result]) => ({ source, result: await result })),
        ]);
        if (first === null) continue;
        if (first.result.done === true) next.delete(first.source);
        else {
          next.set(first.source, first.source.next());
          yield { ...first.result.value, id: this.#next(1) };
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#readers.delete(reader);
      for (const source of own) void source.return();
    }
  }

  #next(index: number): string {
    return `c:${this.#cursor}.${index}`;
  }

  #put(reader: Reader, key: string, event: SentEvent): void {
    if (reader.waiting.size >= WAITING_MAX) {
      reader.waiting.clear();
      reader.lost = true;
    } else reader.waiting.set(key, event);
    reader.wake();
  }

  #start(): void {
    if (this.#timer !== undefined || this.#isLooking) return;
    this.#since = Date.now();
    this.#schedule();
  }

  /** Nobody reads: nothing is looked at. */
  #schedule(): void {
    this.#timer = this.#readers.size === 0 ? undefined : setTimeout(() => void this.#poll(), this.#pollMs);
  }

  async #poll(): Promise<void> {
    this.#isLooking = true;
    try {
      // A commit may carry a time a little before the last look.
      const from = this.#since - 2000;
      this.#since = Date.now();
      for (const run of (await this.#look(from)).toReversed()) this.#tell(run);
    } catch {
      // The database is away for a moment; the next look sees what was missed.
    } finally {
      this.#isLooking = false;
      this.#schedule();
    }
  }

  #tell(run: ListedRun): void {
    const row = rowOf(run);
    const text = JSON.stringify(row);
    if (this.#told.get(run.run) === text) return;
    const questions = run.facts?.questions ?? 0;
    const before = this.#told.get(run.run);
    this.#told.set(run.run, text);
    if (this.#told.size > FORGET_AT) this.#told = new Map([...this.#told].slice(FORGET_AT / 2));
    this.#cursor += 1;
    const hadQuestions = before === undefined || !before.includes('"questions":0');
    for (const reader of this.#readers) {
      if (!reader.owns(run)) continue;
      if (reader.topics.has('runs'))
        this.#put(reader, `runs ${run.run}`, { id: this.#next(0), event: 'runs', data: { topic: 'runs', ...row } });
      if (reader.topics.has('questions') && (questions > 0 || hadQuestions))
        this.#put(reader, `questions ${run.run}`, {
          id: this.#next(1),
          event: 'questions',
          data: { topic: 'questions', run: run.run, open: questions },
        });
    }
  }
}

const FORGET_AT = 10_000;

async function* follow(
  events: AsyncIterable<RunEvent>,
  run: string,
  shown: (event: RunEvent) => RunEvent,
): AsyncGenerator<SentEvent, void> {
  for await (const event of events) {
    const topic = `run:${run}`;
    const { type } = event;
    if (type === 'model.text') yield { event: 'text', data: { topic, run, call: event.call, text: event.text } };
    else if (type !== 'model.reasoning' && type !== 'model.arguments')
      yield { event: 'run.event', data: { topic, ...shown(event) } };
  }
}
