/** The airline runs as documents and scripts: what a real model said and what real tools answered, in the order of the run. */
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';
import { existsSync, readFileSync } from 'node:fs';
import type { ModelEntry, Script, ToolEntry } from '../../../library/src/host/scripted/script.ts';
import type { Json } from '@sluice-internal/kernel/expr';

export const AIRLINE = new URL('tau-airline/', EVAL_DATA);

interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly content?: string | null;
  readonly tool_calls?: readonly { readonly name: string; readonly args: string }[];
}
export interface Trajectory {
  readonly task_id: number;
  readonly trial: number;
  readonly n_calls: number;
  readonly exact_loop_5_3_at: number | null;
  readonly messages: readonly Message[];
}
export interface ToolCall {
  readonly name: string;
  readonly args: Json;
}

export function isThere(): boolean {
  return existsSync(new URL('trajectories.jsonl', AIRLINE));
}

export function trajectories(): readonly Trajectory[] {
  const lines = readFileSync(new URL('trajectories.jsonl', AIRLINE), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Trajectory);
}

export const MUTATING: ReadonlySet<string> = new Set(
  toolList().flatMap(({ x_mutates, function: { name } }) => (x_mutates ? [name] : [])),
);

/** One agent with the airline's tools. */
export function airlineDocument(budgets: { readonly [field: string]: number }): object {
  const tools = toolList().map(({ x_mutates, function: { name, description, parameters } }) => [
    name,
    { description, input: parameters, effect: x_mutates ? 'write' : 'read' },
  ]);
  return {
    agents: [{ id: 'clerk', instructions: 'Help the customer.', tools: tools.map(([name]) => name) }],
    tools: Object.fromEntries(tools) as object,
    budgets,
    loop: { id: 'airline', agent: 'clerk', grounding: { values: 'off' } },
  };
}

export function callsOf({ messages }: Trajectory): readonly ToolCall[] {
  return messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ name, args }) => ({ name, args: argsOf(args) })));
}

/** How many tool results in a row were errors, at the most. */
export function failuresInARow({ messages }: Trajectory): number {
  let [most, now] = [0, 0];
  for (const { role, content } of messages) {
    if (role !== 'tool') continue;
    now = isError(content ?? '') ? now + 1 : 0;
    most = Math.max(most, now);
  }
  return most;
}

/** The domain's tools say so in words. */
function isError(content: string): boolean {
  return content.startsWith('Error');
}

/** What the customer said after each question, in order. */
export interface Played {
  readonly script: Script;
  readonly input: string;
  readonly answers: readonly string[];
}

export function playOf({ messages }: Trajectory): Played {
  const entries: (string | ModelEntry)[] = [];
  const tools: { [name: string]: ToolEntry[] } = {};
  const answers: string[] = [];
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const waiting: string[] = [];
  messages.forEach((message, index) => {
    const { role, tool_calls = [] } = message;
    const content = message.content ?? '';
    if (role === 'user' && index > 0 && index < last) answers.push(content);
    if (role === 'tool')
      (tools[waiting.shift() ?? ''] ??= []).push(
        isError(content) ? { error: 'fatal', message: content } : { result: content },
      );
    if (role !== 'assistant') return;
    waiting.push(...tool_calls.map(({ name }) => name));
    if (tool_calls.length > 0)
      entries.push({ text: content, tools: tool_calls.map(({ name, args }) => ({ name, args: argsOf(args) })) });
    else
      entries.push(
        index === last
          ? JSON.stringify({ status: 'complete', answer: content })
          : JSON.stringify({ status: 'missing_info', question: content }),
      );
  });
  if (messages.at(-1)?.role === 'tool' || (messages[last]?.tool_calls?.length ?? 0) > 0)
    entries.push(JSON.stringify({ status: 'complete', answer: 'handed over' }));
  return { script: { agents: { clerk: entries }, tools, strict: true }, input: messages[0]?.content ?? '', answers };
}

interface Tool {
  readonly x_mutates: boolean;
  readonly function: { readonly name: string; readonly description: string; readonly parameters: Json };
}

function toolList(): readonly Tool[] {
  return isThere() ? (JSON.parse(readFileSync(new URL('airline_tools.json', AIRLINE), 'utf8')) as Tool[]) : [];
}

function argsOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return { malformed: text };
  }
}
