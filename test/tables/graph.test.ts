/** The compiled loop against the table of its parts: which part leads where, what guards it, and nothing beside that. */
import { describe, expect, test } from 'vitest';
import type { DoNode, Node } from '@sluice-internal/kernel/ir';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';

/** A loop with everything that a loop can have. */
const FLOW = compileLoop({
  agents: [{ id: 'boss' }, { id: 'bot', tools: ['find', 'save'] }, { id: 'judge' }],
  tools: { find: { effect: 'read' }, save: { effect: 'write' } },
  budgets: { tool_calls: 5, steps: 9 },
  policies: { all: 'permit(principal, action, resource);' },
  loop: {
    planner: 'boss',
    executor: 'bot',
    verifier: { agent: 'judge', confidence: 0.5 },
    review: true,
    memory: true,
    requires: ['x'],
    intents: [
      { id: 'a', when: 'goal == "a"' },
      { id: 'b', when: 'goal == "b"' },
    ],
    guards: [
      { when: 'goal == "x"', reason: 'unsafe' },
      { when: 'goal == "y"', reason: 'not allowed', code: 'PERMISSION_DENIED' },
    ],
    plan: { approve: true },
    escalation: { safer: 'judge', expansions: 1 },
    compression: { window: 1000 },
  },
});
const nodes = Object.entries<Node>(FLOW.nodes);
const TARGETS = new Set(['to', 'next', 'otherwise', 'fail', 'denied', 'head', 'refused', 'stopped']);
/** A run that goes wrong ends through its last phase, and a budget stands before every call. */
const ALWAYS = ['budget', 'trace_logging', 'END'];
const ASKS = [
  'missing_info',
  'ambiguous_intent',
  'plan',
  'review',
  'confidence',
  'conflict',
  'divergence',
  'violation',
];

function targetsOf(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return TARGETS.has(key) && value in FLOW.nodes ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((each) => targetsOf(each, key));
  return value === null || typeof value !== 'object'
    ? []
    : Object.entries(value).flatMap(([field, each]) => targetsOf(each, field));
}

const partOf = (id: string): string => {
  const node = FLOW.nodes[id] as Node;
  return node.op === 'end' ? 'END' : node.label.name;
};
const waysFrom = (belongs: (part: string) => boolean): Set<string> =>
  new Set(
    nodes
      .filter(([id]) => belongs(partOf(id)))
      .flatMap(([, node]) => targetsOf(node))
      .map(partOf)
      .filter((part) => !belongs(part)),
  );

const ROWS: readonly [string, string, readonly string[]][] = [
  ['goal intake §graph/goal-intake', 'goal_intake', ['classify_intent', 'missing_info', 'escalation_check']],
  ['reading of the intent §graph/classify-intent', 'classify_intent', ['scope_resolution', 'ambiguous_intent']],
  ['scope §graph/scope-resolution', 'scope_resolution', ['policy_check']],
  ['scope that a rule ends §graph/scope-resolution', 'policy_check', ['state_init', 'escalation_check']],
  ['state §graph/state-init', 'state_init', ['plan_selection']],
  ['plan §graph/plan-node', 'plan_selection', ['plan_validation']],
  [
    'validation of the plan §graph/plan-validation',
    'plan_validation',
    ['budget_assign', 'repair', 'escalation_check', ...ASKS],
  ],
  [
    'choice of the action §graph/action-selection',
    'action_selection',
    ['tool_invocation', 'observation_grounding', 'plan_divergence'],
  ],
  ['repair §graph/repair-node', 'repair', ['plan_selection', 'escalation_check']],
  ['question to the user §graph/ask-user', 'ask_user', ['plan_selection', 'tool_eligibility']],
  ['verification §graph/observation-verification', 'observation_grounding', ['state_update']],
  ['verdict §graph/observation-verification', 'validation_check', ['reflection_trigger', 'escalation_check']],
  ['update of the state §graph/state-update', 'state_update', ['validation_check']],
  ['look whether it is done §graph/completion-check', 'termination_check', ['tool_eligibility', 'escalation_check']],
  ['final answer §graph/finalize', 'final_response', ['memory_write']],
  ['end §graph/terminate', 'terminate', []],
];

