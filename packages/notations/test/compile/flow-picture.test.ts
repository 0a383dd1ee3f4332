import { describe, expect, test } from 'vitest';
import { renderDot, renderMermaid } from '@sluice-internal/compile/picture';
import type { Picture } from '@sluice-internal/compile/picture';
import { compileText } from './compile-text.ts';

const picture = compileText(`
agents: [{ id: bot }]
tools: { web.get: {} }
flow:
  id: demo
  description: A demo.
  entry: ask
  max_iterations: 7
  nodes:
    - id: ask
      type: agent
      agent: bot
      description: Asks.
      routes: [{ when: "kind == \\"a\\"", to: gather }, { to: gate }]
      on_error: [{ match: Timeout, to: ask }, { default: true, to: end }]
    - { id: gather, type: parallel, branches: [{ to: left }, { when: "deep == true", to: right }], join: { type: count, count: 1, timeout: 15 }, routes: [{ to: end }] }
    - { id: left, type: tool, tool: web.get, routes: [{ to: end }] }
    - { id: right, type: tool, tool: web.get }
    - { id: gate, type: approval, message: "Go on?", routes: [{ when: "approvals.gate == 'approve'", to: done }] }
    - { id: done, type: terminal }`).graph as Picture;

const edge = (from: string, to: string) => picture.edges.filter((each) => each.from === from && each.to === to);

describe('the picture of a flow', () => {
  test('says when the way of a missed signal is taken', () => {
    const { graph } = compileText(`
flow:
  id: late
  entry: pause
  nodes:
    - { id: pause, type: wait, signal: go, timeout: 5, on_timeout: late, max_visits: 3, on_exhausted: late }
    - { id: late, type: terminal }`);
    const labels = graph?.edges.filter(({ from, to }) => from === 'pause' && to === 'late').map(({ label }) => label);
    expect(labels).toEqual(['not in time', 'after 3 visits']);
  });

  test('has what people wrote, with the join and the end beside it', () => {
    expect(picture.nodes.map(({ id, kind, detail }) => [id, kind, detail])).toEqual([
      ['~start', 'start', null],
      ['ask', 'agent', 'bot'],
      ['gather', 'parallel', '2 branches'],
      ['gather join', 'join', '1 of 2, 15 s'],
      ['left', 'tool', 'web.get'],
      ['right', 'tool', 'web.get'],
      ['gate', 'approval', 'Go on?'],
      ['done', 'terminal', null],
      ['~end', 'end', null],
    ]);
    expect(picture).toMatchObject({
      title: 'demo',
      notation: 'flow',
      description: 'A demo.',
      cycles: [{ nodes: ['ask'], bound: 'max_iterations: 7' }],
    });
  });

  test('labels conditions, error edges, branches and joins', () => {
    expect(edge('ask', 'gather')).toEqual([
      { from: 'ask', to: 'gather', kind: 'route', label: 'kind == "a"', back: false },
    ]);
    expect(edge('ask', 'gate')).toMatchObject([{ label: 'default' }]);
    expect(edge('ask', 'ask')).toEqual([{ from: 'ask', to: 'ask', kind: 'error', label: 'Timeout', back: true }]);
    expect(edge('ask', '~end')).toMatchObject([{ kind: 'error', label: 'any error' }]);
    expect(edge('gather', 'right')).toMatchObject([{ kind: 'branch', label: 'deep == true' }]);
    expect(edge('left', 'gather join')).toMatchObject([{ kind: 'join', label: null }]);
    expect(edge('gather join', '~end')).toMatchObject([{ kind: 'route' }]);
    expect(edge('left', '~end')).toEqual([]);
  });

  test('as Mermaid and as Graphviz: every node and edge once, nothing that breaks out of a label', () => {
    const mermaid = renderMermaid(picture);
    expect(mermaid.split('\n')[0]).toBe('flowchart TD');
    expect(mermaid.match(/ (-->|-\.->|==>)/g)).toHaveLength(picture.edges.length);
    expect(mermaid).toContain('-.->|"error: Timeout #40;↺ max_iterations: 7#41;"|');
    expect(mermaid).toContain('"kind == #34;a#34;"');
    expect(mermaid).not.toMatch(/"[^"\n]*"[^"\n]*"[^"\n]*"[^|\n]*$/m);
    const dot = renderDot(picture);
    expect(dot.match(/ -> /g)).toHaveLength(picture.edges.length);
    expect(dot).toContain('"kind == \\"a\\""');
    expect(dot).toContain('style="dashed"');
  });
});
