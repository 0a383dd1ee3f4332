/**
 * Builds the messages of a model call from its command, so that a replay builds the same ones. The order is: instructions,
 * visible history, context, notes for this call, the prompt, the messages of the current turn, and a reply to repair or continue.
 */
import type { Command, CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { viewHistory, viewTurn, type Item, type View } from './history-view.ts';
import { textOf, turnOf, type Message } from './messages.ts';

export function promptOf(flow: CompiledFlow, command: Pick<Command, 'name' | 'input'>): Message[] {
  const instructions = flow.agents[command.name]?.instructions ?? '';
  const { prompt, messages: turn, history, view, context, recap, notes } = command.input;
  const reader = { id: command.name, context: context ?? null, recap: recap ?? null };
  const messages: Message[] = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  messages.push(...viewHistory(itemsOf(history), (view ?? {}) as View, reader));
  messages.push(...viewHistory(itemsOf(notes), {}, { ...reader, context: null, recap: null }));
  if (prompt !== undefined && prompt !== null) messages.push({ role: 'user', content: textOf(prompt) });
  // Providers refuse a prompt that ends with a message of the model, or take that message as the start of its reply.
  if (messages.at(-1)?.role === 'assistant') messages.push({ role: 'user', content: YOUR_TURN });
  messages.push(
    ...viewTurn(turnOf(turn, reader.id), (view ?? {}) as View),
    ...repairMessages(command.input['repair']),
    ...partialMessages(command.input['partial']),
  );
  return messages;
}

const YOUR_TURN = 'It is your turn again.';
const CONTINUE = 'Your reply was cut off. Continue exactly where it stopped, and repeat nothing.';

/** The reply that broke off. The model is asked to continue it, unless the provider only paused it. */
function partialMessages(value: Json | undefined): Message[] {
  if (value === undefined || value === null) return [];
  const { text = '', parts = null, paused = false } = value as { readonly [field: string]: Json };
  const reply = turnOf([{ role: 'assistant', content: text, parts }]);
  return paused === true ? reply : [...reply, { role: 'user', content: CONTINUE }];
}

/** The reply that did not fit, and the reason. */
function repairMessages(value: Json | undefined): Message[] {
  if (value === undefined || value === null) return [];
  const { reply, problem } = value as { readonly reply: { readonly [field: string]: Json }; readonly problem: string };
  const { text = '', parts = null } = reply;
  const content = `This reply does not fit: ${problem}. Reply again with a reply that fits, and with nothing else.`;
  return [...turnOf([{ role: 'assistant', content: text, parts }]), { role: 'user', content }];
}

export function promptText(messages: readonly Message[]): string {
  return messages.map(({ content }) => content).join('\n');
}

function itemsOf(value: Json | undefined): readonly Item[] {
  return Array.isArray(value) ? (value as unknown as readonly Item[]) : [];
}
