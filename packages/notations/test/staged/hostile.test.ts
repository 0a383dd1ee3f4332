/**
 * Hostile agents under all protections: they loop, lie, stall, oscillate, spawn and overspend, and tools fail. Every run ends
 * or waits for a person, stays within its budgets and its certificate, and has its decisions in the journal.
 */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { AGENTS, SUPERVISOR } from './drive.ts';

const RUNS = Number(process.env['STAGED_RUNS'] ?? 60);
const CODES =
  /^(SUCCESS|PARTIAL_SUCCESS|VALIDATION_FAIL|UNAVAILABLE_DEP|BUDGET_EXHAUSTED|REPEATED_FAILURE|UNSAFE_DETECTION|TIMEOUT|REVIEW_REQUIRED|LOW_CONFIDENCE|IMPOSSIBLE|PERMISSION_DENIED)$/;

/** A small generator of numbers below one. */
function random(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822507) + 0x9e3779b9) | 0;
    return ((state >>> 0) % 10_000) / 10_000;
  };
}

const PLANS = [
  '{"tasks": []}',
  'no plan at all',
  '{"tasks": [{"id": "a", "brief": "A"}]}',
  '{"tasks": [{"id": "a", "brief": "A"}, {"id": "b", "brief": "B"}]}',
  '{"tasks": [{"id": "a", "brief": "A"}, {"id": "a", "brief": "B"}]}',
  JSON.stringify({ tasks: Array.from({ length: 30 }, (_, index) => ({ id: `t${index}`, brief: 'x' })) }),
];
const CALL = { text: '', tools: [{ name: 'find', args: { q: 'x' } }] };
const REPLIES = [
  'A fact.',
  '',
  '{"x": 1}',
  CALL,
  CALL,
  { error: 'transient', message: '503' },
  { error: 'rate_limit', message: '429' },
  { error: 'refused', message: 'no' },
  { error: 'fatal', message: 'gone' },
  { delayMs: 90_000, text: 'late' },
  { text: 'long', usage: { input: 5_000, output: 5_000 } },
  'The password is 1234.',
  '{"handoff": "bob", "message": "yours"}',
  '{"handoff": "ann", "message": "yours"}',
  '{"handoff": "nobody"}',
  '{"done": "done"}',
  '{"writes": {"a": 1}, "version": 0}',
  '{"writes": {"a": 2}, "version": 1, "done": true}',
  '{"version": 0}',
  '{"spawn": [{"id": "x", "brief": "x"}, {"id": "y", "brief": "y"}]}',
] as const;
const VERDICTS = ['{"ok": true, "confidence": 0.9}', '{"ok": false, "problem": "no"}', '{"ok": true}', 'fine'];

const WORK = {
  supervisor: { workers: { agent: 'worker', timeout: 60, budget: { model_calls: 40 } } },
  handoff: { peers: { agents: ['ann', 'bob', 'cat'], timeout: 300 } },
  debate: { debate: { agents: ['ann', 'bob'], judge: 'cat' } },
  sop: {
    sop: [
      { id: 'one', agent: 'ann', timeout: 60 },
      { id: 'two', agent: 'bob' },
    ],
  },
  blackboard: { board: { agents: ['ann', 'bob'], rounds: 3 } },
  swarm: { swarm: { agent: 'worker', depth: 2, max: 6 } },
  hierarchical: {
    teams: [
      { id: 'north', staged: { plan: { agent: 'planner' }, workers: { agent: 'ann' }, validate: { agent: 'critic' } } },
    ],
  },
};

describe.each(Object.entries(WORK))('%s', (topology, work) => {
  test.each(['interactive', 'batch', 'regulated'] as const)(
    '%s',
    async (tier) => {
      const budgets = { model_calls: 120, tool_calls: 60, tokens: 200_000 };
      const { flow, bounds, diagnostics } = compile({
        agents: AGENTS.map((agent) => ({ ...agent, tools: ['find'], max_output_tokens: 1000 })),
        tools: { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read' } },
        budgets,
        staged: {
          ...SUPERVISOR,
          workers: undefined,
          tier,
          ...work,
          validate: { agent: 'critic', confidence: 0.8 },
          finalize: {
            agent: 'writer',
            guards: [{ when: "text(output).contains('password')", reason: 'secret' }],
            safe_fallback: 'No.',
          },
        },
      });
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      for (let seed = 1; seed <= RUNS / 20; seed++) {
        const next = random(seed * 31 + topology.length * 7 + tier.length);
        const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)] as Item;
        const some = <Item>(items: readonly Item[]): Item[] => Array.from({ length: 12 }, () => pick(items));
        const script: Script = {
          agents: {
            planner: some(PLANS),
            critic: some(VERDICTS),
            editor: some(REPLIES),
            writer: some(REPLIES),
            worker: some(REPLIES),
            ann: some(REPLIES),
            bob: some(REPLIES),
            cat: some(REPLIES),
          },
          tools: { find: some([{ result: 'nothing' }, { result: 'news' }, { error: 'transient', message: '502' }]) },
          approvals: {
            escalation: some([
              { choice: 'approve' },
              { choice: 'reject' },
              { choice: 'respond', text: 'again' },
              { choice: 'edit', edit: 'edited' },
            ]),
          },
        };
        const engine = createEngine({ journal: openMemory(), script });
        const run = await engine.start(flow as NonNullable<typeof flow>, { input: 'Do it.', seed });
        const report = await engine.settled(run);
        await engine.close();
        const where = `${topology} ${tier} seed ${seed}: ${report.state} ${report.code}`;
        expect(['completed', 'failed'], where).toContain(report.state);
        expect(report.code, where).toMatch(CODES);
        expect(report.usage.modelCalls, where).toBeLessThanOrEqual(budgets.model_calls);
        expect(report.usage.toolCalls, where).toBeLessThanOrEqual(budgets.tool_calls);
        expect(report.usage.modelCalls, where).toBeLessThanOrEqual(bounds?.flow.modelCalls.most ?? Infinity);
        const isSilent = report.state === 'failed' && report.decisions.length === 0;
        expect(isSilent, where).toBe(false);
      }
    },
    120_000,
  );
});
