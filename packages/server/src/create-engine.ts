/** The engine of the published package: that of the library, with the routes of the server for a program's own. */
import type { Access, CallerProof, CreateEngineOptions, Engine as LibraryEngine } from '@sluice-internal/library';
import { openEngine } from '@sluice-internal/library/compose';

/**
 * Who sends a request, as the program knows it.
 * @example
 * const identity: Identity = { tenant: 'acme', person: null, access: ['operator'], proof: null };
 */
export interface Identity {
  readonly tenant: string | null;
  /** A person of `people`. Null: a program. */
  readonly person: string | null;
  readonly access: readonly Access[];
  /** The login of the person. Its fields must be those of the person's `login`. */
  readonly proof: CallerProof | null;
}

/**
 * Options of `engine.fetch`.
 * @example
 * const shop = { tenant: 'shop', person: null, access: ['operator'], proof: null } as const;
 * const options: FetchOptions = { prefix: '/agents', identify: () => shop, hostNames: ['app.example.com'] };
 */
export interface FetchOptions {
  /** Null refuses the request with 401. When it throws, the answer is 500, and nothing runs. */
  readonly identify: (request: Request) => Identity | null | Promise<Identity | null>;
  /** The path under which the routes lie, such as `/agents`. */
  readonly prefix?: string;
  /** Names of the host besides those of this machine, such as `app.example.com`. */
  readonly hostNames?: readonly string[];
  /** `outer`: the program checks host, origin, size and rate itself. */
  readonly trust?: 'outer';
}

/**
 * An engine: it starts runs, follows them, and answers their questions.
 * @example
 * const engine: Engine = createEngine();
 */
export interface Engine extends LibraryEngine {
  /**
   * The routes of `sluice serve` for a server of the program itself. The flows are those of the option `flows`.
   * @example
   * const shop = { tenant: 'shop', person: null, access: ['operator'], proof: null } as const;
   * const handle = (request: Request) => engine.fetch(request, { identify: () => shop });
   */
  fetch(request: Request, options: FetchOptions): Promise<Response>;
}

/**
 * Creates an engine. Call `close` when it is no longer needed, or declare it with `await using`.
 * @example
 * await using engine = createEngine({ models: { model: 'openai/gpt-5-mini' } });
 * const run = await engine.run(refunds, { message: 'money back' });
 * const { output } = await run.result();
 */
export function createEngine(options: CreateEngineOptions = {}): Engine {
  const composed = openEngine(options);
  const stop = new AbortController();
  let handler: Promise<(request: Request, options: FetchOptions) => Promise<Response>> | null = null;
  const close = async (): Promise<void> => {
    stop.abort();
    await composed.engine.close();
  };
  return {
    ...composed.engine,
    fetch: async (request, given) => {
      // Programs that never call it do not load the server.
      handler ??= import('./fetch.ts').then(({ fetchOf }) => fetchOf(composed, options, stop.signal));
      return (await handler)(request, given);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
