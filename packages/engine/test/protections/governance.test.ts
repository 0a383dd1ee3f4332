/** The six governance requirements at the end of the specification of staged flows. §flow/governance */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { AGENTS, GOOD, NO, SUPERVISOR, play } from '../../../notations/test/staged/drive.ts';

const flowOf = (document: object): CompiledFlow => compile(document).flow as CompiledFlow;
const TOOLS = {
  'site.find': { description: 'Finds.', input: { type: 'object' }, effect: 'read' },
  'site.post': { description: 'Posts.', input: { type: 'object' }, effect: 'write', compensate: 'site.remove' },
  'site.remove': { description: 'Removes.', input: { type: 'object' }, effect: 'write' },
};
const withTools = AGENTS.map((each) => (each.id === 'worker' ? { ...each, tools: ['site.find', 'site.post'] } : each));

describe('governance of flow', () => {
  test('1. every stage has a gate before and after it, and each result is an event', async () => {
    const { events } = await play({ staged: SUPERVISOR }, { agents: GOOD });
    const gates = events.flatMap((event) =>
      event.type === 'slots.written'
        ? event.writes.flatMap(({ slot, from }) => (slot === 'validation' ? [JSON.stringify(from)] : []))
        : [],
    );
    for (const stage of ['plan', 'workers', 'aggregate', 'validate', 'finalize'])
      expect(gates.filter((gate) => gate.includes(`"${stage}"`)).length).toBeGreaterThanOrEqual(2);
  });

  test('2. hops, depth, retries, time and cost have explicit limits', () => {
    const flow = flowOf({ agents: AGENTS, staged: SUPERVISOR });
    expect(flow.shared).toMatchObject({ retryBudget: { share: 0.15, burst: 10 }, breaker: { maxTrips: 3 } });
    expect(flow.meters).toMatchObject({
      'velocity.tokens': { max: 100_000, perMs: 60_000 },
      'velocity.cost': { max: 5_000_000, perMs: 3_600_000 },
    });
    // Peers have the five hops, nested teams the eight levels, a replan its two, and every call its timeout.
    const peers = flowOf({
      agents: AGENTS,
      staged: { peers: { agents: ['ann', 'bob'] }, validate: { agent: 'critic' } },
    });
    expect(JSON.stringify(peers.nodes)).toContain('more than 5 handoffs');
    let staged: object = { plan: { agent: 'ann' }, workers: { agent: 'bob' } };
    for (let depth = 0; depth < 8; depth++) staged = { plan: { agent: 'ann' }, teams: [{ id: 't', staged }] };
    expect(compile({ agents: AGENTS, staged }).diagnostics.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('nested 8 levels deep, and 7 are allowed'),
    );
    const limited = flowOf({ agents: AGENTS, staged: { ...SUPERVISOR, plan: { agent: 'planner', timeout: 5 } } });
    expect(Object.values(limited.nodes)).toContainEqual(expect.objectContaining({ op: 'fork', timeoutMs: 5000 }));
    expect(Object.values(flow.meters).some(({ label }) => label?.includes('replan after'))).toBe(true);
    for (const key of ['hops', 'depth', 'spawn', 'breaker', 'retry_budget', 'velocity', 'deadlock'])
      expect(compile({ agents: AGENTS, staged: SUPERVISOR, protections: { [key]: false } }).diagnostics).toContainEqual(
        expect.objectContaining({ code: 'protection-off' }),
      );
  });

  test('3. loop detection is on in every notation, and agents do not diagnose themselves', () => {
    const flow = flowOf({ agents: withTools, tools: TOOLS, staged: SUPERVISOR });
    expect(Object.values(flow.meters).some(({ unit, window }) => unit === 'repeats' && window === 5)).toBe(true);
    const team = flowOf({
      Orchestration: {
        Agents: [
          { Name: 'a', Instructions: 'Talk.' },
          { Name: 'b', Instructions: 'Talk.' },
        ],
        Selection: { Type: 'roundrobin' },
        Termination: { MaxIterations: 9 },
      },
    });
    expect(team.meters['deadlock']).toMatchObject({ unit: 'turns', cycle: 3 });
  });

  test('4. escalation is explicit, and no retry is silent', async () => {
    const failing = {
      ...GOOD,
      planner: [{ error: 'transient' as const, message: '503' }, ...[GOOD['planner'] ?? []].flat()],
    };
    const { report, events } = await play({ staged: SUPERVISOR }, { agents: failing });
    expect(report.decisions).toMatchObject([{ failure: 'provider_error', action: 'retry' }]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'effect.judged', verdict: 'retry' }));
    const regulated = await play(
      { staged: { ...SUPERVISOR, tier: 'regulated' } },
      { agents: { ...GOOD, critic: [NO] } },
    );
    expect(regulated.report).toMatchObject({ state: 'suspended', waiting: [{ choices: expect.anything() }] });
    expect(regulated.report.decisions.at(-1)).toMatchObject({ action: 'escalate', tier: 'regulated' });
  });

  test('5. compensations are registered before the effect', async () => {
    const worker = [{ text: '', tools: [{ name: 'site.post', args: { text: 'x' } }] }, 'Posted.'];
    const { events } = await play(
      {
        agents: withTools,
        tools: TOOLS,
        boundary: { tools: { allow: ['site.find', 'site.post'] } },
        staged: { ...SUPERVISOR, tier: 'batch' },
      },
      {
        agents: { ...GOOD, worker, critic: [NO] },
        tools: { 'site.post': [{ result: 'ok' }], 'site.remove': [{ result: 'ok' }] },
      },
    );
    const posted = events.filter((event) => event.type === 'effect.requested' && event.name === 'site.post');
    expect(posted.length).toBeGreaterThan(0);
    for (const event of posted) expect(event).toMatchObject({ undo: { tool: 'site.remove' } });
    expect(events.filter(({ type }) => type === 'undo.requested')).toHaveLength(posted.length);
  });

  test('6. every decision is an event of the journal', async () => {
    const { report, events } = await play({ staged: SUPERVISOR }, { agents: { ...GOOD, critic: [NO] } });
    expect(report.decisions.map(({ action }) => action)).toEqual(['replan', 'replan', 'abort']);
    for (const { seq, mast } of report.decisions) {
      expect(events.some((event) => event.seq === seq)).toBe(true);
      expect(mast).toMatch(/^FM-\d\.\d$/);
    }
  });
});
