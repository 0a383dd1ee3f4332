/** In a team, a field that is there and cannot be read is not missing, and a name that nobody has ends nothing else. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const AGENTS = 'Agents: [{ Name: A }, { Name: B }, { Name: C }]\n';
const CAP = 'Termination: { Type: regex, Pattern: END, MaxIterations: 9 }\n';

function told(document: string): string[] {
  return compileText(AGENTS + document).diagnostics.map(({ code, message }) => `${code}: ${message}`);
}

const structured = (route: string): string => `Selection:
  Type: structured
  StructuredRoutes:
    - ${route}
${CAP}`;
const machine = (transition: string): string => `Selection:
  Type: statemachine
  StateMachine:
    Initial: S
    States:
      S: { Agent: A, Transitions: [${transition}] }
      X: { Agent: B }
      D: { Agent: C, Terminal: true }
${CAP}`;
const graph = (nodes: string, edges: string): string => `Selection:
  Type: graph
  Graph:
    Nodes: [${nodes}]
    Edges: [${edges}]
${CAP}`;
const TERMINAL = '{ Id: t, Agent: C, Terminal: true }';

describe('one mistake gives one error', () => {
  test.each([
    ['a cap below zero', 'Termination: { Type: maxiterations, MaxIterations: -1 }\n', 'bad-value: `MaxIterations`'],
    ['a cap in quotes', 'Termination: { Type: maxiterations, MaxIterations: "3" }\n', 'wrong-type: `MaxIterations`'],
    [
      'a termination of somebody unknown',
      'Selection: { Type: roundrobin }\nTermination: { Type: regex, Pattern: END, AgentNames: [Z] }\n',
      'unknown-agent: unknown agent `Z`',
    ],
    [
      'a terminal route of somebody unknown',
      'Selection: { Type: keyword, Routes: [{ Keyword: GO, Agent: B }, { Keyword: END, Agent: C, SourceAgents: [C, Z] }] }\n',
      'unknown-agent: unknown agent `Z`',
    ],
    [
      'an unknown operator',
      structured('{ Agent: B, Condition: { Field: x, Equals: y } }'),
      'unknown-key: unknown key `Equals`',
    ],
    ['an operator of another type', structured('{ Agent: B, Condition: { Field: x, Is: [y] } }'), 'wrong-type: `Is`'],
    ['a flag in quotes', structured('{ Agent: B, Condition: { Field: x, Exists: "true" } }'), 'wrong-type: `Exists`'],
    ['no field', structured('{ Agent: B, Condition: { Is: y } }'), 'missing-field: `Condition` needs `Field`'],
    ['an empty field', structured('{ Agent: B, Condition: { Field: "", Is: y } }'), 'bad-value: `Field`'],
    ['no condition', structured('{ Agent: B }'), 'missing-field: item 1 of `StructuredRoutes` needs `Condition`'],
    [
      'targets of another type',
      machine('{ To: D, Signal: GO, Parallel: true, Targets: X }'),
      'wrong-type: `Targets` must be a list',
    ],
    ['a target of another type', machine('{ To: D, Signal: GO, Parallel: true, Targets: [3] }'), 'wrong-type: item 1'],
    [
      'a misspelt judge',
      machine('{ To: D, Signal: GO, Parallel: true, Targets: [X], Merge: { Strategy: ranked, Agnt: A } }'),
      'unknown-key: unknown key `Agnt`',
    ],
    [
      'a node with a misspelt agent',
      graph(`{ Id: a, Agnt: A }, ${TERMINAL}`, '{ From: a, To: t }'),
      'unknown-key: unknown key `Agnt`',
    ],
    ['a misspelt terminal', graph('{ Id: a, Agent: A, Terminl: true }', ''), 'unknown-key: unknown key `Terminl`'],
    ['an edge that is no map', graph(`{ Id: a, Agent: A }, ${TERMINAL}`, '7'), 'wrong-type: item 1 of `Edges`'],
    [
      'an edge from nowhere',
      graph(`{ Id: a, Agent: A }, ${TERMINAL}`, '{ From: aa, To: t }'),
      'unknown-target: an edge starts at `aa`',
    ],
    [
      'a first node that cannot be read',
      graph(`{ Id: 3, Agent: A }, { Id: p, Agent: B, Parallel: true }, ${TERMINAL}`, '{ From: p, To: t }'),
      'wrong-type: `Id`',
    ],
  ])('%s', (_, document, expected) => {
    const all = told(document);
    expect(all).toHaveLength(1);
    expect(all[0]).toContain(expected);
  });

  test('a team without agents', () => {
    const { diagnostics } = compileText(`Agents: []\n${structured('{ Agent: B, Condition: { Field: x, Is: y } }')}`);
    expect(diagnostics.map(({ message }) => message)).toEqual(['a team needs at least one agent']);
  });
});

describe('what is really missing is told', () => {
  test.each([
    ['an operator', structured('{ Agent: B, Condition: { Field: x } }'), 'the condition on `x` has no operator'],
    ['routes', `Selection: { Type: structured }\n${CAP}`, 'at least one entry in `StructuredRoutes`'],
    ['targets', machine('{ To: D, Signal: GO, Parallel: true, Targets: [] }'), 'has no `Targets`'],
    ['a way out', graph('{ Id: a, Agent: A }', ''), 'node `a` is not terminal'],
    ['an end', 'Selection: { Type: roundrobin }\n', 'nothing ends a `roundrobin` session'],
  ])('%s', (_, document, expected) => {
    expect(told(document).join('\n')).toContain(expected);
  });
});
