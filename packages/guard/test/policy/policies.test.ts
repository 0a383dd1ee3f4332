/** Policies: what they can speak of, what a typo costs, and that nothing that cannot be decided is allowed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compile } from '../../../library/src/compile.ts';
import { play } from './play.ts';

const text = (policy: string) => `tools:
  pay.send:
    effect: financial
    permission: payments
    input: { type: object, properties: { to: { type: string }, amount: { type: number }, note: { type: string } }, required: [to, amount] }
agents: [{ id: clerk, tools: [pay.send] }]
boundary: { tools: { allow: [pay.send] }, escalation: { denied: tell } }
policies:
  all: 'permit(principal, action, resource);'
  mine: |
    ${policy}
flow:
  id: demo
  entry: work
  nodes: [{ id: work, type: agent, agent: clerk }]
budgets: { tool_calls: 10 }
`;
const said = (policy: string) =>
  compile(text(policy)).diagnostics.map(({ severity, code, line, column, message, help }) => ({
    severity,
    code,
    line,
    column,
    message,
    help,
  }));

describe('a typo is a compile error at its place', () => {
  test('a tool that does not exist', () => {
    expect(said('forbid(principal, action == Action::"pay.sned", resource);')).toEqual([
      {
        severity: 'error',
        code: 'bad-policy',
        line: 11,
        column: 33,
        message: 'policy `mine`: unrecognized action `Action::"pay.sned"`',
        help: 'Did you mean `Action::"pay.send"`?',
      },
    ]);
  });

  test('an argument that the tool does not take', () => {
    expect(
      said('forbid(principal, action == Action::"pay.send", resource) when { context.args.too == "x" };'),
    ).toMatchObject([
      {
        severity: 'error',
        code: 'bad-policy',
        line: 11,
        column: 70,
        message: expect.stringContaining('`context.args.too` does not exist for `pay.send`') as string,
        help: 'Did you mean `to`?',
      },
    ]);
  });

  test('an argument that no tool of the rule has is one mistake', () => {
    const two = text('forbid(principal, action, resource) when { context.args.tto == "x" };').replace(
      'agents:',
      '  orders.get: { effect: read, input: { type: object, properties: { id: { type: string } } } }\nagents:',
    );
    expect(compile(two).diagnostics).toMatchObject([
      {
        code: 'bad-policy',
        message: 'policy `mine`: `context.args.tto` does not exist for `orders.get`, `pay.send`',
        help: 'Did you mean `to`?',
      },
    ]);
  });

  test('an argument that may be missing is read behind `has`', () => {
    expect(
      said('forbid(principal, action == Action::"pay.send", resource) when { context.args.note == "x" };'),
    ).toMatchObject([{ code: 'bad-policy' }]);
    expect(
      said(
        'forbid(principal, action == Action::"pay.send", resource) when { context.args has note && context.args.note == "x" };',
      ),
    ).toEqual([]);
  });

  test('text that is no policy', () => {
    expect(said('forbid(principal, action, resource')).toMatchObject([
      { severity: 'error', code: 'bad-policy', line: 11 },
    ]);
  });

  test('groups by effect and by permission, and attributes', () => {
    expect(
      said(
        'forbid(principal in Tenant::"t", action in [Action::"effect:financial", Action::"permission:payments"], resource) when { resource.effect == "financial" && context.agent == "clerk" && context.args.amount.greaterThan(decimal("10.0")) };',
      ),
    ).toEqual([]);
    expect(said('forbid(principal, action in Action::"effect:finance", resource);')).toMatchObject([
      { code: 'bad-policy' },
    ]);
  });

  test('a file that is not there', () => {
    const { diagnostics } = compile(
      text('forbid(principal, action, resource);').replace(
        "'permit(principal, action, resource);'",
        '{ file: nowhere.cedar }',
      ),
    );
    expect(diagnostics).toMatchObject([
      { code: 'bad-policy', message: 'the policy file `nowhere.cedar` cannot be read' },
    ]);
  });

  test('a file beside the document, with the line of the mistake', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-policy-'));
    try {
      writeFileSync(
        join(folder, 'rules.cedar'),
        'permit(principal, action, resource);\nforbid(principal, action == Action::"pay.snd", resource);\n',
      );
      const source = text('forbid(principal, action, resource) when { false };').replace(
        "'permit(principal, action, resource);'",
        '{ file: rules.cedar }',
      );
      expect(
        compile(source, { file: join(folder, 'x.yaml') }).diagnostics.filter(({ severity }) => severity === 'error'),
      ).toMatchObject([{ code: 'bad-policy', message: expect.stringContaining('(line 2 of the file)') as string }]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('rules that permit nothing are pointed out', () => {
    const source = text('forbid(principal, action, resource);').replace(
      "  all: 'permit(principal, action, resource);'\n",
      '',
    );
    expect(compile(source).diagnostics).toMatchObject([
      { severity: 'warning', code: 'policy-permits-nothing', line: 8 },
    ]);
  });
});

describe('who may have what called', () => {
  const script = {
    agents: { clerk: [{ tools: [{ name: 'pay.send', args: { to: 'x', amount: 12.5 } }] }, 'done'] },
    tools: { 'pay.send': [{ result: 1 }] },
  };
  const ran = async (policy: string, origin?: { tenant?: string; user?: string }) =>
    (await play(text(policy), script, origin === undefined ? {} : { origin })).dispatched.length;

  test.each([
    [
      'forbid(principal, action, resource) unless { principal in Tenant::"acme" };',
      { tenant: 'acme', user: 'ann' },
      { tenant: 'other', user: 'ann' },
    ],
    ['forbid(principal, action, resource) unless { principal == User::"ann" };', { user: 'ann' }, { user: 'bob' }],
    ['forbid(principal, action, resource) unless { principal == User::"anonymous" };', {}, { user: 'bob' }],
  ])('%s', async (policy, yes, no) => {
    expect([await ran(policy, yes), await ran(policy, no)]).toEqual([1, 0]);
  });

  test.each([
    ['forbid(principal, action, resource) when { context.agent == "clerk" };', 0],
    ['forbid(principal, action, resource) when { context.boundary == "" };', 1],
    ['forbid(principal, action, resource) when { context.profile == "" };', 0],
    ['forbid(principal, action in Action::"permission:payments", resource);', 0],
    [
      'forbid(principal, action == Action::"pay.send", resource) when { context.args.amount.lessThan(decimal("12.0")) };',
      1,
    ],
    [
      'forbid(principal, action == Action::"pay.send", resource) when { context.args.amount.greaterThan(decimal("12.0")) };',
      0,
    ],
  ])('%s', async (policy, times) => {
    expect(await ran(policy)).toBe(times);
  });

  test('a `forbid` that cannot be evaluated denies', async () => {
    // 9 * 10^18 overflows when it is doubled, so that the rule has no value.
    expect(
      await ran('forbid(principal, action, resource) when { 9000000000000000000 + 9000000000000000000 > 1 };'),
    ).toBe(0);
  });

  test('policies and boundary are in the flow, so its hash covers them §modes/policy-regression', () => {
    const [one, other] = [
      compile(text('forbid(principal, action, resource);')).flow,
      compile(text('forbid(principal, action, resource) when { false };')).flow,
    ];
    expect(one?.policies?.['mine']).toContain('forbid');
    expect(one?.boundaries?.['clerk']).toMatchObject({
      version: expect.stringMatching(/^b-[0-9a-f]{12}$/) as string,
      tools: { allow: ['pay.send'] },
    });
    expect(one?.hash).not.toBe(other?.hash);
  });

  test('a tool that the author put into a flow is permitted or denied too', async () => {
    const document = text('forbid(principal, action, resource) unless { principal == User::"ann" };').replace(
      '{ id: work, type: agent, agent: clerk }',
      '{ id: work, type: tool, tool: pay.send, params: { to: x, amount: 1 } }',
    );
    const yes = await play(document, script, { origin: { user: 'ann' } });
    const no = await play(document, script, { origin: { user: 'bob' } });
    expect([yes.report.code, yes.dispatched.length]).toEqual(['SUCCESS', 1]);
    expect([no.report.code, no.dispatched.length]).toEqual(['PERMISSION_DENIED', 0]);
    expect(no.report.error).toMatchObject({ type: 'PermissionError', node: 'work' });
  });
});
