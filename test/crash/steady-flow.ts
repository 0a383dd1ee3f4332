/** A chain of equal tool calls: the plainest flow that keeps the journal growing. */
import { hash } from 'node:crypto';
import { seal } from '@sluice-internal/compile/prove';
import type { CompiledFlow, Node } from '@sluice-internal/kernel/ir';

export function steadyFlow(steps: number): CompiledFlow {
  const nodes: { [id: string]: Node } = {
    entry: {
      op: 'let',
      label: { name: 'entry' },
      writes: [{ slot: 'acc', mode: 'set', value: 'input.acc' }],
      next: 's0',
    },
    done: { op: 'end', label: { name: 'done' }, state: 'completed', code: 'SUCCESS', output: 'acc' },
    fail: { op: 'end', label: { name: 'fail' }, state: 'failed', code: 'error', output: 'null' },
  };
  for (let index = 0; index < steps; index++)
    nodes[`s${index}`] = {
      op: 'do',
      label: { name: `s${index}`, enters: `s${index}` },
      effect: {
        kind: 'tool',
        tool: 'apply',
        input: { args: `{"at": 's${index}', "acc": acc}` },
        reserve: { toolCalls: 1 },
      },
      writes: [{ slot: 'acc', mode: 'set', value: 'it.acc' }],
      timeoutMs: 600_000,
      retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
      next: index + 1 < steps ? `s${index + 1}` : 'done',
      failed: [],
      fail: 'fail',
    };
  const parts = { entry: 'entry', fail: 'fail', nodes, meters: {}, agents: {}, tools: {}, models: {}, least: {} };
  return seal({ ir: 1, id: 'steady', notation: 'test', ...parts }, (text) => hash('sha256', text, 'hex'));
}
