/** Mistakes in teams: each is told once, none hides another, and nothing is said that only follows from one. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const AGENTS = 'Agents: [{ Name: A }, { Name: B }, { Name: C }]\n';

function told(document: string): string[] {
  return compileText(AGENTS + document).diagnostics.map(({ code, line, message }) => `${code} ${line} ${message}`);
}

function graph(more: string): string {
  return `Selection:\n  Type: graph\n  Graph:\n${more.replace(/^/gm, '    ')}\n`;
}

const NODES = 'Nodes: [{ Id: a, Agent: A }, { Id: b, Agent: B }, { Id: t, Agent: C, Terminal: true }]\n';
const EDGES = 'Edges: [{ From: a, To: b, Keyword: GO }, { From: b, To: t, Keyword: OK }]';
const OUTER = 'Nodes: [{ Id: r, SubGraphId: s }, { Id: t, Agent: C, Terminal: true }]\nEdges: [{ From: r, To: t }]\n';

describe('one mistake gives one error', () => {
  test.each([
    ['an edge to nowhere', graph(`${NODES}${EDGES.replace('To: b', 'To: bb')}`), 'unknown-target'],
    ['an entry that is not there', graph(`${NODES}${EDGES}\nEntryNode: q`), 'unknown-entry'],
    [
      'an id that is used twice',
      graph('Nodes: [{ Id: a, Agent: A }, { Id: a, Agent: B, Terminal: true }]\nEdges: [{ From: a, To: a }]'),
      'duplicate-id',
    ],
    ['a node without a way out', graph(`${NODES}Edges: [{ From: a, To: b, Keyword: GO }]`), 'no-way-out'],
    ['an edge without a target', graph(`${NODES}${EDGES.replace('To: b, ', '')}`), 'missing-field'],
    ['an edge without a source', graph(`${NODES}${EDGES.replace('From: a, ', '')}`), 'missing-field'],
    ['a sub-graph of another kind', graph(`${OUTER}SubGraphs: { s: { Magentic: { Model: m } } }`), 'unknown-key'],
    [
      'a sub-graph without what wraps it',
      graph(`${OUTER}SubGraphs: { s: { EntryNode: g, Nodes: [{ Id: g, Agent: A }], Edges: [] } }`),
      'unknown-key',
    ],
    ['sub-graphs as a list', graph(`${OUTER}SubGraphs: [{ Graph: {} }]`), 'wrong-type'],
    ['an empty pattern', 'Termination: { Type: regex, Pattern: "" }\n', 'bad-value'],
    ['a misspelt pattern', 'Termination: { Type: regex, Patern: x }\n', 'unknown-key'],
    ['a child of no known type', 'Termination: { MaxIterations: 3, Strategies: [{ Type: nope }] }\n', 'bad-value'],
    ['a child that is no map', 'Termination: { Type: composite, Strategies: [5] }\n', 'wrong-type'],
    [
      'a misspelt strategy',
      'Selection: { Type: ScaterGather, ScatterGather: { Participants: [A], Synthesizer: B } }\n',
      'bad-value',
    ],
    ['a strategy that nobody knows', 'Selection: { Type: chess, Graph: { Nodes: [], Edges: [] } }\n', 'bad-value'],
  ])('%s', (_, document, code) => {
    const all = told(document).filter((each) => !each.includes('a graph needs at least one node'));
    expect(all).toHaveLength(1);
    expect(all[0]).toMatch(new RegExp(`^${code} `));
  });

  test('the keys of something that is no sub-graph are named together', () => {
    const [message] = told(graph(`${OUTER}SubGraphs: { s: { EntryNode: g, Nodes: [], Edges: [] } }`));
    expect(message).toContain('unknown keys `EntryNode`, `Nodes`, `Edges` in `s`');
  });
});

test('a plugin whose tools are limited is named once, with the nearest name', () => {
  const team = (plugins: string, capabilities: string): readonly unknown[] =>
    compileText(
      `Agents: [{ Name: A, ${plugins}: [FileSystem], Capabilities: { ${capabilities}: [read] } }]\nSelection: { Type: sequential }`,
    ).diagnostics.map(({ code, help }) => [code, help]);
  expect(team('Pluigns', 'FileSystem')).toEqual([['unknown-key', 'Did you mean `Plugins`?']]);
  expect(team('Plugins', 'FileSytsem')).toEqual([['unknown-tool', 'Did you mean `FileSystem`?']]);
});

test('a name that is no alias of the team is an unknown model, wherever it stands', () => {
  const team = (selection: string, model: string): string =>
    `Models: { big: claude-sonnet-4-5 }\nAgents: [{ Name: A, Model: ${model} }, { Name: B, Model: gpt-5-mini }]\n${selection}`;
  const places: [string, string][] = [
    ['Selection: { Type: sequential }', 'bgi'],
    ['Selection: { Type: llm, Model: bgi }\nTermination: { MaxIterations: 3 }', 'big'],
    ['Selection: { Type: magentic, Magentic: { Model: bgi } }', 'big'],
  ];
  for (const [selection, model] of places) {
    const unknown = { code: 'unknown-model', severity: 'error', help: 'Did you mean `big`?' };
    const { diagnostics } = compileText(team(selection, model));
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([unknown]);
    expect(compileText(team(selection.replace('bgi', 'big'), 'openai/x')).flow).toBeDefined();
  }
  expect(compileText('Agents: [{ Name: A, Model: own }]\nSelection: { Type: sequential }').diagnostics).toEqual([]);
});

describe('what is missing hides no other mistake', () => {
  test.each([
    ['scattergather', 'Selection: { Type: scattergather, ScatterGather: { Participants: [Q] } }\n', 1],
    ['mapreduce', 'Selection: { Type: mapreduce, MapReduce: { Splitter: Q } }\n', 2],
    ['adversarial', 'Selection: { Type: adversarial, Adversarial: { Stages: [{ Generator: Q }] } }\n', 1],
    ['a sub-graph', graph(`${OUTER}SubGraphs: { s: { MapReduce: { Splitter: A, Mapper: Q } } }`), 1],
    ['an edge', graph(`${NODES}${EDGES.replace('To: b', 'RecoveryAgent: Q')}`), 1],
    [
      'a route',
      'Termination: { MaxIterations: 3 }\nSelection: { Type: keyword, Routes: [{ Keyword: X, SourceAgents: [Q] }] }\n',
      1,
    ],
  ])('%s', (_, document, missing) => {
    const codes = told(document).map((each) => each.split(' ')[0]);
    expect(codes.filter((code) => code === 'missing-field')).toHaveLength(missing);
    expect(codes.filter((code) => code === 'unknown-agent')).toHaveLength(1);
    expect(codes.filter((code) => code !== 'unreachable-node')).toHaveLength(missing + 1);
  });

  test('a stage without agents is not one agent in two roles', () => {
    const codes = told('Selection: { Type: adversarial, Adversarial: { Stages: [{ Label: x }] } }\n');
    expect(codes.map((each) => each.split(' ')[0])).toEqual(['missing-field', 'missing-field']);
  });
});

describe('a pattern that cannot be used', () => {
  const pattern = (text: string): string[] =>
    told(`Termination: { Type: regex, Pattern: '${text}', MaxIterations: 3 }\n`);

  test('a slip of the pen', () => {
    expect(pattern('(')).toEqual([
      'bad-regex 2 the pattern is not a valid regular expression: missing closing `)` in `(`',
    ]);
  });

  test.each(['a(?=b)', '(?<!a)b', '(a)\\1', '(?>a)'])('%s has no linear-time form', (text) => {
    expect(pattern(text)).toEqual([expect.stringContaining('the pattern cannot be matched in linear time')]);
  });
});
