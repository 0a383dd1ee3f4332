/** Decides by the finish reason whether a reply is complete, is continued with another request, or has failed. */
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { Failure } from '../../ir/events.ts';
import type { AgentDef } from '../../ir/nodes.ts';
import { CONTINUE } from '../prompt/prompt.ts';
import { redactText } from '../redact.ts';
import { callsOf, textOf } from './reply.ts';
import type { Reply } from './reply.ts';
import type { Target } from './target.ts';

const PAUSES_MAX = 5;

/** The failure of a reply that cannot count as one; null for a complete reply. */
export function problemOf(reply: Reply, target: Target, maxOutputTokens: number | undefined): Failure | null {
  const { unified, raw = '' } = reply.finish ?? {};
  const { name } = target;
  const word = raw.toLowerCase();
  if (unified === 'content-filter' || REFUSED.test(word))
    return { class: 'refused', type: 'RefusalError', message: refusal(textOf(reply), raw, target) };
  if (TOO_LONG.test(word))
    return {
      class: 'fatal',
      type: 'ContextLengthError',
      message: `${name}: the reply does not fit the context window`,
    };
  if (unified === 'length' || TRUNCATED.test(word))
    return { class: 'semantic', type: 'TruncatedReplyError', message: truncated(name, maxOutputTokens) };
  return interruption(reply, target);
}

/** A reply that stopped for a reason of the provider, or has no content. */
function interruption(reply: Reply, { name, how }: Target): Failure | null {
  const { unified = 'error', raw = '' } = reply.finish ?? {};
  const isEmpty = textOf(reply).trim() === '' && callsOf(reply).length === 0;
  const isUnknown = unified === 'other' && (isEmpty || how.protocol === 'anthropic');
  if (unified === 'error' || unified === 'interrupted' || (isUnknown && raw === ''))
    return { class: 'transient', type: 'TransientError', message: `${name}: the reply is incomplete` };
  if (UNFINISHED.test(raw.toLowerCase()) || (isUnknown && !isEmpty))
    return {
      class: 'transient',
      type: 'UnfinishedReplyError',
      message: `${name}: the reply is not finished (${raw})`,
    };
  return isEmpty ? { class: 'transient', type: 'EmptyReplyError', message: `${name}: the reply is empty` } : null;
}

/**
 * Finish reasons of all providers. Servers use the words of another provider too, and the AI SDK reports a word that it does
 * not know as `other`. An unknown word of a server that speaks Chat Completions counts as a finished reply.
 */
const REFUSED = /^(refus(al|ed)|content_filter(ed)?|safety)$/;
const TOO_LONG = /context_(window|length)|^model_length$/;
const TRUNCATED = /^(length|max_tokens|max_output_tokens|max_completion_tokens)$/;
const UNFINISHED =
  /^(incomplete|in_progress|queued|cancell?ed|abort(ed)?|error|failed|interrupted|time_?out|time_limit|other|pause_turn|compaction|insufficient_system_resource)$/;
/** The provider pauses a long reply and continues it on request. */
const PAUSED = /^(pause_turn|compaction)$/;

/** The messages to send after the reply so that the model continues it; null if it must not or need not continue. */
export function continuation(reply: Reply, agent: AgentDef, round: number): LanguageModelV4Prompt | null {
  const { unified, raw = '' } = reply.finish ?? {};
  if (PAUSED.test(raw)) return round <= PAUSES_MAX ? [] : null;
  // A limit was reserved from the budget, so more output than that is not asked for.
  const isFree = agent.maxOutputTokens === null && callsOf(reply).length === 0 && textOf(reply) !== '';
  const isTruncated = unified === 'length' || TRUNCATED.test(raw.toLowerCase());
  if (!isTruncated || TOO_LONG.test(raw.toLowerCase()) || !isFree || round > 1) return null;
  return [{ role: 'user', content: [{ type: 'text', text: CONTINUE }] }];
}

type Content = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/** The reply so far as a message of the next request. */
export function assistantMessage({ parts }: Reply): LanguageModelV4Message {
  const content = parts.flatMap((part): Content => {
    const options = part.metadata === undefined ? {} : { providerOptions: part.metadata };
    if (part.type === 'call') return [];
    if (part.type === 'custom') return [{ type: 'custom', kind: part.kind, ...options }];
    return [{ type: part.type, text: part.text, ...options }];
  });
  return { role: 'assistant', content };
}

/** Adds the reply of a further request. */
export function append(reply: Reply, rest: Reply): void {
  reply.parts.push(...rest.parts);
  reply.finish = rest.finish;
  reply.metadata = rest.metadata;
  reply.usage =
    reply.usage === null || rest.usage === null ? (rest.usage ?? reply.usage) : sum(reply.usage, rest.usage);
}

function sum(a: LanguageModelV4Usage, b: LanguageModelV4Usage): LanguageModelV4Usage {
  const add = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
  return {
    inputTokens: {
      total: add(a.inputTokens.total, b.inputTokens.total),
      noCache: add(a.inputTokens.noCache, b.inputTokens.noCache),
      cacheRead: add(a.inputTokens.cacheRead, b.inputTokens.cacheRead),
      cacheWrite: add(a.inputTokens.cacheWrite, b.inputTokens.cacheWrite),
    },
    outputTokens: {
      total: add(a.outputTokens.total, b.outputTokens.total),
      text: add(a.outputTokens.text, b.outputTokens.text),
      reasoning: add(a.outputTokens.reasoning, b.outputTokens.reasoning),
    },
  };
}

function truncated(name: string, maxOutputTokens: number | undefined): string {
  const help = 'set `max_output_tokens` on the agent to allow more';
  return maxOutputTokens === undefined
    ? `${name}: the reply reached the output limit of the model twice`
    : `${name}: the reply reached its limit of ${maxOutputTokens} output tokens; ${help}`;
}

function refusal(text: string, raw: string, { name, secrets }: Target): string {
  const words = redactText(text, secrets).replace(/\s+/g, ' ').trim().slice(0, 300);
  return `${name} refused${words === '' ? '' : `: ${words}`}${raw === '' ? '' : ` (${raw})`}`;
}
