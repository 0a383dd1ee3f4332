/**
 * The messages of a model call, exactly as a provider is sent them: derived from the command, so a fold gives them again.
 * In this order: the agent's instructions, what it may see of the shared history, what was assembled for it, notes for this
 * call alone, the prompt, and what it has said and been told since it was asked.
 */
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Command } from '../../ir/events.ts';
import { viewHistory } from './history-view.ts';
import type { Item, View } from './history-view.ts';
import { textOf, turnOf } from './messages.ts';
import type { Message } from './messages.ts';

export type { Message, ToolRequest } from './messages.ts';

export function promptOf(flow: CompiledFlow, command: Pick<Command, 'name' | 'input'>): Message[] {
  const messages: Message[] = [];
  const agent = flow.agents[command.name];
  const instructions = agent?.instructions ?? '';
  if (instructions !== '') messages.push({ role: 'system', content: instructions });
  const { prompt, messages: said, history, view, context, recap, notes } = command.input;
  const reader = {
    id: command.name,
    name: agent?.name ?? command.name,
    context: context ?? null,
    recap: recap ?? null,
  };
  messages.push(...viewHistory(itemsOf(history), (view ?? {}) as View, reader));
  messages.push(...viewHistory(itemsOf(notes), {}, { ...reader, context: null, recap: null }));
  if (prompt !== undefined && prompt !== null) messages.push({ role: 'user', content: textOf(prompt) });
  messages.push(...turnOf(said));
  return messages;
}

export function promptText(messages: readonly Message[]): string {
  return messages.map(({ content }) => content).join('\n');
}

function itemsOf(value: Json | undefined): readonly Item[] {
  return Array.isArray(value) ? (value as unknown as readonly Item[]) : [];
}
