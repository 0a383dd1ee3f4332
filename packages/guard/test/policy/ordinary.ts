/** An ordinary task of a profile as a document and a script. */
import type { Script } from '../../../library/src/host/scripted/script.ts';
import type { Json } from '@sluice-internal/kernel/expr';

export type Call = readonly [tool: string, args: Json, result: Json];
export interface Task {
  readonly name: string;
  readonly profile: string;
  readonly tools: { readonly [name: string]: object };
  readonly input: Json;
  readonly calls: readonly Call[];
  readonly answer: string;
  /** The tools that a person is asked about, in order. */
  readonly asks?: readonly string[];
  readonly budgets?: object;
}

export const READ = { effect: 'read' };
export const exit = (exitCode: number, stdout: string) => ({ exitCode, stdout, stderr: '' });
export const CODE_TOOLS = {
  'fs.read': { effect: 'read', category: 'file_system' },
  'fs.write': { effect: 'write', category: 'file_system' },
  'sandbox.exec': { effect: 'write', category: 'sandbox' },
};

export function documentOf({ profile, tools, budgets }: Task): object {
  return {
    tools,
    agents: [{ id: 'bot', instructions: 'Do what you are asked.', tools: Object.keys(tools) }],
    boundary: { profile },
    loop: { agent: 'bot' },
    ...(budgets === undefined ? {} : { budgets }),
  };
}

export function scriptOf({ calls, answer, asks = [] }: Task): Script {
  const tools: { [name: string]: { result: Json }[] } = {};
  for (const [tool, , result] of calls) (tools[tool] ??= []).push({ result });
  const turns = calls.map(([name, args]) => ({ text: '', tools: [{ name, args: args as never }] }));
  return { agents: { bot: [...turns, answer] }, tools, approvals: Object.fromEntries(asks.map((t) => [t, 'approve'])) };
}
