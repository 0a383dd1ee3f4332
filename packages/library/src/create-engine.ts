/** `createEngine`: an engine with a journal and a world. Every option has a default. */
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { UNNAMED_SCRIPTS } from '@sluice-internal/kernel/catalog';
import type { RunInput, ToolFunction } from '@sluice-internal/tools/calls';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Origin, Pins, RunId } from '@sluice-internal/kernel/ir';
import { OPTIONS, SluiceError, newRunId, refuseEmpty } from '@sluice-internal/engine/ports';
import type {
  AttachmentStore,
  Call,
  Engine as Runtime,
  EngineOptions,
  Meaning,
  OpenedRun,
  StartOptions,
  Store,
} from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { systemFolderAt } from '@sluice-internal/platform';
import { createSigner } from '@sluice-internal/engine/journal';
import { suggestionOf } from '@sluice-internal/compile/source';
import type { Diagnostic } from '@sluice-internal/compile/source';
import { checkedGrant } from './host/budget-grant.ts';
import type { CallOfTool, FlowTools } from './host/functions.ts';
import type { Script } from './host/scripted/script.ts';
import type { World, WorldOptions } from './host/world.ts';
import { fileAt } from './host/location.ts';
import { openStore } from './host/open-store.ts';
import { forTenant } from './host/tenant.ts';
export type { Engine } from './engine.ts';
import { viewAs } from './as.ts';
import type { Compiled, Engine, OpenOptions, RunOptions } from './engine.ts';
import { compile } from './compile.ts';
import { checkedInput, isDefinition } from './define/definition.ts';
import type { AnyDefinition } from './define/definition.ts';
import { CompileError } from './host/errors.ts';
import { createRun, type Run } from './run.ts';
import { fork } from './host/fork.ts';
import { retry } from './host/retry.ts';
import { migrate } from './host/migrate/migrate.ts';
import { retentionOptions } from './host/retention.ts';
import { ServerKeys } from './host/server-keys.ts';
import { signingFor } from './host/signing.ts';
import { stateAt } from './host/run-state.ts';
import { Stories } from './host/stories.ts';
import { scriptPin } from './host/recorded-script.ts';
import { requireReady } from './host/ready.ts';
import { readScriptObject } from './host/script.ts';
import { worldBeside } from './host/world-beside.ts';
import { worstCases } from './host/worst-case.ts';

/**
 * Options of `createEngine`.
 * @example
 * const options: CreateEngineOptions = { journal: './runs.db', models: { model: 'openai/gpt-5-mini' } };
 */
export interface CreateEngineOptions
  extends
    Omit<EngineOptions, 'store' | 'performer' | 'clock' | 'checkOrigin' | 'trustedServers'>,
    Omit<WorldOptions, 'flowTools' | 'script'> {
  /** Stores the runs: the path of a database file, `postgres://…`, or an open store. Default: `.sluice/sluice.db`. */
  readonly journal?: string | Store;
  /** Definitions whose runs this engine may continue after a restart: it needs their functions. */
  readonly flows?: readonly AnyDefinition[];
  /**
   * Scripted replies, tool results and answers. A tool that the script does not name is really called. Without a script, the
   * engine leaves alone runs that started with one, also by `sluice run --script`. With `false` it continues them with real models and tools.
   */
  readonly script?: Script | false;
  /** Every run starts for this tenant, and the runs of others do not exist for this engine. */
  readonly tenant?: string;
  /** An Ed25519 private key as PKCS8 PEM: the engine signs checkpoints of every run. Default: `SLUICE_SIGNING_KEY`. */
  readonly signingKey?: string;
  /**
   * An Ed25519 private key as PKCS8 PEM: views with a login vouch with it for the answers of their person. Default: `SLUICE_SERVER_KEY`,
   * then the file `server.key` beside the database, which is made on the first use.
   */
  readonly serverKey?: string;
}

