/** `createEngine`: an engine with a journal and a world. Every option has a default. */
import { UNNAMED_SCRIPTS } from '@sluice-internal/kernel/catalog';
import type { RunInput, ToolFunction } from '@sluice-internal/tools/calls';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Origin, Pins, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError, newRunId } from '@sluice-internal/engine/ports';
import type {
  AttachmentStore,
  Call,
  Engine as Runtime,
  EngineOptions,
  OpenedRun,
  StartOptions,
  Store,
} from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { createSigner } from '@sluice-internal/engine/journal';
import type { CompileResult } from '@sluice-internal/notations/driver';
import { suggestionOf } from '@sluice-internal/compile/source';
import type { FlowTools } from './host/functions.ts';
import type { Script } from './host/scripted/script.ts';
import type { World, WorldOptions } from './host/world.ts';
import { fileOf, openStore } from './host/open-store.ts';
import { forTenant } from './host/tenant.ts';
import { compile } from './compile.ts';
import { checkedInput, isDefinition } from './define/definition.ts';
import type { AnyDefinition, InputFor, OutputFor, QuestionsFor } from './define/definition.ts';
import { CompileError } from './host/errors.ts';
import { createRun, type Run } from './run.ts';
import { fork, type ForkEdits } from './host/fork.ts';
import { migrate, type Migration } from './host/migrate/migrate.ts';
import { retentionOptions } from './host/retention.ts';
import { signingFor } from './host/signing.ts';
import { stateAt, type RunAt } from './host/run-state.ts';
import { Stories } from './host/stories.ts';
import { scriptPin } from './host/recorded-script.ts';
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
    Omit<EngineOptions, 'store' | 'performer' | 'clock' | 'checkOrigin'>,
    Omit<WorldOptions, 'flowTools' | 'script'> {
  /** Stores the runs: the path of a database file, or an open store. Default: `.sluice/sluice.db`. */
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
}

/**
 * Options of `engine.run`.
 * @example
 * const options: RunOptions = { id: 'refund-1042', origin: { user: 'anna' } };
 */
export interface RunOptions extends Omit<StartOptions, 'input' | 'run'> {
  /** Makes the start idempotent: a second start under this id gives the same run. */
  readonly id?: RunId;
}

/**
 * Options of `engine.open`.
 * @example
 * const options: OpenOptions<typeof refunds> = { definition: refunds };
 */
export interface OpenOptions<Defined extends AnyDefinition = AnyDefinition> {
  /** The definition of the run's flow. */
  readonly definition?: Defined;
}

/**
 * Options of `engine.start`.
 * @example
 * const options: EngineStartOptions = { run: 'refund-1042', input: { message: 'money back' } };
 */
export interface EngineStartOptions extends Omit<StartOptions, 'input'> {
  /** Plain data. Images and files are made with `attachment(…)`. */
  readonly input?: RunInput;
}

/**
 * An engine: starts runs, continues them, answers questions and reports.
 * @example
 * const service = async (engine: Engine) => (await engine.run(refunds, { message: 'money back' })).id;
 */
export interface Engine extends Omit<Runtime, 'start' | 'resume' | 'fork' | 'migrate' | 'read'>, AsyncDisposable {
  /** Starts a run of a definition. Throws a `CompileError` with every diagnostic, or a `SluiceError` for a bad input. */
  run<Defined extends AnyDefinition>(
    definition: Defined,
    input: InputFor<Defined>,
    options?: RunOptions,
  ): Promise<Run<OutputFor<Defined>, QuestionsFor<Defined>>>;
  /** Starts a run of a compiled document: the result of `compile`, or its `flow`. */
  run(flow: Compiled, input?: RunInput, options?: RunOptions): Promise<Run>;
  /** Starts a run and resolves with its id when the start is stored. */
  start(flow: Compiled | AnyDefinition, options?: EngineStartOptions): Promise<RunId>;
  /**
   * The handle of a run that exists. The run is read once, and then kept up to date. Its stored rows are verified again before it
   * goes on. The definition gives the handle types, and this engine the functions of its tools.
   * @example
   * const refund = await engine.open(run.id, { definition: refunds });
   * await refund.answer('gate', 'approve', { by: 'anna' });
   */
  open<Defined extends AnyDefinition>(
    run: RunId,
    options: OpenOptions<Defined>,
  ): Promise<Run<OutputFor<Defined>, QuestionsFor<Defined>>>;
  open(run: RunId): Promise<Run>;
  /**
   * A run after event `at`, by default after its last one: the state and the visits of its nodes, its meters, its open questions
   * and its values.
   * @example
   * const { nodes, meters } = await engine.state(run.id, { at: 12 });
   */
  state(run: RunId, options?: { readonly at?: number }): Promise<RunAt>;
  /** Continues a run that no live process owns. */
  resume(run: RunId): Promise<Run>;
  /**
   * Starts a new run that shares the events of a run up to event `at`. Effects before it are not made again.
   * @example
   * const other = await engine.fork(run.id, { at: 12, set: { 'triage.output': { category: 'tech' } } });
   */
  fork(run: RunId, edits: ForkEdits): Promise<Run>;
  /**
   * Moves a suspended run to a new version of its flow. Throws a `SluiceError` that names each part that does not fit.
   * @example
   * const moved = await engine.migrate(run.id, refunds, { by: 'olga' });
   */
  migrate(run: RunId, flow: Compiled | AnyDefinition, options?: Migration): Promise<Run>;
}

