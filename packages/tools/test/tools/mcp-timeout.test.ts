/** The time of a call of an MCP tool: its own, else that of its server, else 30 s. */
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';

test('the timeout of a server holds for its tools', () => {
  const { flow } = compile({
    mcp: { s: { command: 'node', timeout: 90 }, t: { command: 'node' } },
    tools: {
      's.declared': { mcp: 's/declared', effect: 'read' },
      's.own': { mcp: 's/own', effect: 'read', timeout: 5 },
    },
    agents: [{ id: 'bot', tools: ['s.declared', 's.own', 's.other', 't.look'] }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  const times = ['s.declared', 's.own', 's.other', 't.look'].map((name) => flow?.tools[name]?.timeoutMs);
  expect(times).toEqual([90_000, 5_000, 90_000, 30_000]);
});
