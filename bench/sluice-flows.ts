/** The shapes as documents that a user could write, and one graph by hand where no notation keeps a growing history yet. */
import { hash } from 'node:crypto';
import { seal } from '@sluice-internal/compile/prove';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';

const AGENTS = [{ id: 'worker', instructions: 'Work.' }];

export function chain(steps: number): CompiledFlow {
  const nodes = Array.from({ length: steps }, (_, index) => ({
    ...agentNode(`n${index}`),
    routes: [{ to: index + 1 < steps ? `n${index + 1}` : 'end' }],
  }));
  return compiled({ id: `chain_${steps}`, entry: 'n0', nodes });
}

/** Goes round until the cap ends it; the guard is evaluated every time. */
export function loop(visits: number): CompiledFlow {
  const routes = [
    { when: "body.output != 'stop'", to: 'body' },
    { when: 'default', to: 'end' },
  ];
  return compiled({
    id: `loop_${visits}`,
    entry: 'body',
    max_iterations: visits,
    nodes: [{ ...agentNode('body'), routes }],
  });
}

export function fanOut(branches: number): CompiledFlow {
  const heads = Array.from({ length: branches }, (_, index) => `b${index}`);
  const gather = {
    id: 'gather',
    type: 'parallel',
    branches: heads.map((to) => ({ to })),
    join: { type: 'all', timeout: 600 },
    routes: [{ to: 'end' }],
  };
  const nodes = [gather, ...heads.map((id) => ({ ...agentNode(id), routes: [{ to: 'end' }] }))];
  return compiled({ id: `fan_${branches}`, entry: 'gather', nodes });
}

export function gate(): CompiledFlow {
  const nodes = [{ id: 'gate', type: 'approval', message: 'Go on?', routes: [{ to: 'end' }] }];
  return compiled({ id: 'gate', entry: 'gate', nodes });
}

/** A conversation: every turn appends one message, and every call is given all of them. */
export function conversation(turns: number): CompiledFlow {
  return seal(
    {
      ir: 1,
      id: 'conversation',
      notation: 'flow',
      entry: 'turn',
      fail: 'failed',
      nodes: {
        turn: {
          op: 'do',
          label: { name: 'turn', enters: 'turn' },
          charges: ['steps', 'turns'],
          effect: { kind: 'model', agent: 'worker', input: { messages: 'history' }, reserve: { modelCalls: 1 } },
          writes: [{ slot: 'history', mode: 'append', value: { role: "'assistant'", content: 'it.text' } }],
          timeoutMs: null,
          retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
          next: 'turn',
          failed: [],
          fail: 'failed',
        },
        done: { op: 'end', label: { name: 'done' }, state: 'completed', code: 'SUCCESS', output: 'null' },
        failed: { op: 'end', label: { name: 'failed' }, state: 'failed', code: 'error', output: 'null' },
      },
      meters: {
        steps: { unit: 'steps', max: null, over: 'failed', label: 'steps' },
        turns: { unit: 'visits', max: turns, over: 'done', label: 'turns' },
      },
      agents: {
        worker: {
          id: 'worker',
          name: 'worker',
          model: null,
          instructions: '',
          tools: [],
          output: null,
          maxOutputTokens: null,
          temperature: null,
        },
      },
      tools: {},
      models: {},
      least: {},
    },
    (text) => hash('sha256', text, 'hex'),
  );
}

export function flowDocument(steps: number): object {
  const nodes = Array.from({ length: steps }, (_, index) => ({
    ...agentNode(`n${index}`),
    input: { task: index === 0 ? '{{event.payload.message}}' : `{{n${index - 1}.output}}` },
    routes: [{ to: index + 1 < steps ? `n${index + 1}` : 'end' }],
  }));
  return { agents: AGENTS, flow: { id: `doc_${steps}`, entry: 'n0', nodes } };
}

function agentNode(id: string): { id: string; type: string; agent: string; input: object } {
  return { id, type: 'agent', agent: 'worker', input: { task: 'go' } };
}

function compiled(flow: object): CompiledFlow {
  const { flow: result, diagnostics } = compile({ agents: AGENTS, flow });
  if (result === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return result;
}
