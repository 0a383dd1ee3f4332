/** Rehearsal: the same seed gives the same result, planted defects are found, and certificates hold on every example. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { rehearse } from '@sluice-internal/evals/rehearse';
import type { Rehearsal } from '@sluice-internal/evals/rehearse';
import { rehearsalHtml, rehearsalJUnit } from '@sluice-internal/evals/render';
import { compileFile } from '@sluice-internal/library/documents';
import type { CompileResult } from '@sluice-internal/notations/driver';
import { realChecks } from '../../src/commands/simulate.ts';

async function rehearsed({ flow, bounds, graph }: CompileResult, runs = 300, seed = 1): Promise<Rehearsal> {
  if (flow === undefined || bounds === undefined) throw new Error('does not compile');
  return rehearse({ flow, bounds, picture: graph ?? null, runs, seed, check: realChecks(flow, '.') });
}
const flowOf = (nodes: readonly object[], more: object = {}) =>
  compile({
    agents: [{ id: 'bot', output: { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] } }],
    tools: { save: { effect: 'write' }, check: { effect: 'read' } },
    flow: { id: 'f', entry: 'sort', nodes },
    ...more,
  });
const sort = (...routes: readonly object[]) => ({ id: 'sort', type: 'agent', agent: 'bot', routes });
const kinds = ({ defects }: Rehearsal) => defects.map(({ kind, about }) => `${kind} ${about}`);

describe('rehearsal', () => {
  test('the same seed gives the same result, another seed another one', async () => {
    const refund = (await compileFile(new URL('../../../../examples/refund.flow.yaml', import.meta.url).pathname))
      .result;
    const [one, same, other] = [await rehearsed(refund), await rehearsed(refund), await rehearsed(refund, 300, 5000)];
    expect(same).toEqual(one);
    expect(other.samples).not.toEqual(one.samples);
    expect(one).toMatchObject({ runs: 300, nodes: { never: [] }, edges: { never: [] } });
    const worst = await rehearsed(refund, 1, one.worst?.seed);
    expect(worst).toMatchObject({ runs: 1, worst: one.worst, codes: { [one.worst?.code ?? '']: 1 } });
  });

  test('an unreachable branch and a route that never matches', async () => {
    const result = await rehearsed(
      flowOf([
        sort({ when: "kind == 'a'", to: 'good' }, { when: 'size(kind) > 4000', to: 'lost' }, { to: 'good' }),
        { id: 'good', type: 'tool', tool: 'check' },
        { id: 'lost', type: 'tool', tool: 'check' },
      ]),
    );
    expect(result.nodes.never).toEqual(['lost']);
    expect(result.edges.never).toEqual(['sort -> lost']);
    expect(kinds(result)).toContain('unreached-node lost');
    const both = await rehearsed(
      flowOf([
        sort({ when: "kind == 'a'", to: 'good' }, { when: 'size(kind) > 4000', to: 'other' }, { to: 'good' }),
        { id: 'good', type: 'tool', tool: 'check', routes: [{ to: 'other' }] },
        { id: 'other', type: 'tool', tool: 'check' },
      ]),
    );
    expect(both.nodes.never).toEqual([]);
    expect(kinds(both)).toContain('unmatched-route sort -> other');
  });

  test.each([
    ['a number beyond 100 beside a text', "sort.output.kind == 'refund' && sort.output.amount > 250", {}],
    ['a field of a nested input', 'event.payload.order.total >= 40', {}],
    ['a copy of a value', 'copy.total > 40', { total: '{{event.payload.order.total}}' }],
    ['an item of a list', "event.payload.tags.exists(t, t == 'vip')", {}],
    ['the length of a list', 'size(event.payload.rows) > 5', {}],
    ['a part of a text', "event.payload.note.contains('overdue')", {}],
    ['a literal on the left', '1000 < double(event.payload.weight)', {}],
    ['a flag', 'event.payload.express && !event.payload.gift', {}],
    ['a share', 'event.payload.confidence > 0.8', {}],
  ])('values that meet a guard are generated: %s', async (_, when, values) => {
    const output = { type: 'object', properties: { kind: { type: 'string' }, amount: { type: 'number' } } };
    const result = await rehearsed(
      compile({
        agents: [{ id: 'bot', output }],
        flow: {
          id: 'f',
          entry: 'sort',
          nodes: [
            sort({ to: 'copy' }),
            { id: 'copy', type: 'set', values: { one: 1, ...values }, routes: [{ when, to: 'met' }, { to: 'end' }] },
            { id: 'met', type: 'terminal', output: 'met' },
          ],
        },
      }),
    );
    expect(result.nodes.never).toEqual([]);
    expect(result.edges.never).toEqual([]);
  });

  test('a budget that is too small, and a missing compensation', async () => {
    const nodes = [
      sort({ to: 'save' }),
      { id: 'save', type: 'tool', tool: 'save', routes: [{ to: 'check' }] },
      { id: 'check', type: 'tool', tool: 'check' },
    ];
    const small = await rehearsed(flowOf(nodes, { budgets: { tool_calls: 1 } }));
    expect(small.codes['BUDGET_EXHAUSTED']).toBeGreaterThan(100);
    expect(kinds(small)).toContain('budget-too-small budgets.tool_calls');
    const undone = await rehearsed(flowOf(nodes));
    expect(kinds(undone)).toContain('missing-compensation save');
    const tools = {
      save: { effect: 'write', compensate: 'unsave' },
      unsave: { effect: 'write' },
      check: { effect: 'read' },
    };
    expect(kinds(await rehearsed(flowOf(nodes, { tools })))).not.toContain('missing-compensation save');
  });

  test('stops when nothing new is reached', async () => {
    const {
      flow,
      bounds,
      graph = null,
    } = flowOf([sort({ to: 'check' }), { id: 'check', type: 'tool', tool: 'check' }]);
    if (flow === undefined || bounds === undefined) throw new Error('does not compile');
    const options = { flow, bounds, picture: graph, runs: 20_000, seed: 1, check: realChecks(flow, '.') };
    const { runs, nodes } = await rehearse({ ...options, untilCoverage: true });
    expect(runs).toBeLessThan(5000);
    expect(nodes.never).toEqual([]);
  });

  test('1,000 runs of a ten-node flow take less than 5 seconds of one processor', { timeout: 60_000 }, async () => {
    const ids = ['sort', ...Array.from({ length: 9 }, (_, index) => `n${index}`)];
    const nodes = ids.map((id, index) => {
      const routes = index === 9 ? {} : { routes: [{ to: ids[index + 1] }] };
      if (index % 3 === 1) return { id, type: 'tool', tool: 'check', params: { q: '{{sort.output.kind}}' }, ...routes };
      if (index === 5) return { id, type: 'approval', message: 'go?', choices: ['approve', 'reject'], ...routes };
      return { id, type: 'agent', agent: 'bot', ...routes };
    });
    const flow = flowOf(nodes);
    const before = process.cpuUsage();
    const { runs, nodes: reached } = await rehearsed(flow, 1000);
    const { user, system } = process.cpuUsage(before);
    expect([runs, reached.never]).toEqual([1000, []]);
    expect((user + system) / 1_000_000).toBeLessThan(5);
  });

  test('the page stands alone, and JUnit names what was never reached', async () => {
    const result = await rehearsed(
      flowOf([sort({ when: 'size(kind) > 4000', to: 'lost' }), { id: 'lost', type: 'tool', tool: 'check' }]),
    );
    const html = rehearsalHtml(result);
    expect(html).toContain('<svg');
    expect(html).not.toMatch(/<script|src=|https?:/);
    expect(rehearsalJUnit(result)).toContain('no run reached lost');
  });

  test.each(
    readdirSync(new URL('../../../../examples/', import.meta.url)).filter((file) =>
      /\.(flow|workflow|team|loop)\.yaml$/.test(file),
    ),
  )('%s: no run exceeds the certificate or gets stuck', { timeout: 60_000 }, async (file) => {
    const { result } = await compileFile(new URL(`../../../../examples/${file}`, import.meta.url).pathname);
    const { certificate, codes } = await rehearsed(result, 40);
    expect(Object.entries(certificate).filter(([, { holds }]) => !holds)).toEqual([]);
    expect(codes['STUCK']).toBeUndefined();
  });
});

describe('models reply in the form that the notation asks for', () => {
  const agents = ['plan', 'ann', 'bob', 'judge'].map((id) => ({ id }));
  const plan = { agent: 'plan' };
  const both = ['ann', 'bob'];
  const nested = (id: string) => ({ id, staged: { plan, workers: { agent: 'ann' } } });
  const stagedWorks: readonly [string, object][] = [
    ['workers', { workers: { agents: both }, validate: { agent: 'judge' } }],
    ['teams', { teams: [nested('north'), nested('south')] }],
    ['debate', { debate: { agents: both, rounds: 2, judge: 'judge' } }],
    ['peers', { peers: { agents: both, start: 'ann' } }],
    ['sop', { sop: [{ id: 'draft', agent: 'ann', output: { type: 'object', required: ['text'] } }] }],
    ['board', { board: { agents: both, rounds: 3 } }],
    ['swarm', { swarm: { agent: 'ann', depth: 2, max: 5 } }],
  ];
  test.each(stagedWorks)('staged: %s', async (_, work) => {
    const result = await rehearsed(compile({ agents, staged: { plan, ...work } }), 60);
    expect(result.nodes.never).toEqual([]);
    expect(Object.keys(result.codes)).toContain('SUCCESS');
    expect(Object.values(result.certificate).filter(({ holds }) => !holds)).toEqual([]);
  });

  test.each(['keyword', 'statemachine', 'structured', 'llm', 'magentic', 'mapreduce'])('team: %s', async (strategy) => {
    const file = new URL(`../../../../examples/${strategy}.team.yaml`, import.meta.url).pathname;
    const result = await rehearsed((await compileFile(file)).result, 80);
    expect(result.nodes.never).toEqual([]);
  });
});
