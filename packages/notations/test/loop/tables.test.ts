/** The tables of the page, row by row: codes, phases, budgets, escalations. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROUTES } from '../../../kernel/src/catalog/escalations.ts';
import { ESCALATIONS } from '@sluice-internal/kernel/catalog';
import { RUN_STATES, SUSPENDING_CODES, TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import type { FlowBody, Node } from '@sluice-internal/kernel/ir';
import { PHASES } from '../../src/loop/state.ts';
import { compile } from '../../../library/src/compile.ts';
import { compileLoop, drive } from './drive.ts';

const cases = new URL('../../../../test/dialects/loop/', import.meta.url);
const expected = readdirSync(cases).map(
  (name) => parse(readFileSync(new URL(`${name}/expected.yaml`, cases), 'utf8')) as { state?: string; code?: string },
);

describe('terminal codes', () => {
  test.each(TERMINAL_CODES)('a run of the loop ends in %s', (code) => {
    const ended = expected.filter((each) => each.code === code && each.state !== 'suspended');
    expect(ended.length).toBeGreaterThan(0);
  });

  test.each([...SUSPENDING_CODES])('a run of the loop waits under %s', (code) => {
    const waits = expected.filter((each) => each.code === code && each.state === 'suspended');
    expect(waits.length).toBeGreaterThan(0);
  });

  test('states are the known ones', () => {
    expect(
      expected.every(({ state }) => state === undefined || (RUN_STATES as readonly string[]).includes(state)),
    ).toBe(true);
  });
});

const DOCUMENT = {
  agents: [{ id: 'bot', tools: ['find'] }],
  tools: { find: { effect: 'read' } },
  loop: { agent: 'bot' },
};
const SCRIPT = {
  agents: { bot: [{ tools: [{ name: 'find', args: {} }], text: '' }, 'done'] },
  tools: { find: [{ result: 1 }] },
};

describe('phases', () => {
  test('there are eighteen, and each is a node of its name', () => {
    const { nodes } = compileLoop(DOCUMENT);
    expect(PHASES).toHaveLength(18);
    expect(PHASES.filter((phase) => nodes[phase]?.label.name !== phase)).toEqual([]);
  });

  test('a run goes through them in their order, once round for each action', async () => {
    const { read } = await drive(compileLoop(DOCUMENT), SCRIPT);
    const entered = read.events.flatMap((event) =>
      'node' in event && (PHASES as readonly string[]).includes(event.node ?? '')
        ? [event.node as (typeof PHASES)[number]]
        : [],
    );
    const once = entered.filter((phase, index) => entered[index - 1] !== phase);
    const numbers = once.map((phase) => PHASES.indexOf(phase) + 1);
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
  });
});

test('a profile becomes the limits of the flow; what the document says itself counts before it §terms/loop-budget §handoffs/resource-abuse', () => {
  const { meters, clock = '' } = compileLoop({
    ...DOCUMENT,
    budgets: { tool_calls: 4 },
    boundary: 'sre',
    loop: { agent: 'bot' },
  });
  expect(meters[clock]?.max).toBe(120_000);
  expect(
    Object.fromEntries(
      Object.values(meters).flatMap(({ label, max }) => (label.startsWith('budgets.') ? [[label.slice(8), max]] : [])),
    ),
  ).toMatchObject({
    steps: 10,
    tool_calls: 4,
    external_calls: 2,
    input_tokens: 100_000,
    output_tokens: 15_000,
    cost_usd: 1_000_000,
    retries: 2,
    context_tokens: 50_000,
    side_effects: 0,
  });
});

describe('escalation', () => {
  test('five routes and the printed eleven rows with one more, each row on a route and under a code', () => {
    expect(ROUTES).toHaveLength(5);
    expect(Object.keys(ESCALATIONS)).toHaveLength(12);
    expect(
      Object.values(ESCALATIONS).every(({ route, code }) => ROUTES.includes(route) && TERMINAL_CODES.includes(code)),
    ).toBe(true);
    expect(new Set(Object.values(ESCALATIONS).map(({ route }) => route)).size).toBe(5);
  });
});

test('what a model says lands in the scratchpad only, and observations are only added to §terms/scratchpad', () => {
  const { nodes, view } = compileLoop(DOCUMENT);
  expect(stateFaults({ nodes, view })).toEqual([]);
  const flows = readdirSync(cases).flatMap((name) => {
    const file = new URL(`${name}/flow.yaml`, cases);
    return compile(readFileSync(file, 'utf8'), { file: fileURLToPath(file) }).flow ?? [];
  });
  expect(flows.length).toBeGreaterThan(100);
  expect(flows.flatMap(stateFaults)).toEqual([]);
  const action = nodes['action_selection'] as Extract<FlowBody['nodes'][string], { op: 'do' }>;
  const bold = {
    ...nodes,
    action_selection: { ...action, writes: [{ slot: 'answer', mode: 'set', value: 'it.text' }] as const },
  };
  expect(stateFaults({ nodes: bold, view })).toEqual(['`action_selection` writes what a model says to `answer`']);
  const forged = {
    ...nodes,
    forge: {
      op: 'let',
      label: { name: 'x' },
      writes: [{ slot: 'observations', mode: 'set', value: '[1]' }],
      next: 'y',
    } as const,
  };
  expect(stateFaults({ nodes: forged, view })).toEqual(['`forge` changes `observations`, which is only added to']);
});

/**
 * Checks which node writes which slot: a model's reply goes to the scratchpad only, and observations are only appended to. The
 * state of a task is written from the scratchpad by expressions, after the reply was judged.
 */
function stateFaults({ nodes, view }: Pick<FlowBody, 'nodes' | 'view'>): readonly string[] {
  const stores = view?.stores ?? {};
  return Object.entries<Node>(nodes).flatMap(([id, node]) => {
    if (node.op !== 'do' && node.op !== 'let') return [];
    const speaks = node.op === 'do' && node.effect.kind === 'model';
    return node.writes.flatMap(({ slot, mode, value }) => {
      const store = Object.hasOwn(stores, slot) ? stores[slot] : undefined;
      if (speaks && store !== 'scratchpad') return [`\`${id}\` writes what a model says to \`${slot}\``];
      const begins = mode === 'set' && value === '[]';
      if (store === 'observations' && mode !== 'append' && !begins)
        return [`\`${id}\` changes \`${slot}\`, which is only added to`];
      return [];
    });
  });
}
