/** The pictures of the examples: agents are agents in every notation, guards are on their edges, every session has an end. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderDot, renderMermaid, renderSvg } from '@sluice-internal/compile/picture';
import type { Picture, PictureEdge, PictureNode } from '@sluice-internal/compile/picture';
import { compileText } from './compile-text.ts';

const pictureOf = (example: string): Picture =>
  compileText(readFileSync(new URL(`../../../../examples/${example}.yaml`, import.meta.url), 'utf8')).graph as Picture;
const node = (picture: Picture, id: string): PictureNode | undefined => picture.nodes.find((each) => each.id === id);
const edge = (picture: Picture, from: string, to: string): PictureEdge | undefined =>
  picture.edges.find((each) => each.from === from && each.to === to);

test.each([
  ['llm.team', ['selector', 'Host', 'Historian', 'Engineer']],
  ['magentic.team', ['manager', 'Researcher', 'Calculator']],
  ['adversarial.team', ['generate-0', 'criticise-0', 'generate-1', 'criticise-1']],
  ['scattergather.team', ['participant-0', 'synthesizer']],
  ['mapreduce.team', ['split', 'map', 'reduce']],
  ['statemachine.team', ['Writing', 'Published']],
  ['graph.team', ['writing', 'published']],
  ['market-report.staged', ['plan', 'work/researcher', 'aggregate', 'validate', 'finalize']],
  ['incident.loop', ['action_selection', 'validation']],
  ['refund.flow', ['triage', 'review']],
  ['refine-loop.workflow', ['step-0', 'step-4']],
])('%s draws its agents as agents', (example, ids) => {
  const picture = pictureOf(example);
  expect(ids.map((id) => [id, node(picture, id)?.kind])).toEqual(ids.map((id) => [id, 'agent']));
});

describe('guards are on the edges that they guard', () => {
  test('validators, contracts and approvals of teams', () => {
    expect(edge(pictureOf('dev-team.team'), 'Developer', 'Tester')?.guards).toEqual([
      'RequireWriteFile',
      'RequireAllFilesWritten',
      'RequireShellPass',
    ]);
    expect(edge(pictureOf('statemachine.team'), 'Writing', 'Preparing')?.guards).toEqual(['NotesWritten']);
    const approved = compileText(`
Agents: [{ Name: A }, { Name: B }]
Selection:
  Type: keyword
  Routes:
    - { Keyword: GO, Agent: B, SourceAgents: [A], RequireHumanApproval: true }
    - { Keyword: DONE, Agent: B, SourceAgents: [B], Validators: [RequireShellPass], RequireHumanApproval: true }`)
      .graph as Picture;
    expect(edge(approved, 'A', 'B')?.guards).toEqual(['approval']);
    expect(edge(approved, 'B', '~end')?.guards).toEqual(['RequireShellPass', 'approval']);
  });

  test('the demands on a result in stages and loops', () => {
    expect(edge(pictureOf('market-report.staged'), 'validate', 'finalize')?.guards).toEqual([
      'confidence ≥ 0.7',
      '1 invariant',
    ]);
    expect(edge(pictureOf('incident.loop'), 'validation', 'end')?.guards).toContain('review by a person');
    const planned = compileText(`
agents: [{ id: p }, { id: w }]
loop: { planner: p, executor: w, plan: { approve: true }, guards: [{ when: "goal == ''", reason: empty }] }`)
      .graph as Picture;
    expect(edge(planned, 'plan', 'action_selection')?.guards).toEqual(['approval']);
    expect(node(planned, 'goal_intake')?.detail).toBe('1 guard');
  });

  test('in every format', () => {
    const picture = pictureOf('keyword.team');
    expect(renderMermaid(picture)).toContain('HANDOFF TO REVIEWER #91;RequireWriteFile#93;');
    expect(renderDot(picture)).toContain('HANDOFF TO REVIEWER [RequireWriteFile]');
    expect(renderSvg(picture)).toContain('<text class="label guard"');
  });
});

test('a bounded agent shows its tools', () => {
  expect(node(pictureOf('profile-sre.flow'), 'respond')?.tools).toEqual([
    'logs.query',
    'metrics.read',
    'service.restart',
  ]);
  const picture = pictureOf('keyword.team');
  expect(renderSvg(picture)).toContain('tools: read_file, write_file, patch_file');
  expect(renderMermaid(picture)).toContain('and 3 more');
  expect(renderDot(picture)).toContain('\\ntools: ');
});

test.each([
  ['llm.team', 'Host', 'matches GOOD NIGHT'],
  ['structured.team', 'Sender', String.raw`matches \bSENT\b`],
  ['statemachine.team', 'Published', String.raw`matches \bDONE\b`],
  ['graph.team', 'published', null],
])('the session of %s has an end', (example, from, label) => {
  expect(edge(pictureOf(example), from, '~end')?.label).toBe(label);
});

test('a sub-graph of a team is not drawn as an agent', () => {
  expect(node(pictureOf('graph.team'), 'research')?.kind).toBe('tool');
});

test('the review of a plan stands between the plan and the manager', () => {
  const { graph } = compileText({
    Orchestration: {
      Agents: [{ Name: 'Ann', Instructions: 'Go on.' }],
      Selection: { Type: 'magentic', Magentic: { Model: 'gpt-6', EnablePlanReview: true } },
    },
  });
  expect(graph?.edges.slice(0, 2)).toEqual([
    expect.objectContaining({ from: '~start', to: '~plan' }),
    expect.objectContaining({ from: '~plan', to: 'manager', guards: ['approval'] }),
  ]);
});

test('a team that only its limit ends is drawn so', () => {
  const { graph } = compileText(
    'Agents: [{ Name: A }]\nSelection: { Type: roundrobin }\nTermination: { Type: maxiterations, MaxIterations: 4 }',
  );
  expect(edge(graph as Picture, 'A', '~end')).toMatchObject({ kind: 'over', label: 'MaxIterations: 4' });
});

describe('groups', () => {
  test('a sub-flow is drawn in a frame of its own', () => {
    const picture = pictureOf('letters.flow');
    const inside = picture.nodes.filter(({ group }) => group === 'answer').map(({ id }) => id);
    expect(inside).toEqual([
      'answer',
      'answer/write',
      'answer/check',
      'answer/done',
      'answer/give_up',
      'answer returns',
    ]);
    expect(edge(picture, 'answer', 'answer/write')?.kind).toBe('branch');
    expect(edge(picture, 'answer/done', 'answer returns')?.kind).toBe('join');
    expect(picture.cycles).toContainEqual({ nodes: ['answer/write', 'answer/check'], bound: 'max_visits: 3' });
    expect(renderMermaid(picture)).toContain('subgraph g0["answer"]');
    expect(renderDot(picture)).toContain('subgraph cluster_0 {');
    expect(renderSvg(picture)).toContain('<text class="group"');
  });

  test('a sub-graph of a team is drawn in a frame of its own', () => {
    const { graph } = compileText(
      [
        'Agents: [{ Name: A }, { Name: B }, { Name: C }]',
        'Selection:',
        '  Type: graph',
        '  Graph:',
        '    Nodes: [{ Id: r, SubGraphId: s }, { Id: w, Agent: C, Terminal: true }]',
        '    Edges: [{ From: r, To: w }]',
        '    SubGraphs:',
        '      s:',
        '        Graph:',
        '          Nodes: [{ Id: g, Agent: A }, { Id: h, Agent: B, Terminal: true }]',
        '          Edges: [{ From: g, To: h, Keyword: GO }]',
      ].join('\n'),
    );
    const picture = graph as Picture;
    expect(picture.nodes.filter(({ group }) => group === 'r').map(({ id }) => id)).toEqual([
      'r',
      'r/g',
      'r/h',
      'r returns',
    ]);
    expect(edge(picture, 'r', 'r/g')?.kind).toBe('branch');
    expect(edge(picture, 'r/h', 'r returns')?.kind).toBe('join');
    expect(edge(picture, 'r returns', 'w')).toBeDefined();
    expect(renderSvg(picture)).toContain('<text class="group"');
  });

  test('several workers of a stage stand together', () => {
    expect(pictureOf('debate.staged').nodes.filter(({ group }) => group !== undefined)).toHaveLength(3);
  });

  test('a frame that would hold another node is left out', () => {
    const named = (id: string, group?: string): PictureNode => ({
      id,
      kind: 'agent',
      label: id,
      detail: null,
      description: null,
      ...(group === undefined ? {} : { group }),
    });
    const nodes = [named('a', 'g'), named('b'), named('c', 'g')];
    const edges = [
      { from: 'a', to: 'b', kind: 'route', label: null, back: false },
      { from: 'b', to: 'c', kind: 'route', label: null, back: false },
    ] as const;
    const svg = renderSvg({ title: 't', notation: 'flow', description: null, nodes, edges, cycles: [] });
    expect(svg).not.toContain('class="group"');
  });
});

describe('direction', () => {
  test('to the right in every format', () => {
    const picture = pictureOf('dev-team.team');
    expect(renderMermaid(picture, 'right')).toMatch(/^flowchart LR\n/);
    expect(renderDot(picture, 'right')).toContain('rankdir=LR;');
    const sizeOf = (svg: string): number[] => /width="(\d+)" height="(\d+)"/.exec(svg)?.slice(1).map(Number) ?? [];
    const [width = 0, height = 0] = sizeOf(renderSvg(picture, 'right'));
    expect(width).toBeGreaterThan(height);
    const [narrow = 0, high = 0] = sizeOf(renderSvg(picture));
    expect(high).toBeGreaterThan(narrow);
  });
});

test('an edge between nodes that stand above each other is a straight line', () => {
  const { graph } = compileText('Agents: [{ Name: A }, { Name: B }, { Name: C }]\nSelection: { Type: sequential }');
  const paths = [...renderSvg(graph as Picture).matchAll(/<path class="edge [^"]*" d="([^"]+)"/g)].map(
    ([, d = '']) => d,
  );
  expect(paths).toHaveLength(4);
  expect(paths.filter((d) => d.includes('C'))).toEqual([]);
});
