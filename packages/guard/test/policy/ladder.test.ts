/** Every rung on which a document can stand too high: what is said, where, and what is not said of its neighbours. */
import { describe, expect, test } from 'vitest';
import { compile } from '../../../library/src/compile.ts';

const NOTHING = { type: 'object', properties: {}, additionalProperties: false };
const LOOK = { effect: 'read', input: { type: 'object', properties: { q: { type: 'string' } } } };
const loop = (more: object) => ({
  tools: { look: LOOK },
  agents: [{ id: 'bot', tools: ['look'] }],
  loop: { agent: 'bot' },
  ...more,
});
const flow = (nodes: readonly object[], more: object = {}) => ({
  tools: { look: LOOK },
  agents: [{ id: 'bot' }, { id: 'hand', tools: ['look'] }],
  ...more,
  flow: { id: 'demo', entry: 'a', nodes },
});
const line = (second: object) => [
  { id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'b' }] },
  { id: 'b', type: 'agent', agent: 'bot', ...second },
];
const fork = (type: object, routes: readonly object[]) => [
  { id: 'a', ...type, routes },
  { id: 'b', type: 'terminal', output: 'b' },
  ...(JSON.stringify(routes).includes('"c"') ? [{ id: 'c', type: 'terminal', output: 'c' }] : []),
];
const AGENT = { type: 'agent', agent: 'bot' };
const DECISION = { type: 'decision', expr: 'event.payload.kind' };
const APPROVAL = { type: 'approval', message: 'Go?' };
const team = (selection: object, names = ['A', 'B']) => ({
  Orchestration: {
    Agents: names.map((Name) => ({ Name, Instructions: 'work' })),
    Selection: selection,
    Termination: { Type: 'composite', Strategies: [{ Type: 'maxiterations', MaxIterations: 4 }] },
  },
});
const workflow = (steps: readonly object[]) => ({ workflow: { id: 'w', steps } });