const calls = nodes.filter((each): each is [string, DoNode] => each[1].op === 'do' && each[1].effect.kind === 'tool');

describe('parts and ways', () => {
  test.each(ROWS)('%s', (_, part, allowed) => {
    const ways = waysFrom((each) => each === part);
    expect(ways.size).toBeGreaterThan(0);
    expect([...ways].filter((each) => !allowed.includes(each) && !ALWAYS.includes(each))).toEqual([]);
  });

  test('the checks of a call lead to the call, to a person, back with a reason, or to the end §graph/tool-eligibility', () => {
    const ways = waysFrom((part) => part === 'tool_invocation');
    expect(ways.size).toBeGreaterThan(0);
    for (const [, node] of calls) {
      const { walk, refused, stopped } = node.controls ?? { walk: [] };
      expect(walk.map(({ control }) => control)).toEqual(expect.arrayContaining(['arguments', 'budget']));
      expect([refused, stopped].every((to) => to !== undefined && Object.hasOwn(FLOW.nodes, to))).toBe(true);
    }
    const saves = calls.flatMap(([, node]) =>
      node.effect.kind === 'tool' && node.effect.tool === 'save' ? [node] : [],
    );
    expect(saves.flatMap((node) => node.controls?.walk ?? []).some(({ how }) => how === 'ask')).toBe(true);
  });

  test('tools are called in one place, behind the checks, and by no model §graph/tool-invocation', () => {
    expect(new Set(calls.map(([id]) => partOf(id)))).toEqual(new Set(['tool_invocation']));
    expect(calls.every(([, node]) => (node.controls?.walk.length ?? 0) > 0)).toBe(true);
  });

  test('the answer of the person decides: yes continues, no ends the path §graph/human-approval', () => {
    for (const about of ['plan', 'divergence', 'review', 'conflict', 'confidence'])
      expect([...waysFrom((part) => part === about)]).toContain('escalation_check');
  });

  test('a way back is bounded §graph/repair-node', () => {
    const repair = FLOW.nodes['repair'];
    const [meter] = repair?.op === 'let' ? (repair.charges ?? []) : [];
    expect(FLOW.meters[meter ?? '']).toMatchObject({ max: 2 });
  });

  test('every end says how it ended, and success, failure, escalation and exhaustion each have one §graph/terminate', () => {
    const ends = nodes.flatMap(([, node]) => (node.op === 'end' ? [node] : []));
    const codes = ends.map((node) => ('code' in node ? String(node.code) : 'by the failure'));
    expect(codes).toEqual(
      expect.arrayContaining(['SUCCESS', 'PARTIAL_SUCCESS', 'BUDGET_EXHAUSTED', 'REVIEW_REQUIRED', 'UNSAFE_DETECTION']),
    );
    expect(ends.every((node) => targetsOf(node).length === 0)).toBe(true);
  });
});

const DOCUMENT = {
  agents: [{ id: 'bot', tools: ['find'] }],
  tools: { find: { effect: 'read', output: { type: 'number' } } },
  loop: { agent: 'bot' },
};

test('raw first, then judged, then written; what is not accepted is not written §graph/observation-capture §graph/observation-verification', async () => {
  const script = (result: unknown) => ({
    agents: { bot: [{ tools: [{ name: 'find', args: {} }], text: '' }, 'done'] },
    tools: { find: [{ result: result as never }] },
  });
  const order = async (result: unknown): Promise<string[]> => {
    const { read } = await drive(compileLoop(DOCUMENT), script(result));
    const key = read.events.flatMap((event) =>
      event.type === 'effect.requested' && event.kind === 'tool' ? [event.key] : [],
    )[0];
    return read.events.flatMap((event) =>
      'key' in event && event.key === key ? [event.type === 'effect.judged' ? event.verdict : event.type] : [],
    );
  };
  expect(await order(7)).toEqual(['effect.requested', 'effect.settled', 'accepted']);
  expect(await order('seven')).toEqual(['effect.requested', 'effect.settled', 'failed']);
});
