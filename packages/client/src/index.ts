/** `sluice/client`: a typed client of `sluice serve`. It needs `fetch` and nothing else. */
import type { InputFor, OutputFor } from '@sluice-internal/library/define';
import { Http, type ConnectOptions } from './http.ts';
import { Run } from './run.ts';
import { questionOf, type AskedQuestion, type Question } from './question.ts';
import { received } from './sse.ts';

export { RunFailedError, SluiceError } from './errors.ts';
export type { Report } from './errors.ts';
export type { ConnectOptions } from './http.ts';
export type { Answered, AnswerOptions, AskedQuestion, Question } from './question.ts';
export { Run } from './run.ts';
export type { ClientEvent, EventsOptions, TextEvent } from './run.ts';

export interface StartOptions {
  /** A second start with the same key gives the same run. */
  readonly key?: string;
  readonly user?: string;
  readonly deadline?: string;
  readonly seed?: number;
  readonly thread?: string;
  /** The name of a script in a served folder, of a server on this machine. */
  readonly script?: string;
  readonly signal?: AbortSignal;
}

export interface RunRow {
  readonly run: string;
  readonly flow: string;
  readonly status: string;
  readonly code: string | null;
  readonly costUsd: number | null;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly [field: string]: unknown;
}

export interface RunFilter {
  readonly status?: readonly string[];
  readonly flow?: string;
  readonly code?: string;
  readonly user?: string;
  readonly thread?: string;
  readonly since?: string;
  readonly until?: string;
  readonly parent?: string;
  readonly signal?: AbortSignal;
}

export interface Flow<Input, Output> {
  readonly id: string;
  start(input: Input, options?: StartOptions): Promise<Run<Output>>;
}

/** A change that `stream` tells: `topic` is `runs`, `questions`, `flows` or `run:ID`. */
export interface Change {
  readonly topic: string;
  readonly [field: string]: unknown;
}

export interface Client {
  flow<Defined>(id: string): Flow<unknown extends Defined ? unknown : InputFor<Defined>, OutputFor<Defined>>;
  run<Output = unknown>(id: string): Run<Output>;
  runs(filter?: RunFilter): AsyncGenerator<RunRow, void>;
  question(id: string, options?: { readonly signal?: AbortSignal }): Promise<AskedQuestion>;
  questions(options?: {
    readonly for?: 'me';
    readonly flow?: string;
    readonly signal?: AbortSignal;
  }): AsyncGenerator<Question, void>;
  /**
   * One connection for all topics. Resolves when the signal is aborted. The topic `run:ID@EVENT` goes on after an event. `place` is where
   * another stream goes on with `after`.
   */
  stream(
    topics: readonly string[],
    onChange: (change: Change, place: string | undefined) => void,
    options?: StreamOptions,
  ): Promise<void>;
  /** Calls a route that has no method here, such as `/metrics/summary`. The path begins after `/v1`. */
  request<Answer>(path: string, call?: RequestOptions): Promise<Answer>;
}

export interface StreamOptions {
  readonly signal?: AbortSignal;
  readonly after?: string;
  /** Called when the connection is open, and when it is lost. It is made again by itself. */
  readonly onConnection?: (isOpen: boolean) => void;
}

export interface RequestOptions {
  /** Default: `GET`. */
  readonly method?: string;
  readonly body?: unknown;
  readonly query?: { readonly [name: string]: unknown };
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal;
}

/**
 * Connects to a server. No request is made yet.
 * @example
 * const sluice = connect('http://127.0.0.1:4747', { token: 'slk_…' });
 * const run = await sluice.flow('refunds').start({ message: 'money back' }, { key: 'order-1042' });
 * const { output } = await run.result();
 * show(output);
 */
export function connect(url: string, options: ConnectOptions = {}): Client {
  const http = new Http(url, options);
  return {
    flow: <Defined>(id: string) => ({
      id,
      start: async (input: unknown, { key, signal, ...given }: StartOptions = {}) => {
        const path = `/flows/${encodeURIComponent(id)}/runs`;
        const headers: { [name: string]: string } = key === undefined ? {} : { 'idempotency-key': key };
        const { run } = await http.json<{ run: string }>(path, {
          method: 'POST',
          body: { input, ...given },
          headers,
          signal,
        });
        return new Run<OutputFor<Defined>>(http, run);
      },
    }),
    run: (id) => new Run(http, id),
    runs: ({ signal, ...filter } = {}) => http.pages('/runs', filter, signal),
    question: (id, { signal } = {}) => questionOf(http, id, signal),
    questions: ({ signal, ...filter } = {}) => http.pages('/questions', filter, signal),
    request: (path, call) => http.answer(path, call),
    stream: async (topics, onChange, { signal, after, onConnection } = {}) => {
      const last = new Map(topics.map((topic) => [topic.replace(/@.*/, ''), /@.*/.exec(topic)?.[0] ?? '']));
      const query = () => ({ topics: [...last].map(([topic, place]) => `${topic}${place}`).join() });
      try {
        for await (const { id, event, data } of received(http, {
          ...{ path: '/stream', query, after, signal, onConnection },
        })) {
          const change = data as Change;
          // A run goes on after the event that was read last.
          if (event === 'run.event') last.set(change.topic, `@${String(change['id'])}`);
          onChange(event === 'gap' ? { ...change, topic: 'gap' } : change, id);
        }
      } catch (error) {
        if (signal?.aborted !== true) throw error;
      }
    },
  };
}
