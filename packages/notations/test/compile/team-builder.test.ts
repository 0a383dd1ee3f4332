/** A team written in TypeScript is the team that YAML gives, and names that do not exist do not type-check. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { team } from '../../src/team/builder.ts';
import type { TeamDocument } from '../../src/team/builder.ts';
import { compile } from '../../src/driver/compile.ts';
import { exampleNames } from '../../../../test/dialects/team-example-files.ts';

const compiled = (document: object | string) => compile(document, { hash: (text) => hash('sha256', text, 'hex') });
const read = (name: string): string =>
  readFileSync(new URL(`../../../../examples/${name}.team.yaml`, import.meta.url), 'utf8');

test.each(exampleNames())('%s: the same flow with the same hash', (name) => {
  const { Orchestration, ...sections } = parse(read(name)) as TeamDocument;
  const built = compiled(team(Orchestration, sections));
  expect(built.diagnostics).toEqual([]);
  expect(built.flow?.hash).toBe(compiled(read(name)).flow?.hash);
});

test('names are checked while they are written', () => {
  const agents = [{ Name: 'Planner' }, { Name: 'Builder' }] as const;
  const good = team({
    Agents: agents,
    Selection: {
      Type: 'statemachine',
      StateMachine: {
        Initial: 'Plan',
        States: {
          Plan: { Agent: 'Planner', Transitions: [{ To: 'Build', Signal: 'GO' }] },
          Build: { Agent: 'Builder', Terminal: true },
        },
      },
    },
    Termination: { Type: 'maxiterations', MaxIterations: 5 },
  });
  expect(compiled(good).ok).toBe(true);
  const wrong = [
    // @ts-expect-error: nobody is called Bob
    team({ Agents: agents, Selection: { Type: 'keyword', Routes: [{ Keyword: 'GO', Agent: 'Bob' }] } }),
    team({
      Agents: agents,
      Selection: {
        Type: 'statemachine',
        // @ts-expect-error: there is no state Nowhere
        StateMachine: { Initial: 'Nowhere', States: { A: { Agent: 'Planner' } } },
      },
    }),
    team({
      Agents: agents,
      Selection: {
        Type: 'graph',
        // @ts-expect-error: there is no node z
        Graph: { Nodes: [{ Id: 'a', Agent: 'Planner' }], Edges: [{ From: 'a', To: 'z' }] },
      },
    }),
    team({
      Agents: agents,
      Selection: {
        Type: 'graph',
        // @ts-expect-error: a graph has no key Entry
        Graph: { Entry: 'a', Nodes: [{ Id: 'a', Agent: 'Planner', Terminal: true }], Edges: [] },
      },
    }),
    team({
      Agents: agents,
      // @ts-expect-error: a node of a graph has no key Final
      Selection: { Type: 'graph', Graph: { Nodes: [{ Id: 'a', Agent: 'Planner', Final: true }], Edges: [] } },
    }),
    team({
      Agents: agents,
      Selection: {
        Type: 'graph',
        Graph: {
          Nodes: [{ Id: 'a', Agent: 'Planner', Terminal: true }],
          // @ts-expect-error: an edge of a graph has no key Word
          Edges: [{ From: 'a', To: 'a', Word: 'AGAIN' }],
        },
      },
    }),
    team({
      Agents: agents,
      Selection: {
        Type: 'statemachine',
        // @ts-expect-error: a transition has no key Keyword
        StateMachine: { Initial: 'A', States: { A: { Agent: 'Planner', Transitions: [{ To: 'A', Keyword: 'GO' }] } } },
      },
    }),
  ];
  for (const document of wrong) expect(compiled(document).ok).toBe(false);
});
