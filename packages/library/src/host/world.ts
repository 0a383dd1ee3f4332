/**
 * Composes everything that a run calls: models, tools, checks, memory and scripted answers. The library, the
 * command line and the server all create their world here.
 */
import { join, resolve } from 'node:path';
import { isBuiltinTool } from '@sluice-internal/kernel/catalog';
import { present } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, EffectKind, Failure, Node, Pins, RunId, Settled } from '@sluice-internal/kernel/ir';
import {
  SluiceError,
  createVirtualClock,
  fail,
  failureOf,
  realClock,
  requireFailure,
  toolResult,
} from '@sluice-internal/engine/ports';
import type {
  AttachmentStore,
  Call,
  Clock,
  Embedder,
  MemoryStore,
  Performer,
  StoredAttachment,
} from '@sluice-internal/engine/ports';
import {
  attachForTools,
  attachInput,
  callerOf,
  mayHoldAttachments,
  readAttachment,
  requireTaken,
  secretsFor,
  shellRunner,
} from '@sluice-internal/tools/calls';
import { holdsSecret, pinsOf, refusedResult, splitReply, workDirOf } from '@sluice-internal/platform';
import type { AttachInputOptions, ToolFunction, ToolOptions } from '@sluice-internal/tools/calls';
import { evidencePerformer } from '@sluice-internal/guard/evidence';
import { isMemoryCheck, isPolicyCheck, memoryPerformer, policyPerformer } from '@sluice-internal/guard/policy';
import { isModelObject, modelPerformer, notConfigured, priceOf, requireModel, targetOf } from '@sluice-internal/models';
import type { ModelObject, ModelPerformerOptions, Target } from '@sluice-internal/models';
import { Pipelines, asCommandError, withPii } from '@sluice-internal/pii';
import type { OpenVault } from '@sluice-internal/pii';
import { functionPerformer, isAmount, type FlowTools, type ModelFunction } from './functions.ts';
import { notify } from './notify.ts';
import { isScripted, scriptedPerformer } from './scripted/performer.ts';
import type { Script } from './scripted/script.ts';
import { toolPerformer } from './performer.ts';

/**
 * Models, tools, scripts and functions of an engine.
 * @example
 * const options: WorldOptions = { script: { agents: { triage: ['{"kind": "other"}'] } } };
 */
export interface WorldOptions {
  /**
   * Options for calls of providers, or model objects of the AI SDK by alias. With a script, the models of agents that the
   * script does not name.
   */
  readonly models?: ModelPerformerOptions | ModelObjects;
  /** One function that replies for every agent, instead of a provider. */
  readonly model?: ModelFunction;
  /** Functions that replace tools, by the name of the tool. */
  readonly tools?: { readonly [name: string]: ToolFunction };
  readonly flowTools?: FlowTools;
  /** Settings of the built-in tools, of tools that a document implements, and of checks that read evidence. */
  readonly toolOptions?: WorldToolOptions;
  /** Scripted replies, tool results and answers. A tool that the script does not name is really called. */
  readonly script?: Script;
  /** Performs every command except policy checks, instead of all of the above. */
  readonly performer?: Performer;
  /** Settles a call for which a model, a key or a tool is missing. Default: a fatal failure. */
  readonly onMissing?: (call: Call, error: SluiceError) => Promise<Settled>;
  /** Opens the vault of personal data. Default: in this process only, with a random key. */
  readonly vault?: OpenVault;
  readonly clock?: Clock;
  /** Stores the images and files of runs. Default: in this process only. */
  readonly attachments?: AttachmentStore;
}
/**
 * Options of the tools of an engine.
 * @example
 * const toolOptions: WorldToolOptions = { workDir: './work', documentDir: './flows' };
 */
export interface WorldToolOptions extends Omit<ToolOptions, 'workDir' | 'attach'> {
  /** The work directory of all runs. Default: `.sluice/work/<run>`. */
  readonly workDir?: string;
  /** Stores the memory of agents across runs. Default: beside the journal, or in this process only. */
  readonly memory?: MemoryStore;
  /** Searches memory by meaning. Default: by words. */
  readonly embedder?: Embedder;
}