/** `[uses, needs]` of every warning. */
function tiers(document: object): readonly (readonly [number, number])[] {
  const { diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return diagnostics
    .filter(({ code }) => code === 'simpler-tier')
    .map(({ message }) => {
      const [, uses, needs] = /tier (\d) \(.*?\), and tier (\d)/.exec(message) ?? [];
      return [Number(uses), Number(needs)] as const;
    });
}

describe('a simpler tier is enough', () => {
  test.each<[string, object, readonly [number, number]]>([
    ['a loop without tools', loop({ agents: [{ id: 'bot' }] }), [6, 1]],
    [
      'a planner and an executor without tools',
      loop({ agents: [{ id: 'boss' }, { id: 'bot' }], loop: { planner: 'boss', executor: 'bot' } }),
      [6, 2],
    ],
    ['a loop that may call nothing', loop({ boundary: { tools: { deny: ['look'] } } }), [6, 1]],
    ['a loop that may decide on no tools', loop({ boundary: { decisions: ['arguments'] } }), [6, 1]],
    ['a loop that can afford no call', loop({ budgets: { tool_calls: 0 } }), [6, 1]],
    ['a loop of a single turn', loop({ budgets: { steps: 1 } }), [6, 1]],
    ['a loop with one call to make', loop({ tools: { look: { effect: 'read', input: NOTHING } } }), [6, 3]],
    ['a loop that may call once', loop({ budgets: { tool_calls: 1 } }), [6, 4]],
    [
      'an agent of a flow that may call nothing',
      flow([{ id: 'a', type: 'agent', agent: 'hand' }], { boundary: { tools: { deny: ['look'] } } }),
      [6, 2],
    ],
    [
      'an agent of a flow that can afford no call',
      flow([{ id: 'a', type: 'agent', agent: 'hand' }], {
        agents: [{ id: 'hand', tools: ['look'], budget: { tool_calls: 0 } }],
      }),
      [6, 2],
    ],
    [
      'an agent of a flow with one call to make',
      flow([{ id: 'a', type: 'agent', agent: 'hand' }], { tools: { look: { effect: 'read', input: NOTHING } } }),
      [6, 3],
    ],
    ['a question whose every answer leads on', flow(fork(APPROVAL, [{ to: 'b' }])), [5, 3]],
    [
      'what an agent says, and the flow goes on all the same',
      flow(fork(AGENT, [{ when: "output.x == 'y'", to: 'b' }, { to: 'b' }])),
      [4, 2],
    ],
    ['a model that chooses among one', team({ Type: 'llm', Model: 'openai/x' }, ['A']), [4, 2]],
    [
      'a graph that is a line',
      team({
        Type: 'graph',
        Graph: {
          Nodes: [
            { Id: 'a', Agent: 'A' },
            { Id: 'b', Agent: 'B', Terminal: true },
          ],
          Edges: [{ From: 'a', To: 'b' }],
        },
      }),
      [4, 2],
    ],
    [
      'a step that is repeated once',
      workflow([{ agent: 'x', mode: { Loop: { max_iterations: 1, until: 'done' } } }]),
      [4, 2],
    ],
    [
      'a decision that decides nothing',
      flow(
        fork(DECISION, [
          { when: 'x', to: 'b' },
          { when: 'default', to: 'b' },
        ]),
      ),
      [3, 2],
    ],
    [
      'a fan-out of one',
      workflow([
        { agent: 'x', mode: 'FanOut' },
        { agent: 'y', prompt: '{{input}}' },
      ]),
      [3, 2],
    ],
    [
      'a chain whose last step reads nothing',
      workflow([
        { agent: 'x', prompt: 'one {{input}}' },
        { agent: 'y', prompt: 'a poem' },
      ]),
      [2, 1],
    ],
    ['a line of agents whose last reads nothing', flow(line({ input: { task: 'a poem' } })), [2, 1]],
  ])('%s', (_, document, expected) => {
    expect(tiers(document)).toEqual([expected]);
  });

  test('the warning stands where the node is written', () => {
    const { diagnostics } = compile(
      [
        'agents: [{ id: bot }]',
        'flow:',
        '  id: demo',
        '  entry: ask',
        '  nodes:',
        '    - { id: ask, type: approval, message: "Go?", routes: [{ to: done }] }',
        '    - { id: done, type: terminal, output: x }',
      ].join('\n'),
    );
    expect(diagnostics).toMatchObject([{ code: 'simpler-tier', line: 6, severity: 'warning' }]);
  });
});

describe('nothing is said', () => {
  test.each<[string, object]>([
    ['of a loop with a choice', loop({})],
    ['of a loop that may call twice', loop({ budgets: { tool_calls: 2, steps: 2 } })],
    ['of an agent of a flow with a choice', flow([{ id: 'a', type: 'agent', agent: 'hand' }])],
    ['of an answer that leads elsewhere', flow(fork(APPROVAL, [{ when: "approvals.a == 'approve'", to: 'b' }]))],
    [
      'of an answer that somebody reads later',
      flow([
        { id: 'a', ...APPROVAL, routes: [{ to: 'b' }] },
        { id: 'b', type: 'terminal', output: '{{approvals.a}}' },
      ]),
    ],
    ['of a branch with two ends', flow(fork(AGENT, [{ when: "output.x == 'y'", to: 'b' }, { to: 'c' }]))],
    [
      'of a decision with two ends',
      flow(
        fork(DECISION, [
          { when: 'x', to: 'b' },
          { when: 'default', to: 'c' },
        ]),
      ),
    ],
    ['of a chain that hands on', flow(line({ input: { task: 'Rhyme on {{a.output}}' } }))],
    ['of a single agent', flow([{ id: 'a', type: 'agent', agent: 'bot', input: { task: 'a poem' } }])],
    ['of a model that chooses among two', team({ Type: 'llm', Model: 'openai/x' })],
    ['of a step that may come twice', workflow([{ agent: 'x', mode: { Loop: { max_iterations: 2, until: 'done' } } }])],
    [
      'of a fan-out of two',
      workflow([
        { agent: 'x', mode: 'FanOut' },
        { agent: 'y', mode: 'FanOut' },
      ]),
    ],
  ])('%s', (_, document) => {
    expect(tiers(document)).toEqual([]);
  });
});
