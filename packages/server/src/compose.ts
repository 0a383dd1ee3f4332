/** Puts a server together: one engine for runs without a script, and one for each script that is played. */
import { present } from '@sluice-internal/kernel/expr';
import { UNNAMED_SCRIPTS } from '@sluice-internal/kernel/catalog';
import { SluiceError, allOf, operate, update, valueAt } from '@sluice-internal/engine/ports';
import type { CompiledFlow, Pins } from '@sluice-internal/kernel/ir';
import type { Store } from '@sluice-internal/engine/ports';
import type { AttachmentStore, CreateEngineOptions, EngineView } from '@sluice-internal/library';
import { composeEngine, type Composed } from '@sluice-internal/library/compose';
import { definitionTools, loadScript } from '@sluice-internal/library/documents';
import { eraseRun, fileAt, openStore } from '@sluice-internal/library/host';
import { pinsOf, withDefinition } from '@sluice-internal/platform';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Flows, Folder } from './http/folder.ts';
import { LIMITS, Rates, Streams, type Limits } from './http/limits.ts';
import type { Services } from './http/services.ts';
import { Callers } from './auth/callers.ts';
import { Oidc, type OidcOptions } from './auth/oidc.ts';
import { Sessions } from './auth/sessions.ts';
import { Tokens, type TokenCells } from './auth/tokens.ts';
import type { Who } from './auth/who.ts';
import { Uploads } from './http/uploads.ts';

export interface ComposeOptions {
  readonly db: string;
  readonly folder: Folder;
  readonly cookie: string;
  readonly isLocal: boolean;
  /** Documents may be changed. */
  readonly dev?: boolean | undefined;
  readonly oidc?: OidcOptions | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly world?: Pick<CreateEngineOptions, 'models' | 'toolOptions'>;
  readonly onNotice: (message: string) => void;
  readonly stopping: AbortSignal;
}

export interface ComposedServer {
  readonly services: Services;
  /** Documents that change from now on are read again. */
  watch(): void;
  close(): Promise<void>;
}

export function composeServer(options: ComposeOptions): ComposedServer {
  const { db, folder, cookie, isLocal, dev = false, oidc, world, onNotice, stopping } = options;
  const engines = new Engines(db, { ...world, onNotice }, (flow) => placesOf(folder, flow));
  const { store, main } = engines;
  const file = fileAt(db);
  const services: Services = {
    ...servicesOf({ store, folder, oidc, limits: options.limits, attachments: main.attachments }),
    ...{ isLocal, stopping, cookie },
    erase: file === undefined && store.attachments === undefined ? null : (run, by) => eraseRun(store, file, run, by),
    write: dev && isLocal ? (served, text) => folder.write(served, text) : undefined,
    view: async (who, script) => viewOf(engines.of(script), who),
    viewOf: async (who, run) => {
      const view = viewOf(main, who);
      if ((await view.find(run)) === null) return view;
      const script = (await view.read(run)).state.origin.pins?.script;
      return script === undefined || script in UNNAMED_SCRIPTS ? view : viewOf(engines.of(script), who);
    },
  };
  const rehearsals = new Rehearsals(engines, stopping);
  // A network store has no file beside it that another process of this user reads.
  if (store.reach === 'network') main.servers.own();
  return {
    services,
    watch: () => {
      folder.watch();
      // A server of a network plays no scripts.
      if (isLocal) rehearsals.begin();
    },
    close: async () => {
      folder.close();
      await rehearsals.end();
      await engines.close();
    },
  };
}

interface Served {
  readonly store: Store;
  readonly folder: Flows;
  readonly oidc: OidcOptions | undefined;
  readonly limits: Partial<Limits> | undefined;
  readonly attachments: AttachmentStore;
}

/** What every server has, whatever its engines are. */
export function servicesOf({
  store,
  folder,
  oidc: issuer,
  limits: given,
  attachments,
}: Served): Omit<Services, 'view' | 'viewOf' | 'erase' | 'isLocal' | 'stopping' | 'cookie'> {
  const limits = { ...LIMITS, ...given };
  const tokens = new Tokens(cellsOf(store));
  const sessions = new Sessions();
  const oidc = issuer === undefined ? null : new Oidc(issuer);
  const callers = new Callers({ tokens, sessions, oidc, peopleOf: (login) => folder.peopleOf(login) });
  return {
    ...{ store, folder, limits, tokens, sessions, oidc, callers, attachments },
    uploads: new Uploads(attachments, store),
    counters: { requests: new Map() },
    turns: new Map(),
    health: { fullAt: 0 },
    rates: new Rates(limits),
    streams: new Streams(limits),
  };
}

export function viewOf({ engine }: Pick<Composed, 'engine'>, { tenant, person, access, proof }: Who): EngineView {
  return engine.as({
    access,
    ...present({ tenant: tenant ?? undefined, person: person ?? undefined }),
    proof,
  });
}

type Placed = (flow: CompiledFlow) => Pins | undefined;

