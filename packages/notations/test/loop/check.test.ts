/** What a loop cannot mean is an error at its place, and a budget that no run fits into is spoken of. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';

function found(document: object) {
  const { diagnostics } = compile({ agents: ['bot', 'boss'].map((id) => ({ id, tools: ['find'] })), ...document });
  return diagnostics
    .filter(({ code }) => code !== 'simpler-tier')
    .map(({ code, message, severity, help }) => ({ code, path: message.split(': ')[0], severity, help }));
}
const TOOLS = { find: { effect: 'read' } };
const loop = (fields: object, boundary?: object) =>
  found({ tools: TOOLS, ...(boundary && { boundary }), loop: { agent: 'bot', ...fields } });
const ALONE = { escalation: { people: false } };

describe('a breaker', () => {
  test.each([
    [{ identical: 6 }, 'loop.breaker.identical'],
    [{ window: 2 }, 'loop.breaker.window'],
    [{ identical: 4, window: 3 }, 'loop.breaker.identical'],
  ])('%j can never trip', (breaker, path) => {
    expect(loop({ breaker })).toMatchObject([{ code: 'bad-value', severity: 'error', path }]);
  });

  test.each([{ identical: 5 }, { identical: 6, window: 6 }, { identical: 2, window: 2 }])('%j can', (breaker) => {
    expect(loop({ breaker }).filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});

test('`grounding.claims` names what to write instead', () => {
  expect(loop({ grounding: { claims: false } })).toMatchObject([
    { code: 'unknown-key', help: expect.stringContaining('`criteria: [{ when: "receipts.exists') as string },
  ]);
});

describe('unsupported values under a boundary', () => {
  const claims = (ungrounded: string, onViolation: string) =>
    found({
      tools: TOOLS,
      boundary: { escalation: { ungrounded } },
      loop: { agent: 'bot', grounding: { on_violation: onViolation } },
    });
  test.each([
    ['fail', 'mark'],
    ['fail', 'escalate'],
    ['ask', 'repair'],
    ['tell', 'mark'],
  ])('the boundary says %s, so %s is refused', (ungrounded, onViolation) => {
    expect(claims(ungrounded, onViolation)).toMatchObject([
      { code: 'looser-boundary', severity: 'error', path: 'loop.grounding.on_violation' },
    ]);
  });
  test.each([
    ['fail', 'halt'],
    ['ask', 'escalate'],
    ['tell', 'halt'],
  ])('the boundary says %s, and %s is as strict', (ungrounded, onViolation) => {
    expect(claims(ungrounded, onViolation).filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});

test('a budget of no side effects lets no tool of an MCP server act', () => {
  const document = { mcp: { find: { command: 'x' } }, agents: [{ id: 'bot', tools: ['find.order'] }] };
  const warned = found({ ...document, loop: { agent: 'bot' }, budgets: { side_effects: 0 } });
  expect(warned.map(({ code }) => code)).toEqual(['undeclared-effect', 'budget-too-small']);
});

test('a breaker is refused where the loop detector is off', () => {
  const document = { tools: TOOLS, loop: { agent: 'bot', breaker: { identical: 4 } }, protections: { loop: false } };
  expect(found(document).filter(({ severity }) => severity === 'error')).toMatchObject([
    { code: 'bad-value', path: 'loop.breaker' },
  ]);
});

test('a breaker is judged with the window of the loop detector', () => {
  const protections = { loop: { window: 3, identical: 3 } };
  expect(found({ tools: TOOLS, loop: { agent: 'bot', breaker: { identical: 4 } }, protections })).toMatchObject([
    { code: 'bad-value', path: 'loop.breaker.identical' },
  ]);
});

test.each([
  [{ plan: { approve: true } }, 'loop.plan.approve', {}],
  [{ review: true }, 'loop.review', ALONE],
])('%j needs a person who cannot be asked, or a plan that is not made', (fields, path, boundary) => {
  expect(loop(fields, boundary)).toMatchObject([{ code: 'bad-value', severity: 'error', path }]);
});

test.each([
  [{ plan: { max_steps: 3 } }, 'loop.plan', {}],
  [{ escalation: { safer: 'boss' } }, 'loop.escalation.safer', {}],
  [{ escalation: { expansions: 1 } }, 'loop.escalation.expansions', ALONE],
  [{ escalation: { timeout: 5 } }, 'loop.escalation.timeout', ALONE],
  [{ compression: { at: 0.5 } }, 'loop.compression', {}],
])('%j has no effect, and that is a warning', (fields, path, boundary) => {
  const idle = loop(fields, boundary).filter(({ code }) => code === 'no-effect');
  expect(idle).toMatchObject([{ severity: 'warning', path }]);
});

describe('intents', () => {
  const intent = (id: string) => ({ id, when: 'true' });
  test('share no id', () => {
    expect(loop({ intents: [intent('a'), intent('b'), intent('a')] })).toMatchObject([
      { code: 'duplicate-id', path: 'loop.intents[2].id' },
    ]);
  });

  test('cannot be called what refuses them all', () => {
    expect(loop({ intents: [intent('a'), intent('reject')] })).toMatchObject([
      { code: 'reserved-id', path: 'loop.intents[1].id' },
    ]);
  });
});

test('an executor needs a planner', () => {
  expect(found({ tools: TOOLS, loop: { executor: 'bot' } })).toMatchObject([
    { code: 'missing-agent', path: 'loop.executor' },
  ]);
});

describe('a condition that fails closed', () => {
  const code = (value: string) =>
    found({
      tools: TOOLS,
      loop: { agent: 'bot' },
      boundary: { fail_closed: [{ what: 'x', when: 'true', code: value }] },
    });

  test.each(['SUCCESS', 'PARTIAL_SUCCESS', 'CONFIRM_REQUIRED', 'MISSING_INFO', 'AMBIGUOUS_INTENT', 'USER_CANCEL'])(
    'does not end a run %s',
    (each) => {
      expect(code(each)).toMatchObject([{ code: 'bad-value', path: 'boundary.fail_closed[0].code' }]);
    },
  );

  test.each(['UNSAFE_DETECTION', 'REVIEW_REQUIRED', 'BUDGET_EXHAUSTED'])('may end it %s', (each) => {
    expect(code(each).filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});

describe('budgets', () => {
  const budgets = (limits: object, more: object = {}) =>
    found({ tools: TOOLS, loop: { agent: 'bot' }, budgets: { tool_calls: 9, ...limits }, ...more });

  test('that one reply does not fit into are spoken of, with the number that does', () => {
    const [first] = budgets({ output_tokens: 1000 }).filter(({ code }) => code === 'budget-too-small');
    expect(first).toMatchObject({ severity: 'warning', path: 'budgets.output_tokens' });
    expect(first?.help).toContain('at least 4096');
    expect(budgets({ output_tokens: 4096 }).map(({ code }) => code)).not.toContain('budget-too-small');
  });

  test('of one agent as well', () => {
    const agents = [{ id: 'bot', tools: ['find'], max_output_tokens: 500, budget: { output_tokens: 100 } }];
    expect(budgets({}, { agents })).toMatchObject([
      { code: 'budget-too-small', path: 'agents[0].budget.output_tokens' },
    ]);
  });

  test('name the largest allowed number if it is exceeded', () => {
    const messages = (steps: number) =>
      compile({ agents: [{ id: 'bot' }], loop: { agent: 'bot' }, budgets: { steps } }).diagnostics.map(
        ({ message }) => message,
      );
    expect(messages(1e18)).toEqual([expect.stringContaining('from 0 to 9007199254740991')]);
    expect(messages(-1)).toEqual([expect.stringContaining('a whole number of at least 0, but is -1')]);
  });
});

test('a planner whose id cannot be read is one mistake', () => {
  const { diagnostics } = compile({
    agents: [{ id: 'bot' }, { idx: 'boss' }],
    boundary: { decisions: ['tools'] },
    loop: { planner: 'boss', executor: 'bot' },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)).toEqual(['unknown-key']);
});
