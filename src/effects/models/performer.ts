/**
 * Performs model calls against real providers: one HTTP request each, without retries of its own, since retries are the
 * flow's to decide and the journal's to know. Whatever is no model call goes to `otherwise`.
 */
import type { EffectKey, RunId, Settled } from '../../ir/events.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { classify } from './classify.ts';
import { connect } from './connect.ts';
import type { Fetch } from './one-request.ts';
import { createPace } from './pace.ts';
import { redactText, redactValue } from '../redact.ts';
import { emptyReply, readBody, readStream } from './reply.ts';
import type { Reply } from './reply.ts';
import { requestFor } from './request.ts';
import type { Request } from './request.ts';
import { demandKey, targetOf } from './target.ts';
import type { Target, TargetOptions } from './target.ts';
import type { Describe } from './tool-names.ts';
import { usedBy, valueOf } from './value.ts';
import { watchWire } from './wire.ts';

export interface ModelPerformerOptions extends TargetOptions {
  /** Hears the text of replies as it comes, beside the journal. */
  readonly onDelta?: (run: RunId, key: EffectKey, text: string) => void;
  /** Whether replies are streamed even before somebody listens; otherwise those are that begin while somebody does. */
  readonly stream?: boolean;
  /** What tools take, where the flow alone does not know. */
  readonly describe?: Describe;
  /** What becomes of a call for which a model, a provider or a key is missing; a fatal failure unless told. */
  readonly onLacking?: (call: Call, lack: SluiceError) => Promise<Settled>;
  readonly fetch?: Fetch;
}

export function modelPerformer(options: ModelPerformerOptions = {}, otherwise?: Performer): Performer {
  const pace = createPace();
  return {
    perform: async (call) => {
      const { kind, name } = call.command;
      if (kind === 'model') {
        const target = reachable(call, options);
        if (target instanceof SluiceError) return (options.onLacking ?? notConfigured)(call, target);
        await pace.wait(target, call.clock, call.signal);
        return ask(call, target, options);
      }
      if (otherwise !== undefined) return otherwise.perform(call);
      throw new PerformError({
        class: 'fatal',
        type: 'NotConfiguredError',
        message: `the ${kind} \`${name}\` has no implementation`,
      });
    },
    ...(otherwise?.answer === undefined ? {} : { answer: otherwise.answer }),
  };
}

async function ask(call: Call, target: Target, options: ModelPerformerOptions): Promise<Settled> {
  const { command, flow } = call;
  const agent = flow.agents[command.name];
  if (agent === undefined)
    throw new PerformError({
      class: 'fatal',
      type: 'NotConfiguredError',
      message: `agent \`${command.name}\` is not in the flow`,
    });
  const request = requestFor(call, agent, target, options.describe);
  const reply = emptyReply();
  try {
    await received(call, target, request, reply, options);
  } catch (error) {
    if (call.signal.aborted) throw error;
    return { ok: false, error: classify(error, target, call.clock.now()), ...measured(reply, target, request) };
  }
  const used = usedBy(reply, target, sentText(request));
  switch (isNothing(reply) ? undefined : reply.finish?.unified) {
    case 'content-filter':
      return { ok: false, error: { class: 'refused', type: 'RefusalError', message: refusal(reply, target) }, used };
    case undefined:
    case 'error':
    case 'interrupted':
      return {
        ok: false,
        error: { class: 'transient', type: 'TransientError', message: `${target.name}: the reply broke off` },
        used,
      };
    default:
      return { ok: true, value: redactValue(valueOf(reply, target, request.offer), target.key), used };
  }
}

async function received(
  call: Call,
  target: Target,
  { options }: Request,
  reply: Reply,
  { onDelta, stream = false, fetch }: ModelPerformerOptions,
): Promise<void> {
  const { command, signal } = call;
  const model = await connect(target, fetch);
  signal.throwIfAborted();
  const wire = watchWire(target.how.protocol);
  if (!stream && onDelta === undefined && call.hear === undefined) {
    const result = await model.doGenerate(options);
    Object.assign(reply, readBody(result, options.responseFormat !== undefined));
    wire.see(result.response?.body);
  } else {
    const { stream: pieces } = await model.doStream({ ...options, includeRawChunks: true });
    await readStream(pieces, reply, {
      raw: wire.see,
      unreadable: wire.unreadable,
      text: (text) => {
        const said = redactValue(text, target.key);
        onDelta?.(command.run, command.key, said);
        call.hear?.(said);
      },
    });
  }
  wire.settle(reply);
}

/** A reply that broke off was paid for as far as it came; one that never began was not. */
function measured(reply: Reply, target: Target, request: Request): Pick<Settled, 'used'> {
  const began = reply.text !== '' || reply.calls.length > 0 || reply.thoughts.length > 0;
  return began || reply.usage !== null ? { used: usedBy(reply, target, sentText(request)) } : {};
}

/** A body that has the form of a reply and says nothing, not even why it ends. */
function isNothing({ text, calls, finish }: Reply): boolean {
  return text === '' && calls.length === 0 && finish?.unified === 'other' && finish.raw === undefined;
}

function sentText({ options }: Request): string {
  return JSON.stringify([options.prompt, options.tools ?? []]);
}

function refusal({ text, finish }: Reply, { name, key }: Target): string {
  const said = redactText(text, key).replace(/\s+/g, ' ').trim().slice(0, 300);
  return `${name} refused${said === '' ? '' : `: ${said}`}${finish?.raw === undefined ? '' : ` (${finish.raw})`}`;
}

function reachable({ flow, command }: Call, options: ModelPerformerOptions): Target | SluiceError {
  try {
    const target = targetOf(flow, command.name, command.model, options);
    demandKey(target);
    return target;
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
}

async function notConfigured(_: Call, { message }: SluiceError): Promise<Settled> {
  return { ok: false, error: { class: 'fatal', type: 'NotConfiguredError', message } };
}
