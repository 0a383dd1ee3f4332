/** The handle of a run on a server. */
import type { RunEvent, RunView } from '@sluice-internal/wire';
import { RunFailedError, SluiceError, type Report } from './errors.ts';
import type { Http } from './http.ts';
import { received } from './sse.ts';
import type { Question } from './question.ts';

/**
 * Options of `run.events`.
 * @example
 * const options: EventsOptions = { after: '12.0', text: true, signal: AbortSignal.timeout(5_000) };
 */
export interface EventsOptions {
  /** Only later events: the `id` of an earlier event. */
  readonly after?: string;
  /** Also text of replies while it is generated. */
  readonly text?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * A piece of a reply while it is generated. `from` is its place in the reply.
 * @example
 * for await (const event of run.events({ text: true })) if (event.type === 'model.text') show((event satisfies TextEvent).text);
 */
export interface TextEvent {
  readonly type: 'model.text';
  readonly run: string;
  readonly call: string;
  readonly from: number;
  readonly text: string;
}

/**
 * An event of a run: as in the library, or streamed text.
 * @example
 * const seen: ClientEvent[] = [];
 * for await (const event of run.events()) seen.push(event);
 */
export type ClientEvent =
  | Exclude<RunEvent, { readonly type: 'model.text' | 'model.reasoning' | 'model.arguments' }>
  | TextEvent;

interface Aborts {
  readonly signal?: AbortSignal;
}

/** How long the server may wait with an answer, in seconds. */
const WAIT_S = 30;

/**
 * The handle of a run on a server.
 * @example
 * const paid: Run<{ paid: number }> = sluice.run('r_1');
 * const { output } = await paid.result();
 * show(output.paid);
 */
export class Run<Output = unknown> {
  readonly id: string;
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, id: string) {
    this.id = id;
    this.#http = http;
    this.#path = `/runs/${encodeURIComponent(id)}`;
  }

  report({ signal }: Aborts = {}): Promise<Report<Output>> {
    return this.#http.json(this.#path, { signal });
  }

  /** The events from the beginning, then new ones until the run ends. A lost connection is made again, and no event comes twice. */
  async *events({ after, text = false, signal }: EventsOptions = {}): AsyncGenerator<ClientEvent, void> {
    const source = { path: `${this.#path}/events`, query: () => (text ? { text } : {}), after, signal };
    for await (const { event, data } of received(this.#http, source)) {
      if (event === 'run.event') yield data as ClientEvent;
      else if (event === 'text') yield { type: 'model.text', ...(data as Omit<TextEvent, 'type'>) };
    }
  }

  /** Resolves when the run has ended well. Throws a `RunFailedError` if it ended in another way, and waits while the run waits for a person. */
  async result({ signal, onQuestion = 'wait' }: Aborts & { readonly onQuestion?: 'wait' | 'throw' } = {}): Promise<
    Report<Output>
  > {
    for (;;) {
      const report: Report<Output> = await this.#http.json(this.#path, { query: { wait: WAIT_S }, signal });
      if (report.code === 'SUCCESS' || report.code === 'PARTIAL_SUCCESS') return report;
      if (report.state === 'completed' || report.state === 'failed' || report.state === 'cancelled')
        throw new RunFailedError(report);
      if (onQuestion === 'throw' && report.waiting.length > 0)
        throw new SluiceError('run-waits', `run \`${this.id}\` waits for a person`, {
          details: { waiting: report.waiting },
        });
    }
  }

  /** The view of the run after a journal event, by default after the last one. */
  state({ at, signal }: Aborts & { readonly at?: number } = {}): Promise<RunView> {
    return this.#http.json(`${this.#path}/state`, { query: { at }, signal });
  }

  async questions({ signal }: Aborts = {}): Promise<readonly Question[]> {
    const { waiting } = await this.report(signal === undefined ? {} : { signal });
    return waiting as readonly unknown[] as readonly Question[];
  }

  cancel(why?: string, { signal }: Aborts = {}): Promise<void> {
    return this.#post('cancel', { ...(why === undefined ? {} : { why }) }, signal);
  }

  /** A remark to the agents of the run, or to one of them. It reaches the next request of that agent. */
  guide(text: string, { agent, signal }: Aborts & { readonly agent?: string } = {}): Promise<void> {
    return this.#post('guidance', { text, ...(agent === undefined ? {} : { agent }) }, signal);
  }

  signal(name: string, data: unknown = null, { signal }: Aborts = {}): Promise<void> {
    return this.#post(`signals/${encodeURIComponent(name)}`, { data }, signal);
  }

  resume({ budget, signal }: Aborts & { readonly budget?: { readonly [name: string]: number } } = {}): Promise<void> {
    return this.#post('resume', budget === undefined ? {} : { budget }, signal);
  }

  /** A new run that goes on at the call that failed. */
  async retry({ signal }: Aborts = {}): Promise<Run<Output>> {
    const { run } = await this.#http.json<{ run: string }>(`${this.#path}/retry`, { method: 'POST', body: {}, signal });
    return new Run(this.#http, run);
  }

  /** A new run that shares the events of this one up to `at`. */
  async fork(
    edits: { readonly at: number; readonly [field: string]: unknown },
    { signal }: Aborts = {},
  ): Promise<Run<Output>> {
    const { run } = await this.#http.json<{ run: string }>(`${this.#path}/fork`, {
      method: 'POST',
      body: edits,
      signal,
    });
    return new Run(this.#http, run);
  }

  async #post(path: string, body: unknown, signal: AbortSignal | undefined): Promise<void> {
    await this.#http.send(`${this.#path}/${path}`, { method: 'POST', body, signal });
  }
}
