/** How long the questions of a boundary wait for an answer. */
import type { Node } from '@sluice-internal/kernel/ir';
import { describe, expect, test } from 'vitest';
import { compile } from '../../../library/src/compile.ts';

describe('`approval_timeout` applies to every question but that of an approval node', () => {
  const pay = { id: 'pay', type: 'tool', tool: 'pay' };
  const flow = (node: object, tool: object = {}) => ({
    tools: { pay: { effect: 'financial', ...tool } },
    flow: { id: 'f', entry: 'pay', nodes: [{ ...pay, ...node }] },
  });
  const team = (Selection: object, more: object = {}) => ({
    Orchestration: { Agents: [{ Name: 'A' }, { Name: 'B' }], Selection, ...more },
  });
  const edge = { From: 'a', To: 'b', Keyword: 'GO', RequireHumanApproval: true };
  const graph = {
    Nodes: [
      { Id: 'a', Agent: 'A' },
      { Id: 'b', Agent: 'B', Terminal: true },
    ],
    Edges: [edge],
  };
  const magentic = { Model: { ModelId: 'gpt-4o' }, EnablePlanReview: true };
  const route = { Keyword: 'GO', Agent: 'B', SourceAgents: ['A'], Validator: 'RequireBrief' };
  test.each<[string, object]>([
    ['the approval of a tool node', flow({}, { approval: 'always' })],
    ['an unknown outcome', flow({ retry: { max_attempts: 2 } })],
    ['the approval of a route', team({ Type: 'graph', Graph: graph })],
    [
      'the escalation of a team',
      team(
        { Type: 'keyword', Routes: [route] },
        {
          Termination: { MaxIterations: 5 },
          FailureHandling: { MissingEvidence: { Action: 'EscalateToHuman' } },
        },
      ),
    ],
    ['the review of a plan', team({ Type: 'magentic', Magentic: magentic })],
  ])('%s', (_, document) => {
    const compiled = compile({ boundary: { approval_timeout: 60 }, ...document });
    const asked = Object.values<Node>(compiled.flow?.nodes ?? {}).flatMap((node): object[] => {
      if (node.op !== 'do') return [];
      const asks = (node.controls?.walk ?? []).flatMap((each) => (each.how === 'ask' ? [each.with] : []));
      return node.effect.kind === 'ask' ? [node, ...asks] : asks;
    });
    expect(compiled.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(asked).not.toEqual([]);
    for (const node of asked) expect(node).toMatchObject({ timeoutMs: 60_000 });
  });
});