type Compiled = CompiledFlow | CompileResult;

/**
 * Creates an engine. Call `close` when it is no longer needed, or declare it with `await using`.
 * @example
 * await using engine = createEngine({ models: { model: 'openai/gpt-5-mini' } });
 * const run = await engine.run(refunds, { message: 'money back' });
 * const { output } = await run.result();
 */
export function createEngine(options: CreateEngineOptions = {}): Engine {
  refuseUnknown(options, ENGINE_OPTIONS, '`createEngine`');
  return composeEngine(options).engine;
}

/** An engine with its parts, for a surface that shows more than the engine does. */
export interface Composed {
  readonly engine: Engine;
  readonly runtime: Runtime;
  readonly world: World;
  readonly attachments: AttachmentStore;
}

/** Parts that a surface brings itself. */
interface OwnParts {
  /** An open store at the place that `journal` names, as the tenant may see it. */
  readonly store?: Store;
  /** Finds the functions of definitions. Default: those of `flows` and of definitions that were run. */
  readonly flowTools?: FlowTools;
}

/** The only place where store, world and runtime come together. */
export function composeEngine(options: CreateEngineOptions, own: OwnParts = {}): Composed {
  const { journal = '.sluice/sluice.db', flows = [], tenant, signingKey, script, ...others } = options;
  const rest = script === undefined || script === false ? others : { ...others, script: checkedScript(script) };
  const functions = new Functions(rest.onNotice);
  const file = typeof journal === 'string' ? fileOf(journal) : undefined;
  const beside = worldBeside(file, { ...rest, flowTools: own.flowTools ?? functions });
  const { world, attachments } = beside;
  const definitions = new Definitions(options, functions);
  for (const definition of flows) definitions.compile(definition);
  const store = own.store ?? storeOf(journal, tenant, rest.onNotice);
  const runtime = createRuntime({
    worstCase: worstCases(),
    ...retentionOptions(store, file, rest.onNotice),
    ...(signingKey === undefined ? signingFor(file) : { signing: { signer: createSigner(signingKey) } }),
    ...rest,
    store,
    performer: world.performer,
    clock: world.clock,
    ...(script === undefined ? { checkOrigin: refuseScripted } : {}),
  });
  const close = async (): Promise<void> => {
    await runtime.close();
    await beside.close();
  };
  const handle = (id: RunId, opened?: OpenedRun): Run => createRun({ engine, stories, opened }, id);
  const stories = new Stories((id) => runtime.read(id));
  const recorded = scriptPin(script === false ? undefined : script, file);
  const start = createStart({ runtime, world, definitions, tenant, recorded });
  const engine: Engine = {
    ...runtime,
    start,
    run: async (given: Compiled | AnyDefinition, input?: unknown, { id, ...more }: RunOptions = {}): Promise<Run> => {
      const named = id === undefined ? {} : { run: id };
      return handle(await start(given, { ...more, ...named, input: input as RunInput }));
    },
    open: async (id: RunId, given?: OpenOptions): Promise<Run> => {
      if (given?.definition !== undefined) definitions.compile(given.definition);
      return handle(id, await runtime.read(id));
    },
    state: async (id, { at } = {}) => {
      const story = await stories.of(id);
      return stateAt(story, at);
    },
    resume: async (id) => {
      await runtime.resume(id);
      return handle(id);
    },
    fork: async (id, edits) => handle(await fork(runtime, store, id, { ...edits, attachments })),
    migrate: async (id, given, migration = {}) => {
      const flow = definitions.flowOf(given);
      const pins = pinsOf(world, flow, given, id);
      return handle(await migrate(runtime, store, id, flow, { ...migration, pins, attachments }));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return { engine, runtime, world, attachments };
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

interface StartContext {
  readonly runtime: Runtime;
  readonly world: World;
  readonly definitions: Definitions;
  readonly tenant: string | undefined;
  readonly recorded: () => Pick<Pins, 'script'>;
}

function createStart({ runtime, world, definitions, tenant, recorded }: StartContext): Engine['start'] {
  return async (given, startOptions = {}) => {
    const flow = definitions.flowOf(given);
    refuseUnknown(startOptions, START_OPTIONS, 'a start');
    const { run: id = newRunId() } = startOptions;
    const attached = (await world.attachInput(flow, id, startOptions.input)) as Json | undefined;
    const input = isDefinition(given) ? await checkedInput(given, attached) : attached;
    const whose = tenant === undefined ? startOptions.origin : { tenant, ...startOptions.origin };
    // An input that was returned as it is has no attachments, and a look at their file would be a system call for each start.
    const owner = attached === startOptions.input ? undefined : id;
    // A surface that names the script of its runs has stored it.
    const script = whose?.pins?.script === undefined ? recorded() : {};
    const origin = withPins(whose, { ...pinsOf(world, flow, given, owner), ...script });
    const { input: _, ...others } = startOptions;
    return runtime.start(flow, { ...others, run: id, ...(input === undefined ? {} : { input }), origin });
  };
}

const START_OPTIONS: { readonly [Name in keyof StartOptions]-?: true } = {
  run: true,
  input: true,
  seed: true,
  origin: true,
  deadline: true,
  thread: true,
};

const ENGINE_OPTIONS: { readonly [Name in keyof CreateEngineOptions]-?: true } = {
  journal: true,
  flows: true,
  script: true,
  tenant: true,
  signingKey: true,
  pickUp: true,
  leaseMs: true,
  snapshotEvery: true,
  retain: true,
  exportRun: true,
  onRemoved: true,
  signing: true,
  quotas: true,
  worstCase: true,
  onFault: true,
  onNotice: true,
  models: true,
  model: true,
  tools: true,
  toolOptions: true,
  performer: true,
  onMissing: true,
  vault: true,
  clock: true,
  attachments: true,
};

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
  readonly #options: CreateEngineOptions;
  readonly #functions: Functions;

  constructor(options: CreateEngineOptions, functions: Functions) {
    this.#options = options;
    this.#functions = functions;
  }

  /** Callers in JavaScript may pass anything. */
  flowOf(given: Compiled | AnyDefinition | undefined): CompiledFlow {
    if (typeof given !== 'object' || given === null) throw noFlow();
    if (isDefinition(given)) return this.compile(given);
    if ('nodes' in given) return given;
    if (!('diagnostics' in given)) throw noFlow();
    if (given.flow === undefined) throw new CompileError(given.diagnostics[0]?.file ?? 'document', given.diagnostics);
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
    return flow;
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

  has(call: Call): boolean {
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

  #get({ command, flow }: Call): ToolFunction | undefined {
    const tools = this.#byFlow.get(flow.hash);
    return command.kind === 'tool' && tools !== undefined && Object.hasOwn(tools, command.name)
      ? tools[command.name]
      : undefined;
  }
}

function pinsOf(world: World, flow: CompiledFlow, given: Compiled | AnyDefinition, run?: RunId): Pins {
  const functions = isDefinition(given) ? Object.keys(given.tools) : [];
  return { ...world.pins(flow, run), ...(functions.length === 0 ? {} : { functions }) };
}

function noFlow(): SluiceError {
  return new SluiceError('bad-start', 'there is no flow to start', 'Pass the result of `compile`, or a definition.');
}

function withPins(origin: Origin = {}, pins: Pins): Origin {
  return { ...origin, pins: { ...pins, ...origin.pins } };
}