/** A call that a run is about to make. */
export interface NeededCall {
  readonly kind: EffectKind;
  readonly name: string;
  /** The alias of a fallback model. */
  readonly model?: string;
  /** Of a tool: the agent that calls it. Absent for a call of the author's own. */
  readonly agent?: string;
}

export interface World {
  readonly performer: Performer;
  readonly clock: Clock;
  /** The place, the code and the attachments to pin a run to. Throws if a module lies where an agent can write. */
  pins(flow: CompiledFlow, run?: RunId): Promise<Pins>;
  /** Throws a SluiceError if the world lacks a model, a key or a tool for these calls. */
  require(flow: CompiledFlow, calls: Iterable<NeededCall>): void;
  /**
   * Adds the images and files of an input to a run, and returns the input with references to them. Throws a SluiceError if
   * one cannot be used, or if no model of the flow takes it.
   */
  attachInput(flow: CompiledFlow, run: RunId, input: unknown, options?: AttachInputOptions): Promise<unknown>;
  /** Ends the processes that the world started, such as MCP servers. */
  close(): Promise<void>;
}

/** The stores for data of runs besides the journal. */
export interface WorldData {
  readonly vault: OpenVault;
  readonly attachments: AttachmentStore;
  readonly memory: MemoryStore;
}

export function createWorld(options: WorldOptions, data: WorldData): World {
  const { script, performer: custom } = options;
  const { attachments } = data;
  const pipelines = new Pipelines(data.vault);
  const composed = compose(options, data, pipelines);
  const isVirtual = script !== undefined && script.clock !== 'real' && !usesRealModels(options);
  return {
    performer: withPii(withAnswers(custom === undefined ? composed : withPolicy(custom)), pipelines),
    clock: options.clock ?? (isVirtual ? createVirtualClock() : realClock),
    pins: async (flow, run) => {
      const { documentDir = '.', workDir } = options.toolOptions ?? {};
      const ids = run === undefined ? [] : await attachments.list(run);
      return { ...pinsOf(flow, { documentDir, workDir }), ...(ids.length === 0 ? {} : { attachments: ids }) };
    },
    require: (flow, calls) => requireCalls(options, flow, calls),
    attachInput: async (flow, run, input, given = {}) => {
      const models = realTargets(options, flow);
      if (!mayHoldAttachments(input, given)) return input;
      const { documentDir = '.', workDir, http } = options.toolOptions ?? {};
      const folders = [documentDir, ...(workDir === undefined ? [] : [workDir])];
      const read: StoredAttachment[] = [];
      const protectName = (name: string): Promise<string> =>
        pipelines.fileName(flow, run, name, resolve(documentDir)).catch(asCommandError);
      const { value, refs } = await attachInput(flow, input, given, async (source, isOperator) => {
        const place = { folders: isOperator ? undefined : folders, http, protectName };
        const { stored, ref } = await readAttachment(source, 'input', place);
        read.push(stored);
        return ref;
      });
      // A run that is refused leaves nothing in the store.
      requireTaken(refs, models);
      for (const each of read) await attachments.add(run, each);
      return value;
    },
    close: () => composed.close(),
  };
}

/** The models that answer the calls of a flow. Null if something else answers some of them. */
function realTargets(options: WorldOptions, flow: CompiledFlow): readonly Target[] | null {
  const { script, model, performer } = options;
  if (performer !== undefined || model !== undefined || !usesRealModels(options)) return null;
  const calls = [...callsOf(flow)].filter(({ kind }) => kind === 'model');
  if (script !== undefined && calls.some((call) => isScripted(script, flow, call))) return null;
  const settings = { priceOf, ...modelOptions(options.models) };
  return calls.map(({ name, model: fallback }) => targetOf(flow, name, fallback, settings));
}

/** Every call that a flow can make, for `World.require` before a run starts. */
export function* callsOf(flow: CompiledFlow): Iterable<NeededCall> {
  for (const node of Object.values<Node>(flow.nodes)) {
    if (node.op !== 'do') continue;
    const { effect } = node;
    if (effect.kind === 'tool') {
      const agent = callerOf(effect.input['agent']);
      yield { kind: 'tool', name: effect.tool, ...(agent === null ? {} : { agent }) };
      if (node.undo !== undefined) yield { kind: 'tool', name: node.undo.tool };
    }
    if (effect.kind !== 'model') continue;
    yield { kind: 'model', name: effect.agent };
    for (const model of node.retry.fallback?.targets ?? []) yield { kind: 'model', name: effect.agent, model };
  }
}

