/** What is said between an agent and the world, one message at a time, as providers know it. */
import type { Json } from '../../expr/json.ts';

export interface ToolRequest {
  readonly id: string;
  readonly name: string;
  readonly args: Json;
}
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** What an assistant asked to be done. */
  readonly toolCalls?: readonly ToolRequest[];
  /** Of a tool's message: which request it answers. */
  readonly toolCallId?: string;
  /** Of a tool's message: which tool. */
  readonly name?: string;
}

/** What was said in one turn: replies and the results of what they asked for. */
export function turnOf(value: Json | undefined): Message[] {
  if (!Array.isArray(value)) return [];
  return (value as unknown as readonly Recorded[]).map(({ role, content, toolCalls, toolCallId, name, source }) => ({
    role,
    content: typeof source === 'string' ? labelled(textOf(content), source) : textOf(content),
    ...(Array.isArray(toolCalls) && toolCalls.length > 0 ? { toolCalls } : {}),
    ...(typeof toolCallId === 'string' ? { toolCallId } : {}),
    ...(typeof name === 'string' ? { name } : {}),
  }));
}

/** What came from outside is data: it is fenced, so that nobody takes it for something that they were told to do. */
function labelled(text: string, source: string): string {
  return `<data from="${source}">\n${text.replaceAll('</data>', '<\\/data>')}\n</data>`;
}

export function textOf(value: Json): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}

/** A message as it stands in a slot: fields that came to nothing are null. */
interface Recorded {
  readonly role: Message['role'];
  readonly content: Json;
  readonly toolCalls?: readonly ToolRequest[] | null;
  readonly toolCallId?: string | null;
  readonly name?: string | null;
  /** Which tool it comes from, where it is to be shown as data from outside. */
  readonly source?: string | null;
}