/**
 * Creates an engine. Call `close` when it is no longer needed, or declare it with `await using`.
 * @example
 * await using engine = createEngine({ models: { model: 'openai/gpt-5-mini' } });
 * const run = await engine.run(refunds, { message: 'money back' });
 * const { output } = await run.result();
 */
export function createEngine(options: CreateEngineOptions = {}): Engine {
  return openEngine(options).engine;
}

/** As `createEngine`, with the parts for a surface. */
export function openEngine(options: CreateEngineOptions): Composed {
  refuseUnknown(options, ENGINE_OPTIONS, '`createEngine`');
  const { script, ...others } = options;
  // Any other value that is no script is refused as a script.
  refuseEmpty('createEngine', script === undefined ? options : others);
  refuseEmpty('toolOptions', options.toolOptions ?? {});
  refuseSystemFolder(options.toolOptions?.workDir);
  return composeEngine(options);
}

/** Agents write in this folder. */
function refuseSystemFolder(workDir: string | undefined): void {
  const system = workDir === undefined ? null : systemFolderAt(workDir);
  if (system === null) return;
  const message = `\`workDir\` is the folder that agents write in, and \`${workDir}\` is in or contains a folder of the system: \`${system}\``;
  throw new SluiceError('bad-start', message, 'Name a folder of its own for the runs.');
}

/** An engine with its parts, for a surface that shows more than the engine does. */
export interface Composed {
  readonly engine: Engine;
  readonly runtime: Runtime;
  readonly world: World;
  readonly attachments: AttachmentStore;
  readonly servers: ServerKeys;
  readonly store: Store;
}

/** Parts that a surface brings itself. */
interface OwnParts {
  /** An open store at the place that `journal` names, as the tenant may see it. */
  readonly store?: Store;
  /** Finds the functions of definitions. Default: those of `flows` and of definitions that were run. */
  readonly flowTools?: FlowTools;
  /** The surface checks the prerequisites of a run itself. */
  readonly checked?: true;
  /** The places and the code of a flow whose file the surface knows. Default: those of `toolOptions`. */
  readonly placed?: (flow: CompiledFlow) => Pins | undefined;
}