function compose(
  options: WorldOptions,
  { attachments, memory: store }: WorldData,
  pipelines: Pipelines,
): Performer & { close(): Promise<void> } {
  const { script, model, tools: functions, toolOptions = {} } = options;
  const { workDir: given, memory: _, embedder, ...settings } = toolOptions;
  const workDir = (run: string): string => given ?? join('.sluice', 'work', run);
  const onMissing = options.onMissing ?? notConfigured;
  const { documentDir = '.', shell, resultMax, env = process.env } = settings;
  const models =
    model === undefined
      ? modelPerformer({ priceOf, onMissing, documentDir, attachments, ...modelOptions(options.models) })
      : undefined;
  const attach = attachForTools(attachments, settings.http, ({ command, flow, pins }, name) =>
    pipelines.fileName(flow, pins?.tokensOf ?? command.run, name, pins?.documentDir),
  );
  const own = functionPerformer({
    model,
    tools: functions,
    flowTools: options.flowTools,
    resultMax,
    attach: (call, source) => {
      const { run } = call.command;
      const folder = workDirOf(call.pins, run, workDir(run));
      return attach(call, folder, source, (data) => holdsSecret(data, secretsFor(null, env)));
    },
  });
  const scripted = script === undefined ? undefined : scriptedPerformer(script);
  const tools = toolPerformer({ ...settings, workDir, attach });
  const evidence = evidencePerformer({ workDir, documentDir, run: shellRunner(shell) });
  const policy = policyPerformer();
  const memory = memoryPerformer(store, embedder);
  const performerFor = (call: Call): Performer | undefined => {
    const { command, flow } = call;
    const { kind, name } = command;
    if (isPolicyCheck(command)) return policy;
    if (isMemoryCheck(command)) return memory;
    if (kind === 'check') return evidence;
    if (script !== undefined && isScripted(script, flow, command)) return scripted;
    if (kind === 'model') return scripted === undefined || usesRealModels(options) ? (models ?? own) : scripted;
    if (options.flowTools?.has(call) === true || Object.hasOwn(functions ?? {}, name)) return own;
    return isImplemented(flow, name) ? tools : undefined;
  };
  return {
    ...(scripted ?? { notify }),
    ...(script !== undefined && usesRealModels(options) ? { isScripted: namedIn(script) } : {}),
    perform: (call) => {
      const performer = performerFor(call);
      if (performer !== undefined) return performer.perform(call);
      return script === undefined ? onMissing(call, noImplementation(call.command)) : Promise.reject(unscripted(call));
    },
    close: () => tools.close(),
  };
}

/** Beside real models, a call is scripted if the script names its agent or tool. */
function namedIn(script: Script): NonNullable<Performer['isScripted']> {
  return ({ command: { kind, name, input }, flow }) => {
    const agent = String(input['agent'] ?? input['name'] ?? '');
    return isScripted(script, flow, kind === 'check' ? { kind: 'model', name: agent } : { kind, name });
  };
}

/** With a script, real models are used only if the caller configures them. */
function usesRealModels({ script, models, model }: WorldOptions): boolean {
  return script === undefined || models !== undefined || model !== undefined;
}

/** What a model thought in its text is no part of its answer. */
function withAnswers(performer: Performer): Performer {
  return {
    ...performer,
    perform: async (call) => {
      const settled = await performer.perform(call);
      return call.command.kind === 'model' && settled.ok ? { ...settled, value: splitReply(settled.value) } : settled;
    },
  };
}

/** A custom performer replaces everything except policy checks. The journal must be able to hold its results. */
function withPolicy(custom: Performer): Performer {
  const policy = policyPerformer();
  return {
    ...custom,
    perform: async (call) =>
      isPolicyCheck(call.command) ? policy.perform(call) : recordable(call, await custom.perform(call)),
  };
}

