/** Decides by the finish reason whether a reply is complete, is continued with another request, or has failed. */
import type { AgentDef, Failure } from '@sluice-internal/kernel/ir';
import { redactText } from '@sluice-internal/platform';
import { callsOf, textOf, type Reply } from './reply.ts';
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
function interruption(reply: Reply, { name, how, retries }: Target): Failure | null {
  const { unified = 'error', raw = '' } = reply.finish ?? {};
  const isEmpty = textOf(reply).trim() === '' && callsOf(reply).length === 0;
  const isUnknown = unified === 'other' && (isEmpty || WELL_KNOWN.has(how.protocol));
  if (unified === 'error' || unified === 'interrupted' || (isUnknown && raw === ''))
    return {
      class: 'transient',
      type: 'TransientError',
      message: `${name}: the reply is incomplete`,
      // The connection ended before the reply did.
      transportRetries: retries,
    };
  if (UNFINISHED.test(raw.toLowerCase()) || (isUnknown && !isEmpty))
    return {
      class: 'transient',
      type: 'UnfinishedReplyError',
      message: `${name}: the reply is not finished (${raw})`,
    };
  return isEmpty ? { class: 'transient', type: 'EmptyReplyError', message: `${name}: the reply is empty` } : null;
}

/** Protocols in which a finished reply always has one of the known words. */
const WELL_KNOWN: ReadonlySet<string> = new Set(['anthropic', 'google']);

/**
 * Finish reasons of all providers. Servers use the words of another provider too, and the AI SDK reports a word that it does
 * not know as `other`. An unknown word of a server that speaks Chat Completions counts as a finished reply.
 */
const REFUSED = /^(refus(al|ed)|content_filter(ed)?|safety)$/;
const TOO_LONG = /context_(window|length)|^model_length$/;
const TRUNCATED = /^(length|max_tokens|max_output_tokens|max_completion_tokens)$/;
const UNFINISHED =
  /^(incomplete|in_progress|queued|cancell?ed|abort(ed)?|error|failed|interrupted|time_?out|time_limit|other|pause_turn|compaction|insufficient_system_resource)$/;
/** The provider pauses a long reply, and continues it if it gets the reply back. */
const PAUSED = /^(pause_turn|compaction)$/;

interface Continuation {
  /** The most requests that may continue one reply. */
  readonly continuations: number;
  /** The provider paused the reply, and continues it without being asked to. */
  readonly isPaused: boolean;
}

/** The way to continue an incomplete reply; null if it must not be continued. */
export function continuationOf(reply: Reply, { type }: Failure, agent: AgentDef): Continuation | null {
  if (PAUSED.test(reply.finish?.raw ?? ''))
    return reply.parts.length === 0 ? null : { continuations: PAUSES_MAX, isPaused: true };
  if (type !== 'TruncatedReplyError' || callsOf(reply).length > 0 || textOf(reply) === '') return null;
  // A limit of the author holds. A limit that only a budget needs is raised once, if the budget has room.
  const continuations = agent.maxOutputTokens === null ? 1 : (agent.continuations ?? 0);
  return continuations === 0 ? null : { continuations, isPaused: false };
}

function truncated(name: string, maxOutputTokens: number | undefined): string {
  const help = 'set `max_output_tokens` on the agent to allow more';
  return maxOutputTokens === undefined
    ? `${name}: the reply reached the output limit of the model`
    : `${name}: the reply reached its limit of ${maxOutputTokens} output tokens; ${help}`;
}

function refusal(text: string, raw: string, { name, secrets }: Target): string {
  const words = redactText(text, secrets).replace(/\s+/g, ' ').trim().slice(0, 300);
  return `${name} refused${words === '' ? '' : `: ${words}`}${raw === '' ? '' : ` (${raw})`}`;
}
