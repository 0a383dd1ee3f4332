/** Puts a server together: one engine for runs without a script, and one for each script that is played. */
import { present } from '@sluice-internal/kernel/expr';
import { UNNAMED_SCRIPTS } from '@sluice-internal/kernel/catalog';
import { operate, update, valueAt } from '@sluice-internal/engine/ports';
import type { CompiledFlow, Pins } from '@sluice-internal/kernel/ir';
import type { Store } from '@sluice-internal/engine/ports';
import type { CreateEngineOptions, EngineView } from '@sluice-internal/library';
import { composeEngine, type Composed } from '@sluice-internal/library/compose';
import { definitionTools, loadScript } from '@sluice-internal/library/documents';
import { openStore } from '@sluice-internal/library/host';
import { pinsOf, withDefinition } from '@sluice-internal/platform';
import { dirname } from 'node:path';
import { Changes } from './http/changes.ts';
import type { Folder } from './http/folder.ts';
import { LIMITS, Rates, Streams, type Limits } from './http/limits.ts';
import type { Services } from './http/services.ts';
import { Oidc, type OidcOptions } from './auth/oidc.ts';
import { Sessions } from './auth/sessions.ts';
import { Tokens, type TokenCells } from './auth/tokens.ts';
import type { Who } from './auth/who.ts';

export interface ComposeOptions {
  readonly db: string;
  readonly folder: Folder;
  readonly cookie: string;
  readonly isLocal: boolean;
  readonly oidc?: OidcOptions | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly world?: Pick<CreateEngineOptions, 'models' | 'toolOptions'>;
  readonly onNotice: (message: string) => void;
  readonly stopping: AbortSignal;
}

export interface ComposedServer {
  readonly services: Services;
  close(): Promise<void>;
}

export function composeServer(options: ComposeOptions): ComposedServer {
  const { db, folder, cookie, isLocal, oidc, world, onNotice, stopping } = options;
  const limits = { ...LIMITS, ...options.limits };
  const engines = new Engines(db, { ...world, onNotice }, (flow) => placesOf(folder, flow));
  const { store } = engines;
  const tokens = new Tokens(cellsOf(store));
  const changes = new Changes(async (changedSince) => (await store.index.list({ changedSince, limit: 1000 })).items);
  const off = folder.onChange((ids) => changes.flowsChanged(ids));
  const services: Services = {
    ...{ folder, tokens, limits, changes, isLocal, stopping, cookie, store },
    attachments: engines.main.attachments,
    counters: { requests: new Map() },
    sessions: new Sessions(),
    oidc: oidc === undefined ? null : new Oidc(oidc, (login) => personOf(folder, login)),
    rates: new Rates(limits),
    streams: new Streams(limits),
    view: async (who, script) => viewOf(engines.of(script), who),
    viewOf: async (who, run) => {
      const view = viewOf(engines.main, who);
      if ((await view.find(run)) === null) return view;
      const script = (await view.read(run)).state.origin.pins?.script;
      return script === undefined || script in UNNAMED_SCRIPTS ? view : viewOf(engines.of(script), who);
    },
  };
  return {
    services,
    close: async () => {
      off();
      changes.close();
      folder.close();
      await engines.close();
    },
  };
}

function viewOf({ engine }: Composed, { tenant, person, access, proof }: Who): EngineView {
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

/** The person whose `login` is this one. */
function personOf(folder: Folder, login: string): string | null {
  for (const { compiled } of folder.list)
    for (const [id, person] of Object.entries(compiled.result.flow?.people ?? {}))
      if (person.login === login) return id;
  return null;
}

/** The engine of real runs, and those of scripts: they share the database, and each runs in its own world. */
class Engines {
  readonly main: Composed;
  readonly store: Store;
  readonly #db: string;
  readonly #world: Pick<CreateEngineOptions, 'models' | 'toolOptions' | 'onNotice'>;
  readonly #placed: Placed;
  readonly #scripted = new Map<string, Composed>();

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

  of(script: string | undefined): Composed {
    if (script === undefined) return this.main;
    let found = this.#scripted.get(script);
    if (found === undefined) {
      const played = loadScript(script);
      const { models: _, ...world } = this.#world;
      found = composeEngine(
        { ...world, script: played, journal: this.#db, pickUp: false },
        { flowTools: definitionTools, placed: this.#placed },
      );
      this.#scripted.set(script, found);
    }
    return found;
  }

  async close(): Promise<void> {
    for (const { engine } of [...this.#scripted.values(), this.main]) await engine.close();
  }
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
    return await use(new Tokens(cellsOf(store)));
  } finally {
    await store.close();
  }
}