/** The only place where store, world and runtime come together. */
export function composeEngine(options: CreateEngineOptions, own: OwnParts = {}): Composed {
  const { journal = '.sluice/sluice.db', flows = [], tenant, signingKey, serverKey, script, ...others } = options;
  const rest = script === undefined || script === false ? others : { ...others, script: checkedScript(script) };
  const functions = new Functions(rest.onNotice);
  const file = typeof journal === 'string' ? fileAt(journal) : undefined;
  const worldOptions = { ...rest, flowTools: own.flowTools ?? functions };
  const store = own.store ?? storeOf(journal, tenant, rest.onNotice);
  const beside = worldBeside(file, worldOptions, store);
  const { world, attachments } = beside;
  const definitions = new Definitions(options, functions);
  for (const definition of flows) definitions.compile(definition);
  const servers = new ServerKeys({ given: serverKey, file, reach: store.reach, onNotice: rest.onNotice });
  const trustedServers = servers.trusted;
  const runtime = runtimeOf({ ...rest, trustedServers, signingKey, script }, file, store, world);
  const close = async (): Promise<void> => {
    await runtime.close();
    await beside.close();
  };
  const handle = (id: RunId, opened?: OpenedRun): Run =>
    createRun({ engine, stories, opened, notice: rest.onNotice }, id);
  const stories = new Stories((id) => runtime.read(id));
  const recorded = scriptPin(script === false ? undefined : script, file);
  const ready = own.checked === true ? noCheck : onceReady(worldOptions);
  const { placed = () => undefined } = own;
  const start = createStart({ runtime, world, definitions, recorded, ready, placed });
  const engine: Engine = {
    ...runtime,
    as: (caller) => viewAs({ engine, store, stories, servers, notice: rest.onNotice, read: runtime.read }, caller),
    start,
    run: async (given: Compiled | AnyDefinition, input?: unknown, options: RunOptions = {}): Promise<Run> => {
      refuseEmpty('engine.run', options);
      const { id, ...more } = options;
      const named = id === undefined ? {} : { run: id };
      return handle(await start(given, { ...more, ...named, input: input as RunInput }));
    },
    open: async (id: RunId, given?: OpenOptions): Promise<Run> => {
      if (given?.definition !== undefined) definitions.compile(given.definition);
      return handle(id, await runtime.read(id));
    },
    state: async (id, { at } = {}) => stateAt(await stories.of(id), at),
    resume: async (id, grant) => {
      await runtime.resume(id, grant === undefined ? undefined : checkedGrant(grant));
      return handle(id);
    },
    retry: async (id, options = {}) => handle((await retry(runtime, store, id, { ...options, attachments })).run),
    fork: async (id, edits) => handle(await fork(runtime, store, id, { ...edits, attachments })),
    migrate: async (id, given, migration = {}) => {
      const flow = definitions.flowOf(given);
      const pins = await pinsOf(world, flow, given, id);
      return handle(await migrate(runtime, store, id, flow, { ...migration, pins, attachments }));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return { engine, runtime, world, attachments, servers, store };
}

type RuntimeOptions = Omit<EngineOptions, 'store' | 'performer' | 'clock' | 'checkOrigin'>;

/** The runtime of a store and a world. Without a script it refuses the runs of a rehearsal. */
function runtimeOf(
  { signingKey, script, ...options }: Pick<CreateEngineOptions, 'signingKey' | 'script'> & RuntimeOptions,
  file: string | undefined,
  store: Store,
  { performer, clock }: World,
): Runtime {
  return createRuntime({
    worstCase: worstCases(),
    ...retentionOptions(store, file, options.onNotice),
    ...(signingKey === undefined ? signingFor(file) : { signing: { signer: createSigner(signingKey) } }),
    ...options,
    store,
    performer,
    clock,
    checkOrigin: (run, origin) => {
      if (script === undefined) refuseScripted(run, origin);
      if (store.reach === 'network') demandPlaces(run, origin);
    },
  });
}

function storeOf(
  journal: string | Store,
  tenant: string | undefined,
  onNotice: CreateEngineOptions['onNotice'],
): Store {
  const store = typeof journal === 'string' ? openStore(journal, { onNotice }) : journal;
  return tenant === undefined ? store : forTenant(store, tenant);
}

/** A program in JavaScript can pass any value. */
function checkedScript(given: Script): Script {
  const { script, diagnostics } = readScriptObject(given);
  if (script === null) throw new CompileError('script', diagnostics);
  return script;
}

/** Otherwise a program that opens the database of a rehearsal would call its real tools. */
function refuseScripted(run: RunId, { pins }: Origin): void {
  if (pins?.script === undefined) return;
  const which = UNNAMED_SCRIPTS[pins.script] ?? `the script \`${pins.script}\``;
  throw new SluiceError(
    'scripted-run',
    `run \`${run}\` started with ${which}, and this engine has no script`,
    'Pass the script to `createEngine({ script })`, or `script: false` to continue with the real models and tools.',
  );
}

/** Tools that work on files find them only where they are. The run stays with the machines that have its folder and its code. */
function demandPlaces(run: RunId, { pins }: Origin): void {
  const needed = [pins?.workDir === undefined ? undefined : pins.documentDir, ...Object.keys(pins?.modules ?? {})];
  const missing = needed.find((path) => path !== undefined && isAbsolute(path) && !existsSync(path));
  if (missing === undefined) return;
  throw new SluiceError(
    'not-here',
    `run \`${run}\` needs \`${missing}\`, which this machine does not have`,
    'Another worker that has it continues the run. Share the folder, or run a worker where it is.',
  );
}

interface StartContext {
  readonly runtime: Runtime;
  readonly world: World;
  readonly definitions: Definitions;
  readonly recorded: () => Pick<Pins, 'script'>;
  /** Rejects if a run of the flow lacks something on this machine. */
  readonly ready: (flow: CompiledFlow, pins: Pins) => Promise<void>;
  readonly placed: NonNullable<OwnParts['placed']>;
}

function noCheck(): Promise<void> {
  return Promise.resolve();
}

/** Checks each flow until it has passed once. */
function onceReady(options: WorldOptions): StartContext['ready'] {
  const passed = new WeakSet<CompiledFlow>();
  return async (flow, pins) => {
    if (passed.has(flow)) return;
    await requireReady(options, flow, pins);
    passed.add(flow);
  };
}

function createStart({ runtime, world, definitions, recorded, ready, placed }: StartContext): Engine['start'] {
  return async (given, startOptions = {}) => {
    const flow = definitions.flowOf(given);
    refuseUnknown(startOptions, START_OPTIONS, 'a start');
    refuseEmpty('engine.start', startOptions);
    refuseEmpty('origin', startOptions.origin ?? {});
    const { run: id = newRunId() } = startOptions;
    const attached = (await world.attachInput(flow, id, startOptions.input)) as Json | undefined;
    const input = isDefinition(given) ? await checkedInput(given, attached) : attached;
    const whose = startOptions.origin;
    // An input that was returned as it is has no attachments, and a look at their file would be a system call for each start.
    const owner = attached === startOptions.input ? undefined : id;
    // A surface that names the script of its runs has stored it.
    const script = whose?.pins?.script === undefined ? recorded() : {};
    const own = owner === undefined ? {} : pinned(await world.pins(flow, owner));
    const origin = withPins(whose, {
      ...(placed(flow) ?? (await pinsOf(world, flow, given, owner))),
      ...own,
      ...script,
    });
    await ready(flow, origin.pins ?? {});
    const { input: _, ...others } = startOptions;
    return runtime.start(flow, { ...others, run: id, ...(input === undefined ? {} : { input }), origin });
  };
}

/** The attachments of the input, so that an audit knows which ones belong to the run. */
function pinned({ attachments }: Pins): Pick<Pins, 'attachments'> {
  return attachments === undefined ? {} : { attachments };
}

type OptionsOf<Options> = { readonly [Name in keyof Options]-?: Meaning };
const START_OPTIONS: OptionsOf<StartOptions> = OPTIONS['engine.start'];
const ENGINE_OPTIONS: OptionsOf<CreateEngineOptions> = OPTIONS.createEngine;

/** An unknown option would have no effect, and a caller in JavaScript would not notice: a misspelt `tenant` would give access to all runs. */
function refuseUnknown(options: object, known: object, of: string): void {
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const help =
    unknown === 'script' ? 'Pass it to `createEngine({ script })`.' : suggestionOf(unknown, Object.keys(known));
  throw new SluiceError('bad-start', `\`${unknown}\` is not an option of ${of}`, help);
}

/** Compiles each definition once, and makes its functions known. */
class Definitions {
  readonly #compiled = new WeakMap<AnyDefinition, CompiledFlow>();
  readonly #diagnostics = new WeakMap<CompiledFlow, readonly Diagnostic[]>();
  readonly #warned = new WeakSet<CompiledFlow>();
  readonly #options: CreateEngineOptions;
  readonly #functions: Functions;

  constructor(options: CreateEngineOptions, functions: Functions) {
    this.#options = options;
    this.#functions = functions;
  }

  /** Callers in JavaScript may pass anything. */
  flowOf(given: Compiled | AnyDefinition | undefined): CompiledFlow {
    if (typeof given !== 'object' || given === null) throw noFlow();
    if (isDefinition(given)) {
      const flow = this.compile(given);
      this.#warn(flow, this.#diagnostics.get(flow) ?? []);
      return flow;
    }
    if ('nodes' in given) return given;
    if (!('diagnostics' in given)) throw noFlow();
    if (given.flow === undefined) throw new CompileError(given.diagnostics[0]?.file ?? 'document', given.diagnostics);
    this.#warn(given.flow, given.diagnostics);
    return given.flow;
  }

  compile(definition: AnyDefinition): CompiledFlow {
    const known = this.#compiled.get(definition);
    if (known !== undefined) return known;
    const { models, toolOptions } = this.#options;
    const { flow, diagnostics } = compile(definition.document, {
      file: `${toolOptions?.documentDir ?? '.'}/${definition.id}`,
      ...(typeof models?.model === 'string' ? { model: models.model } : {}),
    });
    if (flow === undefined) throw new CompileError(definition.id, diagnostics);
    this.#compiled.set(definition, flow);
    this.#functions.add(flow, definition.tools);
    this.#diagnostics.set(flow, diagnostics);
    return flow;
  }

  /** The warnings of the compiler, once for each flow. */
  #warn(flow: CompiledFlow, diagnostics: readonly Diagnostic[]): void {
    if (this.#warned.has(flow)) return;
    this.#warned.add(flow);
    for (const { severity, code, message, help } of diagnostics)
      if (severity === 'warning')
        this.#options.onNotice?.(`\`${flow.id}\`: ${code}: ${message}${help === undefined ? '' : `. ${help}`}`);
  }
}

interface Waiter {
  readonly call: Call;
  readonly resolve: (tool: ToolFunction) => void;
}

/** The functions of the tools, by the hash of their flow. */
class Functions implements FlowTools {
  readonly #byFlow = new Map<string, { readonly [name: string]: ToolFunction }>();
  readonly #waiters = new Set<Waiter>();
  readonly #notice: (message: string) => void;

  constructor(onNotice: ((message: string) => void) | undefined) {
    this.#notice = onNotice ?? (() => undefined);
  }

  add({ hash }: CompiledFlow, tools: { readonly [name: string]: ToolFunction }): void {
    this.#byFlow.set(hash, tools);
    for (const waiter of this.#waiters) {
      const found = this.#get(waiter.call);
      if (found === undefined) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(found);
    }
  }

  has(call: CallOfTool): boolean {
    return this.#get(call) !== undefined || call.pins?.functions?.includes(call.command.name) === true;
  }

  /** A run that started with functions waits for them: this process may define its flow a moment later. */
  get(call: Call): ToolFunction | undefined | Promise<ToolFunction> {
    const { command, signal } = call;
    const found = this.#get(call);
    if (found !== undefined || !this.has(call)) return found;
    this.#notice(
      `run \`${command.run}\` waits for the function of \`${command.name}\`: pass its definition to \`createEngine({ flows })\``,
    );
    const { promise, resolve, reject } = Promise.withResolvers<ToolFunction>();
    const waiter = { call, resolve };
    this.#waiters.add(waiter);
    signal.addEventListener('abort', () => {
      this.#waiters.delete(waiter);
      reject(signal.reason as Error);
    });
    return promise;
  }

  #get({ command, flow }: CallOfTool): ToolFunction | undefined {
    const tools = this.#byFlow.get(flow.hash);
    return command.kind === 'tool' && tools !== undefined && Object.hasOwn(tools, command.name)
      ? tools[command.name]
      : undefined;
  }
}

async function pinsOf(world: World, flow: CompiledFlow, given: Compiled | AnyDefinition, run?: RunId): Promise<Pins> {
  const functions = isDefinition(given) ? Object.keys(given.tools) : [];
  return { ...(await world.pins(flow, run)), ...(functions.length === 0 ? {} : { functions }) };
}

function noFlow(): SluiceError {
  return new SluiceError('bad-start', 'there is no flow to start', 'Pass the result of `compile`, or a definition.');
}

function withPins(origin: Origin = {}, pins: Pins): Origin {
  return { ...origin, pins: { ...pins, ...origin.pins } };
}
