/** The tool calls of one reply: at once, in order where they use the same resource, results in the order of the calls. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { compile } from '../../../library/src/compile.ts';
import type { ModelRequest } from '../../../library/src/host/functions.ts';
import { createEngine } from '@sluice-internal/library/compose';
import { freshDir } from './call.ts';

const ALL = { effect: 'read', input: { type: 'object' } };

/** Runs an agent that makes these calls in one reply. Gives the log of starts and ends. */
async function calls(names: readonly string[], tools: object, agent: object = {}) {
  const log: string[] = [];
  const slow = (name: string) => async (args: unknown) => {
    const { n } = args as { n: number };
    log.push(`+${n}`);
    await new Promise((resolve) => setTimeout(resolve, 300 - n * 60));
    log.push(`-${n}`);
    return `${name} ${n}`;
  };
  const seen: ModelRequest[] = [];
  const engine = createEngine({
    journal: openMemory(),
    tools: Object.fromEntries(Object.keys(tools).map((name) => [name, slow(name)])),
    toolOptions: { workDir: freshDir() },
    model: (request) => {
      seen.push(request);
      return seen.length > 1 ? 'done' : { text: '', toolCalls: names.map((name, n) => ({ name, args: { n } })) };
    },
  });
  onTestFinished(() => engine.close());
  const { flow, diagnostics } = compile({
    tools,
    agents: [{ id: 'bot', tools: Object.keys(tools), ...agent }],
    boundary: { tools: { allow: ['*'] } },
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const run = await engine.start(flow, { input: {} });
  const report = await engine.settled(run);
  const results = (seen[1]?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content);
  return { log, report, results };
}

describe('tool calls of one reply', () => {
  test('run at once, and the results are in the order of the calls', async () => {
    const { log, report, results } = await calls(['a.x', 'a.y', 'a.x'], { 'a.x': ALL, 'a.y': ALL });
    expect(report.code).toBe('SUCCESS');
    expect(log.slice(0, 3)).toEqual(['+0', '+1', '+2']);
    expect(log.slice(3)).toEqual(['-2', '-1', '-0']);
    expect(results).toEqual([
      expect.stringContaining('a.x 0'),
      expect.stringContaining('a.y 1'),
      expect.stringContaining('a.x 2'),
    ]);
  });

  test('run one after another where they use the same resource', async () => {
    const pay = { ...ALL, effect: 'financial', resource: 'account' };
    const { log, report } = await calls(['a.pay', 'a.pay', 'a.see'], { 'a.pay': pay, 'a.see': ALL });
    expect(report.code).toBe('SUCCESS');
    expect(log.slice(0, 2)).toEqual(['+0', '-0']);
    expect(log.slice(2, 4).toSorted()).toEqual(['+1', '+2']);
  });

  test('only read the same resource at once', async () => {
    const tools = { 'a.put': { ...ALL, effect: 'write', resource: 'r' }, 'a.get': { ...ALL, resource: 'r' } };
    const { log } = await calls(['a.put', 'a.get', 'a.get', 'a.put'], tools);
    expect(log).toEqual(['+0', '-0', '+1', '+2', '-2', '-1', '+3', '-3']);
  });

  test('have a width that the agent sets', async () => {
    const { log } = await calls(['a.x', 'a.x', 'a.x'], { 'a.x': ALL }, { tool_width: 1 });
    expect(log).toEqual(['+0', '-0', '+1', '-1', '+2', '-2']);
    const two = await calls(['a.x', 'a.x', 'a.x'], { 'a.x': ALL }, { tool_width: 2 });
    expect(two.log.slice(0, 3)).toEqual(['+0', '+1', '-1']);
  });

  test('have a width that an agent of a team sets', () => {
    const { flow } = compile({
      Orchestration: {
        Agents: [{ Name: 'Coder', Instructions: 'Code.', Plugins: ['FileSystem'], ToolWidth: 3 }],
        Selection: { Type: 'sequential' },
      },
    });
    const forks = Object.values(flow?.nodes ?? {}).flatMap((node) => (node.op === 'fork' ? [node.widthMax] : []));
    expect(forks).toEqual([3]);
  });

  test('carry the key of their call', async () => {
    const keyOf = { effect: 'read', input: { type: 'object' }, shell: 'printf %s "$SLUICE_IDEMPOTENCY_KEY"' };
    const seen: ModelRequest[] = [];
    const engine = createEngine({
      journal: openMemory(),
      toolOptions: { workDir: freshDir() },
      model: (request) => {
        seen.push(request);
        const call = { name: 'a.key', args: { n: seen.length } };
        return seen.length > 1 ? 'done' : { text: '', toolCalls: [call, { ...call, args: { n: 2 } }] };
      },
    });
    onTestFinished(() => engine.close());
    const { flow } = compile({
      tools: { 'a.key': keyOf },
      agents: [{ id: 'bot', tools: ['a.key'] }],
      boundary: { tools: { allow: ['*'] } },
      flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
    });
    if (flow === undefined) throw new Error('it does not compile');
    await engine.settled(await engine.start(flow, { input: {} }));
    const keys = (seen[1]?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => String(content));
    expect(keys.map((key) => /[0-9a-f]{64}/.test(key))).toEqual([true, true]);
    expect(keys[0]).not.toBe(keys[1]);
  });
});
