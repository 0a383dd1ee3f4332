/** The picture of a staged flow shows the five stages in their order, the gates, and the ways of a failure. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { folder, json } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { AGENTS, SUPERVISOR } from '../../../notations/test/staged/drive.ts';

const REST = { plan: { agent: 'planner' }, validate: { agent: 'critic' } };
const WORK: { readonly [topology: string]: object } = {
  supervisor: { workers: { agent: 'worker' } },
  hierarchical: { teams: [{ id: 'north', staged: { plan: { agent: 'ann' }, workers: { agent: 'bob' } } }] },
  handoff: { peers: { agents: ['ann', 'bob'] } },
  debate: { debate: { agents: ['ann', 'bob'], judge: 'cat' } },
  sop: { sop: [{ id: 'draft', agent: 'ann' }] },
  blackboard: { board: { agents: ['ann', 'bob'] } },
  swarm: { swarm: { agent: 'worker' } },
};
const STAGES = ['plan', 'work', 'aggregate', 'validate', 'finalize'];

describe.each(Object.entries(WORK))('%s', (topology, work) => {
  const { graph } = compile({ agents: AGENTS, staged: { ...REST, topology, ...work } });
  const { nodes = [], edges = [] } = graph ?? {};
  const leads = (from: string, to: string): boolean => {
    const seen = new Set<string>();
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      for (const edge of edges) if (edge.from === at && !edge.back) open.push(edge.to);
    }
    return seen.has(to);
  };
  test('five stages, each after the other', () => {
    expect(nodes.map(({ id }) => id).filter((id) => STAGES.includes(id))).toEqual(STAGES);
    STAGES.slice(1).forEach((stage, index) => expect(leads(STAGES[index] ?? '', stage)).toBe(true));
    expect(leads('start', 'end')).toBe(true);
  });
  test('the gates, the replan and the abort of the diagram', () => {
    expect(edges).toContainEqual(expect.objectContaining({ from: 'plan gate', to: 'work', label: 'pass' }));
    expect(edges).toContainEqual(
      expect.objectContaining({ from: 'validate', to: 'plan', label: 'replan', back: true }),
    );
    expect(edges).toContainEqual(expect.objectContaining({ from: 'validate', to: 'finalize', label: 'pass' }));
    expect(leads('validate', 'abort')).toBe(true);
  });
  test('every edge has two ends', () => {
    const ids = new Set(nodes.map(({ id }) => id));
    for (const { from, to } of edges) expect([ids.has(from), ids.has(to)]).toEqual([true, true]);
  });
});

test('escalation is drawn where a person can be asked, and only there', () => {
  const drawn = (staged: object) =>
    compile({ agents: AGENTS, staged: { ...SUPERVISOR, ...staged } }).graph?.nodes.some(
      ({ id }) => id === 'escalation',
    );
  expect(drawn({ tier: 'regulated' })).toBe(true);
  expect(drawn({ validate: { agent: 'critic', confidence: 0.5 } })).toBe(true);
  expect(drawn({ tier: 'interactive' })).toBe(false);
});

test('a malformed plan leads back to the planner in the batch tier only; the gate names the critic', () => {
  const picture = (tier: string) =>
    compile({ agents: AGENTS, staged: { ...SUPERVISOR, tier, plan: { agent: 'planner', critic: 'ann' } } }).graph;
  const mends = (tier: string) => picture(tier)?.edges.some(({ from, to }) => from === 'plan gate' && to === 'plan');
  expect(['interactive', 'batch', 'regulated'].map(mends)).toEqual([false, true, false]);
  expect(picture('batch')?.nodes.find(({ id }) => id === 'plan gate')?.detail).toContain('ann');
});

test('the command draws the stages in every format', async () => {
  const cwd = folder({ 'research.staged.yaml': JSON.stringify({ agents: AGENTS, staged: SUPERVISOR }) });
  for (const format of ['mermaid', 'dot', 'svg', 'json']) {
    const { stdout, status } = await sluice(['graph', 'research.staged.yaml', '--format', format], { cwd });
    expect(status).toBe(0);
    for (const stage of ['plan', 'workers', 'aggregate', 'validate', 'finalize', 'replan'])
      expect(stdout).toContain(stage);
  }
  const picture = json(await sluice(['graph', 'research.staged.yaml', '--json'], { cwd }));
  expect(picture).toMatchObject({ notation: 'staged', cycles: [{ bound: 'replans: 2' }] });
});
