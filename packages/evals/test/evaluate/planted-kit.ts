/** Documents and scripts from which the planted runs are made. */
import type { Script } from '@sluice-internal/library/host';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import type { MemoryStore } from '@sluice-internal/engine/ports';
import type { Peers } from '../../src/diagnose/detector.ts';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';

export interface Given {
  readonly document: object;
  readonly script: object;
  readonly input?: string;
  readonly memory?: MemoryStore;
  readonly peers?: Partial<Peers>;
}

/** A run that has the pathology, and a run that nearly has it. */
export type Planted = readonly [planted: () => Promise<Given> | Given, near: () => Promise<Given> | Given];

export const call = (name: string, args: object = { n: 1 }, usage?: object) => ({
  text: '',
  tools: [{ name, args }],
  ...(usage === undefined ? {} : { usage }),
});
export const bot = (replies: readonly unknown[], tools: object = {}, more: object = {}) => ({
  agents: { bot: replies },
  tools: { find: [{ result: 7 }], save: [{ result: 1 }], ...tools },
  approvals: { save: 'approve' },
  ...more,
});
export const loop = (more: object = {}, tools: object = {}) => ({
  agents: [{ id: 'bot', tools: ['find', 'save', ...Object.keys(tools)] }],
  tools: { find: { effect: 'read' }, save: { effect: 'write' }, ...tools },
  loop: { agent: 'bot' },
  ...more,
});
export const agentFlow = (tools: object = {}, agent: object = {}, more: object = {}) => ({
  agents: [{ id: 'bot', tools: Object.keys(tools), ...agent }],
  tools,
  flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  ...more,
});
export const steps = (count: number, result: (n: number) => unknown) =>
  Array.from({ length: count }, (_, n) => result(n + 1));
export const workflow = (all: readonly object[]) => ({ workflow: { name: 'w', steps: all } });
export const again = (until: string) => [
  { name: 'work', agent_name: 'author', mode: { Loop: { until, max_iterations: 4 } } },
];
export const reviewed = [
  { name: 'draft', agent_name: 'author' },
  { name: 'review', agent_name: 'critic' },
  { name: 'redraft', agent_name: 'author' },
];
export const reviewScript = (second: string) => ({
  agents: { author: ['A text that is long enough to compare.', second], critic: ['Could be better.'] },
});
export const planning = {
  agents: [{ id: 'boss' }, { id: 'bot', tools: ['find'] }],
  tools: { find: { effect: 'read' } },
  loop: { planner: 'boss', executor: 'bot' },
};
export const plan = (...goals: readonly string[]) =>
  JSON.stringify({ steps: goals.map((goal, n) => ({ id: `s${n}`, do: goal })) });
export const parallel = (timeout: object) => ({
  agents: [{ id: 'bot' }],
  flow: {
    id: 'f',
    entry: 'both',
    nodes: [
      { id: 'both', type: 'parallel', branches: [{ to: 'quick' }, { to: 'slow' }], join: { type: 'all', ...timeout } },
      { id: 'quick', type: 'agent', agent: 'bot' },
      { id: 'slow', type: 'agent', agent: 'bot' },
    ],
  },
});
export const asking = {
  flow: {
    id: 'f',
    entry: 'gate',
    nodes: [
      {
        id: 'gate',
        type: 'approval',
        message: 'Go on?',
        choices: ['approve', 'reject'],
        timeout: 60,
        on_timeout: 'reject',
      },
    ],
  },
};
export const mapping = {
  agents: [{ id: 'bot' }],
  flow: {
    id: 'f',
    entry: 'each',
    nodes: [
      { id: 'each', type: 'map', over: '{{event.payload.items}}', as: 'item', do: 'one' },
      { id: 'one', type: 'agent', agent: 'bot', input: { task: '{{item}}' } },
    ],
  },
};
export const trusted = (...allow: readonly string[]) => ({ boundary: { tools: { allow }, untrusted: 'off' } });

export async function remembered(): Promise<MemoryStore> {
  const memory = createMemoryStore();
  const script = bot([call('find'), 'the code is X-4711'], { find: [{ result: 'the code is X-4711' }] });
  await drive(compileLoop(loop({ loop: { agent: 'bot', memory: { quarantine: 'off' } } })), script as Script, {
    memory,
    input: 'the code?',
  });
  return memory;
}