/** Code without types can return any value. An amount below zero would raise the budget. */
function recordable(call: Call, given: Settled): Settled {
  const { kind, name } = call.command;
  const refused = (error: unknown): Failure => failureOf(kind === 'tool' ? refusedResult(call, error) : error);
  if (typeof given?.ok !== 'boolean') {
    const message = `the performer returned neither \`ok: true\` nor \`ok: false\` for \`${name}\``;
    return { ok: false, error: refused(fail('fatal', 'ResultError', message)) };
  }
  if (!given.ok) requireFailure(given.error);
  const wrong = Object.entries(given.used ?? {}).find(([, amount]) => amount !== undefined && !isAmount(amount));
  if (wrong !== undefined) {
    const message = `the performer reported \`${wrong[0]}: ${String(wrong[1])}\` for \`${name}\`, but amounts are numbers from 0`;
    const error = given.ok ? refused(fail('fatal', 'ResultError', message)) : given.error;
    // The reserved amounts count as spent.
    return { ok: false, error: { ...error, unmeasured: true } };
  }
  try {
    return given.ok ? { ...given, value: toolResult(name, given.value) } : given;
  } catch (error) {
    return { ...present({ used: given.used }), ok: false, error: refused(error) };
  }
}

/** Throws a SluiceError if a world with these options would lack a model, a key or a tool for the calls. */
export function requireCalls(
  options: WorldOptions,
  flow: CompiledFlow,
  calls: Iterable<NeededCall>,
  pins: Pins = {},
): void {
  for (const call of calls) requireCall(options, flow, call, pins);
}

/** True if a function of the program replaces the tool. */
export function hasFunction(
  { tools = {}, flowTools }: WorldOptions,
  flow: CompiledFlow,
  name: string,
  pins: Pins,
): boolean {
  return Object.hasOwn(tools, name) || flowTools?.has({ flow, pins, command: { kind: 'tool', name } }) === true;
}

function requireCall(options: WorldOptions, flow: CompiledFlow, call: NeededCall, pins: Pins): void {
  const { script, model, performer, toolOptions } = options;
  if (performer !== undefined || (script !== undefined && isScripted(script, flow, call))) return;
  if (call.kind === 'model' && model === undefined && usesRealModels(options))
    requireModel(
      targetOf(flow, call.name, call.model, { priceOf, ...modelOptions(options.models) }),
      toolOptions?.documentDir ?? '.',
    );
  const isMissing =
    call.kind === 'tool' && !hasFunction(options, flow, call.name, pins) && !isImplemented(flow, call.name);
  if (isMissing && (script === undefined || isReal(options, flow, call.agent))) throw noImplementation(call);
}

/** True for an agent that a real model plays beside a script. It may call every tool that it has. */
function isReal(options: WorldOptions, flow: CompiledFlow, agent: string | undefined): boolean {
  if (agent === undefined || options.script === undefined || !usesRealModels(options)) return false;
  return !isScripted(options.script, flow, { kind: 'model', name: agent });
}

/**
 * Model objects by alias, beside the options.
 * @example
 * const options: CreateEngineOptions = { models: { model: 'openai/gpt-5-mini' } };
 * const objects: ModelObjects = {};
 */
export type ModelObjects = { readonly [alias: string]: ModelObject };

function modelOptions(given: WorldOptions['models'] = {}): ModelPerformerOptions {
  const entries = Object.entries(given);
  const objects = Object.fromEntries(
    entries.filter((entry): entry is [string, ModelObject] => isModelObject(entry[1])),
  );
  const options: ModelPerformerOptions = Object.fromEntries(entries.filter(([, value]) => !isModelObject(value)));
  return Object.keys(objects).length === 0 ? options : { ...options, objects: { ...options.objects, ...objects } };
}

/** True if a tool is built in, or if the document implements it. */
function isImplemented(flow: CompiledFlow, name: string): boolean {
  const declared = Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  return (declared !== undefined && declared.implementation !== null) || isBuiltinTool(name);
}

function unscripted({ command: { kind, name } }: Call): Error {
  const message = `the script has no entry for the ${kind} \`${name}\`, and the tool has no implementation`;
  return fail('fatal', 'ScriptError', message);
}

function noImplementation({ kind, name }: { readonly kind: string; readonly name: string }): SluiceError {
  const message = `the ${kind} \`${name}\` has no implementation`;
  return new SluiceError(
    'no-implementation',
    message,
    'Declare one (`module`, `http`, `shell`, `code` or `mcp`), or replace the tool with `--script FILE`.',
  );
}
