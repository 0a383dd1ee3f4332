/** The messages between an agent, its tools and its model. */
import type { Json } from '@sluice-internal/kernel/expr';

export interface ToolRequest {
  readonly id: string;
  readonly name: string;
  readonly args: Json;
}
/** One part of a reply, in the order of the provider. A `text` part without `text` stands for the whole content. */
export type ReplyPart =
  | { readonly type: 'text' | 'reasoning'; readonly text?: string; readonly providerMetadata?: Json }
  | { readonly type: 'call'; readonly id: string }
  | { readonly type: 'custom'; readonly kind: `${string}.${string}`; readonly providerMetadata?: Json };
/**
 * A message between an agent and its model.
 * @example
 * const message: Message = { role: 'user', content: 'Where is my parcel?' };
 */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** The tool calls that an assistant message proposes. */
  readonly toolCalls?: readonly ToolRequest[];
  /** The order and metadata of an assistant message. Default: the content, then the tool calls. */
  readonly parts?: readonly ReplyPart[];
  /** On a tool message: the id of the call that it answers. */
  readonly toolCallId?: string;
  /** On a tool message: the name of the tool. */
  readonly name?: string;
}

/**
 * Reads the messages of one turn from a slot: replies, the results of their tool calls, and remarks of people. A remark that another
 * agent has heard is left out.
 */
export function turnOf(value: Json | undefined, reader?: string): Message[] {
  if (!Array.isArray(value)) return [];
  const messages = value as unknown as readonly Recorded[];
  const own = messages.filter(({ to = null }) => to === null || to === reader);
  return own.map(({ role, content, toolCalls, parts, toolCallId, name, source, observation }) => ({
    role,
    content: typeof source === 'string' ? asData(textOf(content), source, observation) : textOf(content),
    ...(Array.isArray(toolCalls) && toolCalls.length > 0 ? { toolCalls } : {}),
    ...(Array.isArray(parts) ? { parts } : {}),
    ...(typeof toolCallId === 'string' ? { toolCallId } : {}),
    ...(typeof name === 'string' ? { name } : {}),
  }));
}

export function textOf(value: Json): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}

/** Marks text from outside as data, so that the model does not read it as an instruction. The text cannot end the mark. */
export function asData(text: string, source: string, id: string | null | undefined): string {
  const inner = text.replace(/<(\s*)\/(?=\s*data\b)/gi, '<$1\\/');
  return `<data from="${source}"${typeof id === 'string' ? ` id="${id}"` : ''}>\n${inner}\n</data>`;
}

/** A message as a slot holds it. Absent fields are null. */
interface Recorded {
  readonly role: Message['role'];
  readonly content: Json;
  readonly toolCalls?: readonly ToolRequest[] | null;
  readonly parts?: readonly ReplyPart[] | null;
  readonly toolCallId?: string | null;
  readonly name?: string | null;
  /** Of a remark: the agent that heard it. */
  readonly to?: string | null;
  /** The tool that the content came from, if the content is to be marked as data. */
  readonly source?: string | null;
  /** The id of the observation that the content became. */
  readonly observation?: string | null;
}
