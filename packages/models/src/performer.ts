/**
 * Performs model calls against real providers. Each call is one HTTP request without retries of its own: the flow decides
 * on retries, and the journal records them.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { AgentDef, Settled } from '@sluice-internal/kernel/ir';
import { SluiceError, fail, failureOf } from '@sluice-internal/engine/ports';
import type { AttachmentStore, Call, Clock, Performer, StreamedPart } from '@sluice-internal/engine/ports';
import { StreamRedactor, redactValue } from '@sluice-internal/platform';
import { connect, type ResponseForm } from './connect.ts';
import type { Fetch } from './model-object.ts';
import { classify, failedToolCall, usageIn } from './errors.ts';
import { continued, recordOf, usageOf } from './record.ts';
import { continuationOf, problemOf } from './outcome.ts';
import { refuseLosses, watchOptions } from './options.ts';
import { emptyReply, readBody, readStream, type Reply } from './reply.ts';
import { requestFor, type Request } from './request.ts';
import { requireKey, targetOf, type Target, type TargetOptions } from './target.ts';
import { watchWire } from './wire.ts';

/**
 * Options of the models of an engine.
 * @example
 * const models: ModelPerformerOptions = { model: 'openai/gpt-5-mini', stream: true };
 */
export interface ModelPerformerOptions extends TargetOptions {
  /** True streams every reply. Default: a reply is streamed if the run has listeners when the call starts. */
  readonly stream?: boolean;
  /** Settles a call whose model, provider or key is missing. Default: a fatal failure. */
  readonly onMissing?: (call: Call, error: SluiceError) => Promise<Settled>;
  /** The longest time without a byte once a response has started. Default: 60 seconds. */
  readonly idleTimeoutMs?: number;
  readonly fetch?: Fetch;
  /** The folder from which provider packages are loaded. Default: the current folder. */
  readonly documentDir?: string;
  /** Holds the images and files of runs. */
  readonly attachments?: AttachmentStore;
}

const IDLE_TIMEOUT_MS = 60_000;

export function modelPerformer(options: ModelPerformerOptions = {}): Performer {
  const waitForTurn = createPace();
  return {
    perform: async (call) => {
      const target = findTarget(call, options);
      if (target instanceof SluiceError) return (options.onMissing ?? notConfigured)(call, target);
      await waitForTurn(target, call.clock, call.signal);
      return askInTime(call, target, options);
    },
  };
}

function findTarget({ flow, command }: Call, options: ModelPerformerOptions): Target | SluiceError {
  try {
    const target = targetOf(flow, command.name, command.target, options);
    requireKey(target);
    return target;
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
}

export async function notConfigured(_: Call, { message }: SluiceError): Promise<Settled> {
  return { ok: false, error: { class: 'fatal', type: 'NotConfiguredError', message } };
}

const MINUTE_MS = 60_000;

/** Delays calls so that each model stays within its requests per minute. */
function createPace(): (target: Target, clock: Clock, signal: AbortSignal) => Promise<void> {
  const sent = new Map<string, number[]>();
  return async ({ name, requestsPerMinute }, clock, signal) => {
    if (requestsPerMinute === undefined) return;
    const times = sent.get(name) ?? [];
    sent.set(name, times);
    for (;;) {
      const now = clock.now();
      while (times.length > 0 && (times[0] as number) <= now - MINUTE_MS) times.shift();
      if (times.length < requestsPerMinute) return void times.push(now);
      await clock.sleep((times[0] as number) + MINUTE_MS - now, signal);
    }
  };
}

/** Asks within the time of one call. The flow may set a shorter time, which the runtime enforces. */
async function askInTime(call: Call, target: Target, options: ModelPerformerOptions): Promise<Settled> {
  const { timeoutMs } = target;
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(noReply(target)), timeoutMs);
  const signal = AbortSignal.any([call.signal, timeout.signal]);
  try {
    const { command, flow, clock, pins, idempotencyKey } = call;
    const timed: Call = {
      command,
      flow,
      clock,
      pins,
      idempotencyKey,
      signal,
      // Readers can come and go while the reply arrives.
      get onText() {
        return call.onText;
      },
    };
    return await ask(timed, target, options);
  } catch (error) {
    if (call.signal.aborted || !timeout.signal.aborted) throw error;
    return { ok: false, error: failureOf(noReply(target)) };
  } finally {
    clearTimeout(timer);
  }
}

function noReply({ name, timeoutMs }: Target): Error {
  return fail('timeout', 'TimeoutError', `${name}: no complete reply within ${timeoutMs / 1000} s`);
}

async function ask(call: Call, target: Target, options: ModelPerformerOptions): Promise<Settled> {
  const agent = agentOf(call);
  const request = await requestFor(call, agent, target, options.attachments);
  const reply = emptyReply();
  try {
    await receive(call, target, request, reply, options);
  } catch (error) {
    if (call.signal.aborted) throw error;
    const written = failedToolCall(error);
    if (written !== undefined) return unreadableCall(written, target, request);
    if (error instanceof SluiceError) return (options.onMissing ?? notConfigured)(call, error);
    reply.usage ??= usageIn(error);
    const { unmeasured, ...failure } = classify(error, target, call.clock.now());
    const marked = unmeasured === true && !isMeasured(reply) ? { ...failure, unmeasured } : failure;
    return { ok: false, error: marked, ...partialUsage(reply, target, request) };
  }
  return resultOf(reply, target, request, call);
}

