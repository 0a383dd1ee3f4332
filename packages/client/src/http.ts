/** Requests to a server, with the token of the caller. Nothing but `fetch` is used, so the client runs wherever it exists. */
import { SluiceError, errorOf } from './errors.ts';
import { VERSION } from './version.ts';

/**
 * Options of `connect`.
 * @example
 * const options: ConnectOptions = { token: async () => 'slk_…' };
 */
export interface ConnectOptions {
  /** The token, or a function that gives the current one. A page of the server itself has a cookie and needs none. */
  readonly token?: string | (() => string | Promise<string>);
  /** Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Ends everything that this client does. */
  readonly signal?: AbortSignal;
}

export interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly query?: { readonly [name: string]: unknown };
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
}

export class Http {
  readonly #base: string;
  readonly #options: ConnectOptions;

  constructor(base: string, options: ConnectOptions) {
    this.#base = `${base.replace(/\/+$/, '')}/v1`;
    this.#options = options;
  }

  async json<Answer>(path: string, call: Call = {}): Promise<Answer> {
    const response = await this.send(path, call);
    return (await response.json()) as Answer;
  }

  /** As the answer is: JSON, text, or nothing. */
  async answer<Answer>(path: string, call: Call = {}): Promise<Answer> {
    const response = await this.send(path, call);
    const text = await response.text();
    return (/json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text) as Answer;
  }

  /** Rejects with the problem of the server, or with `unreachable`. */
  async send(path: string, { method = 'GET', body, query = {}, headers = {}, signal }: Call): Promise<Response> {
    const { token, fetch: send = globalThis.fetch } = this.#options;
    const secret = typeof token === 'function' ? await token() : token;
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join() : String(value)] as [string, string]],
    );
    const url = `${this.#base}${path}${given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`}`;
    const response = await send(url, {
      method,
      headers: {
        'sluice-version': VERSION,
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: anyOf(signal, this.#options.signal) ?? null,
    }).catch((cause: unknown) => {
      signal?.throwIfAborted();
      this.#options.signal?.throwIfAborted();
      throw new SluiceError('unreachable', `there is no server at ${this.#base}`, {
        cause,
        help: 'Start one with `sluice serve`.',
      });
    });
    if (response.ok) return response;
    throw await errorOf(response);
  }

  /** The items of all pages. */
  async *pages<Item>(
    path: string,
    query: { readonly [name: string]: unknown },
    signal?: AbortSignal,
  ): AsyncGenerator<Item, void> {
    let cursor: string | null | undefined;
    do {
      const page: { items: readonly Item[]; next: string | null } = await this.json(path, {
        query: { ...query, cursor },
        signal,
      });
      yield* page.items;
      cursor = page.next;
    } while (cursor !== null);
  }
}

function anyOf(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one === undefined || other === undefined ? (one ?? other) : AbortSignal.any([one, other]);
}

/** Resolves after a time, or rejects when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
