import { describe, expect, test } from 'vitest';
import type { Lowered } from '../../src/lower/builder-types.ts';
import { createReport } from '../../src/source/diagnostics.ts';
import { createSource } from '../../src/source/range.ts';
import { verify } from '../../src/prove/verify.ts';
import type { DoNode, FlowBody, Meter, Node } from '@sluice-internal/kernel/ir';

const END: Node = { op: 'end', label: { name: 'end' }, state: 'completed', code: 'SUCCESS', output: 'null' };
const FAILED: Node = { op: 'end', label: { name: 'failed' }, state: 'failed', code: 'error', output: 'null' };
const go = (origin: string, next: string, more: Partial<Node> = {}): Node =>
  ({ op: 'let', label: { name: origin, enters: origin }, writes: [], next, ...more }) as Node;
const visits = (max: number | null, over = 'end'): Meter => ({ unit: 'visits', max, over, label: 'cap' });

function found(nodes: FlowBody['nodes'], more: Partial<FlowBody> = {}): readonly string[] {
  const body: FlowBody = {
    ir: 1,
    id: 't',
    notation: 'test',
    entry: 'a',
    fail: 'failed',
    nodes: { ...nodes, end: END, failed: FAILED },
    meters: {},
    agents: {},
    tools: {},
    models: {},
    least: {},
    ...more,
  };
  const report = createReport(createSource('\n\n  here', 'test.yaml'));
  const lowered: Lowered = { body, places: new Map([['a', { start: 4, end: 8 }]]) };
  verify(lowered, report);
  return report.list().map(({ code, line, column, message }) => `${code} ${line}:${column} ${message}`);
}

describe('verify', () => {
  test('accepts what ends', () => {
    expect(found({ a: go('a', 'end') })).toEqual([]);
  });

  test('reports every target that does not exist, all at once and where it was written', () => {
    const problems = found({ a: go('a', 'nowhere', { charges: ['no-meter'] }) }, { fail: 'gone' });
    expect(problems).toHaveLength(4);
    expect(problems.filter((each) => each.startsWith('unknown-target 3:3 `a`'))).toHaveLength(3);
    expect(problems.join('\n')).toContain('`gone`');
  });

  test('reports authored nodes that nothing reaches', () => {
    expect(found({ a: go('a', 'end'), b: go('b', 'end') })).toEqual(['unreachable-node 1:1 `b` is never reached']);
  });

  test('L5: a cycle needs a finite meter that is charged on it §terms/workflow-graph §ladder/open-ended-loop', () => {
    const loop = (charges: readonly string[], meters: FlowBody['meters']) =>
      found(
        {
          a: go('a', 'b'),
          b: { op: 'pick', label: { name: 'b' }, charges, cases: [{ when: 'x', to: 'a' }], otherwise: 'end' },
        },
        { meters },
      );
    expect(loop([], {})[0]).toContain('uncapped-cycle 3:3 no limit ends this cycle: a → b');
    expect(loop(['m'], { m: visits(null) })[0]).toContain('uncapped-cycle');
    expect(loop(['m'], { m: { unit: 'repeats', max: 3, window: 5, over: 'end', label: 'r' } })[0]).toContain(
      'uncapped-cycle',
    );
    expect(loop(['m'], { m: { unit: 'outputTokens', max: 3, over: 'end', label: 't' } })[0]).toContain(
      'uncapped-cycle',
    );
    expect(loop(['m'], { m: visits(3) })).toEqual([]);
  });

  test('L5: a meter that leads back to where it trips bounds nothing', () => {
    expect(found({ a: go('a', 'end', { charges: ['m'] }) }, { meters: { m: visits(1, 'a') } })[0]).toContain(
      'uncapped-cycle',
    );
  });

  test('L5: cycles through error edges, branches and tripped meters count', () => {
    const through = (node: Node): readonly string[] =>
      found({ a: node }).filter((each) => each.startsWith('uncapped-cycle'));
    expect(through({ ...call, fail: 'a' })).toHaveLength(1);
    expect(through({ ...call, failed: [{ when: 'x', to: 'a' }] })).toHaveLength(1);
    const fork: Node = {
      op: 'fork',
      label: { name: 'a' },
      over: { heads: [{ name: 'h', to: 'a' }] },
      widthMax: 0,
      need: 'all',
      eager: false,
      timeoutMs: null,
      into: 'j',
      gather: [],
      next: 'end',
      failed: [],
      fail: 'end',
    };
    expect(through(fork)).toHaveLength(1);
    const over = found({ a: go('a', 'b', { charges: ['m'] }), b: go('b', 'a') }, { meters: { m: visits(2, 'b') } });
    expect(over.some((each) => each.startsWith('uncapped-cycle'))).toBe(true);
  });

  test('L6: every node leads to an end, and what goes wrong does too §terms/terminal-node', () => {
    const meters = { m: visits(3, 'a') };
    const stuck = found({ a: go('a', 'a', { charges: ['m'] }) }, { meters });
    expect(stuck.some((each) => each.startsWith('no-way-out') || each.startsWith('no-terminal'))).toBe(true);
    const trap = found({ a: go('a', 'end'), b: go('b', 'b') }, { fail: 'b' });
    expect(trap.some((each) => each.startsWith('no-terminal'))).toBe(true);
  });

  test('a tool call has its rules', () => {
    const tool: FlowBody['tools'][string] = {
      description: '',
      input: {},
      output: { type: 'object' },
      effect: 'write',
      implementation: null,
      timeoutMs: 1000,
      permission: 'p',
      idempotent: false,
      compensate: 'undo',
    };
    const node: DoNode = {
      ...call,
      effect: { kind: 'tool', tool: 't', input: {}, reserve: { toolCalls: 1, sideEffects: 1 } },
      schema: {},
      timeoutMs: 1000,
      undo: { tool: 'undo', input: {}, timeoutMs: 1 },
    };
    const lacking = (changed: Partial<DoNode>, def: Partial<typeof tool> = {}) =>
      found({ a: { ...node, ...changed } }, { tools: { t: { ...tool, ...def } } }).map((each) =>
        each.replace(/^.* has no /, ''),
      );
    expect(lacking({})).toEqual([]);
    expect(lacking({ timeoutMs: null })).toEqual(['timeout']);
    expect(lacking({ schema: undefined })).toEqual(['rule that verifies its result']);
    expect(lacking({ undo: undefined })).toEqual(['compensation registered before the call']);
    expect(lacking({ effect: { ...node.effect, reserve: { toolCalls: 1 } } })).toEqual([
      'budget reserved for the call',
    ]);
    expect(lacking({}, { input: null })).toEqual(['schema for its arguments']);
    expect(lacking({}, { permission: '' })).toEqual(['permission']);
    expect(found({ a: node })[0]).toContain('unknown-tool');
  });

  test('takes a chain of 30,000 nodes without running out of stack', () => {
    const nodes: { [id: string]: Node } = {};
    for (let index = 0; index < 30_000; index++)
      nodes[index === 0 ? 'a' : `n${index}`] = go('n', index === 29_999 ? 'end' : `n${index + 1}`);
    expect(found(nodes)).toEqual([]);
  });
});

const call: DoNode = {
  op: 'do',
  label: { name: 'a', enters: 'a' },
  effect: { kind: 'model', agent: 'x', input: {}, reserve: { modelCalls: 1 } },
  writes: [],
  timeoutMs: null,
  retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
  next: 'end',
  failed: [],
  fail: 'failed',
};