/** A tool call that the provider could not read counts as a call with unreadable arguments, which the agent corrects. */
function unreadableCall(written: string, target: Target, request: Request): Settled {
  const named = /<function=([\w.-]+)/.exec(written)?.[1] ?? /"name"\s*:\s*"([^"]+)"/.exec(written)?.[1] ?? 'unknown';
  const input = written === '' ? 'null' : written;
  const reply: Reply = {
    ...emptyReply(),
    parts: [{ type: 'call', id: '', name: named, input, metadata: undefined }],
    finish: { unified: 'tool-calls', raw: 'tool_use_failed' },
  };
  const used = usageOf(reply, target, sentText(request));
  return { ok: true, value: redactValue(recordOf(reply, target, request.offer, false), target.secrets), used };
}

function agentOf({ flow, command }: Call): AgentDef {
  const agent = flow.agents[command.name];
  if (agent !== undefined) return agent;
  throw fail('fatal', 'NotConfiguredError', `agent \`${command.name}\` is not in the flow`);
}

/** Asks for a body or a stream. Some servers ignore this, so the answer is read in the form that it has. */
async function receive(
  call: Call,
  target: Target,
  request: Request,
  reply: Reply,
  options: ModelPerformerOptions,
): Promise<void> {
  const isStream = options.stream === true || call.onText !== undefined;
  const form: ResponseForm = { isStream };
  try {
    await receiveAs(form, call, target, request, reply, options);
  } catch (error) {
    const { other } = form;
    if (other === undefined) throw error;
    await receiveAs({ isStream: !isStream }, call, target, request, reply, { ...options, fetch: async () => other });
  }
}

async function receiveAs(
  form: ResponseForm,
  call: Call,
  target: Target,
  request: Request,
  reply: Reply,
  { fetch, idleTimeoutMs = IDLE_TIMEOUT_MS, documentDir = '.' }: ModelPerformerOptions,
): Promise<void> {
  const { signal } = call;
  const { tuning } = request;
  const folder = call.pins?.documentDir ?? documentDir;
  const model = await connect(target, { fetch, idleTimeoutMs, folder, body: tuning.body, form });
  signal.throwIfAborted();
  const wire = watchWire(target.how.protocol);
  const watched = target.how.protocol === 'package' ? watchOptions(target, model.provider) : undefined;
  const options = { ...request.options, ...(watched && { providerOptions: watched.providerOptions }) };
  if (!form.isStream) {
    const result = await model.doGenerate(options);
    readBody(result, reply);
    refuseLosses(result.warnings, tuning, target);
    wire.see(result.response?.body);
  } else {
    const result = await model.doStream({ ...options, includeRawChunks: true });
    const redactor = new StreamRedactor<StreamedPart>(target.secrets);
    const show = (text: string, part: StreamedPart): void => {
      if (text !== '') call.onText?.(text, part);
    };
    await readStream(result.stream, reply, {
      raw: wire.see,
      unreadable: wire.unreadable,
      warned: (warnings) => refuseLosses(warnings, tuning, target),
      text: (delta, part) => show(redactor.push(delta, part), part),
    });
    for (const [text, part] of redactor.end()) show(text, part);
  }
  wire.correct(reply);
  watched?.refuseUnread();
}

/** A reply counts only if the model finished it. The flow decides whether another request continues a reply that broke off. */
function resultOf(reply: Reply, target: Target, request: Request, call: Call): Settled {
  const error = problemOf(reply, target, request.options.maxOutputTokens);
  if (error?.transportRetries !== undefined && !hasArrived(reply)) return { ok: false, error };
  const isCut = error?.transportRetries !== undefined && !isMeasured(reply);
  const used = usageOf(reply, target, sentText(request));
  const structured = request.options.responseFormat !== undefined;
  const record = (): Json => {
    const value = redactValue(recordOf(reply, target, request.offer, structured), target.secrets);
    return continued(call.command.input['partial'], value);
  };
  if (error === null) return { ok: true, value: record(), used };
  const more = continuationOf(reply, error, agentOf(call));
  if (more === null) return { ok: false, error: isCut ? { ...error, unmeasured: true } : error, used };
  const { continuations, isPaused } = more;
  const partial = { ...(record() as { readonly [field: string]: Json }), ...(isPaused ? { paused: true } : {}) };
  return { ok: false, error: { ...error, partial, continuations }, used };
}

/** True if the provider reported all that it charges for. */
function isMeasured({ usage }: Reply): boolean {
  return usage?.inputTokens.total !== undefined && usage.outputTokens.total !== undefined;
}

/** The usage of a reply that broke off is estimated from what arrived. */
function partialUsage(reply: Reply, target: Target, request: Request): Pick<Settled, 'used'> {
  return hasArrived(reply) ? { used: usageOf(reply, target, sentText(request)) } : {};
}

function hasArrived({ parts, usage }: Reply): boolean {
  return parts.length > 0 || usage?.inputTokens.total !== undefined || usage?.outputTokens.total !== undefined;
}

function sentText({ options }: Request): string {
  const isData = (value: unknown): boolean => value instanceof Uint8Array;
  return JSON.stringify([options.prompt, options.tools ?? []], (_, value: unknown) => (isData(value) ? null : value));
}