/** Files beside a document are found from its folder, and its code is pinned. */
function placesOf(folder: Folder, { hash }: CompiledFlow): Pins | undefined {
  const { compiled, path } = folder.withHash(hash) ?? {};
  const flow = compiled?.result.flow;
  if (flow === undefined || path === undefined) return undefined;
  const places = pinsOf(flow, { documentDir: dirname(path), workDir: undefined });
  const names = Object.keys(compiled?.definition?.tools ?? {});
  return names.length === 0 ? places : withDefinition(places, path, names);
}

/** The engine of real runs, and those of scripts: they share the database, and each runs in its own world. */
class Engines {
  readonly main: Composed;
  readonly store: Store;
  readonly #db: string;
  readonly #world: Pick<CreateEngineOptions, 'models' | 'toolOptions' | 'onNotice'>;
  readonly #placed: Placed;
  readonly #scripted = new Map<string, Composed>();
  /** The same by file, so that a start does not read it again. */
  readonly #files = new Map<string, Composed>();

  constructor(db: string, world: Pick<CreateEngineOptions, 'models' | 'toolOptions' | 'onNotice'>, placed: Placed) {
    this.#db = db;
    this.#placed = placed;
    this.#world = world;
    this.store = openStore(db, present({ onNotice: world.onNotice }));
    const models = { stream: true, ...world.models };
    this.main = composeEngine(
      { ...world, models, journal: db, pickUp: true },
      { store: this.store, flowTools: definitionTools, placed },
    );
  }

  /** A script that was changed since is another script. */
  of(script: string | undefined): Composed {
    if (script === undefined) return this.main;
    // A script that is not there is named by `loadScript`.
    const file = statSync(script, { throwIfNoEntry: false });
    const version = `${script} ${file?.mtimeMs} ${file?.size}`;
    const known = this.#files.get(version);
    if (known !== undefined) return known;
    const played = loadScript(script);
    const key = JSON.stringify(played);
    const made = this.#scripted.get(key) ?? this.#made(played);
    this.#scripted.set(key, made);
    this.#files.set(version, made);
    return made;
  }

  #made(played: ReturnType<typeof loadScript>): Composed {
    const { models: _, ...world } = this.#world;
    return composeEngine(
      { ...world, script: played, journal: this.#db, pickUp: false },
      { flowTools: definitionTools, placed: this.#placed },
    );
  }

  async close(): Promise<void> {
    for (const { engine } of [...this.#scripted.values(), this.main]) await engine.close();
  }
}

/**
 * Runs of scripts that were under way when their server was killed. The engine of real runs must not take them, and that of a script takes
 * only those that it is given.
 */
class Rehearsals {
  readonly #engines: Engines;
  readonly #stopping: AbortSignal;
  #work: Promise<void> = Promise.resolve();

  constructor(engines: Engines, stopping: AbortSignal) {
    this.#engines = engines;
    this.#stopping = stopping;
  }

  begin(): void {
    this.#work = this.#goOn().catch(() => undefined);
  }

  end(): Promise<void> {
    return this.#work;
  }

  /** A run that another process still owns is tried again until its lease is over. */
  async #goOn(): Promise<void> {
    let left = await this.#interrupted();
    for (let tried = 0; left.length > 0 && tried < TRIES && !this.#stopping.aborted; tried += 1) {
      if (tried > 0) await pause(AGAIN_MS, this.#stopping);
      const again: string[] = [];
      for (const run of left) if (!(await this.#resumed(run))) again.push(run);
      left = again;
    }
  }

  async #interrupted(): Promise<readonly string[]> {
    const { index } = this.#engines.store;
    const open = await allOf((page) => index.list({ ...page, status: ['pending', 'running', 'suspended'] }));
    // A run that waits for a person alone goes on with the answer.
    return open.flatMap(({ run, status, due }) => (status === 'suspended' && due === null ? [] : [run]));
  }

  async #resumed(run: string): Promise<boolean> {
    try {
      const { state } = await this.#engines.main.runtime.read(run);
      const script = state.origin.pins?.script;
      if (script === undefined || script in UNNAMED_SCRIPTS || state.outcome !== null) return true;
      await this.#engines.of(script).engine.resume(run);
      return true;
    } catch (error) {
      return !(error instanceof SluiceError && error.code === 'lease-lost');
    }
  }
}

const TRIES = 60;
const AGAIN_MS = 500;

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

function cellsOf({ shared }: Store): TokenCells {
  return {
    read: (key) => valueAt(shared, key),
    change: (act, change) => operate(shared, { at: Date.now(), ...act }, change),
    note: (key, change) => update(shared, key, (value) => [change(value), undefined]),
  };
}

/** The tokens of a database, for the command. */
export async function withTokens<Result>(db: string, use: (tokens: Tokens) => Promise<Result>): Promise<Result> {
  const store = openStore(db);
  try {
    await store.ready?.();
    return await use(new Tokens(cellsOf(store)));
  } finally {
    await store.close();
  }
}
