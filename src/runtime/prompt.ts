/** The messages of a model call, exactly as a provider is sent them: derived from the command, so a fold gives them again. */
import type { CompiledFlow } from '../core/ir.ts';
import type { Json } from '../core/json.ts';
import type { Command } from '../core/run.ts';

export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
}

export function promptOf(flow: CompiledFlow, command: Pick<Command, 'name' | 'input'>): Message[] {
  const messages: Message[] = [];
  const instructions = flow.agents[command.name]?.instructions ?? '';
  if (instructions !== '') messages.push({ role: 'system', content: instructions });
  const { prompt, messages: history } = command.input;
  if (Array.isArray(history)) messages.push(...(history as unknown as Message[]));
  if (prompt !== undefined && prompt !== null) messages.push({ role: 'user', content: textOf(prompt) });
  return messages;
}

export function promptText(messages: readonly Message[]): string {
  return messages.map(({ content }) => content).join('\n');
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
