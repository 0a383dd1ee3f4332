/** The autonomy boundary, dimension by dimension: what may be seen, written, called, decided, spent, and who takes over. */
import { describe, expect, test } from 'vitest';
import { compile as compileSource } from '@sluice-internal/notations/driver';
import { boundaryOf } from '../../../compile/src/document/boundary.ts';
import { memoryOfAgent } from '../../../compile/src/document/memory.ts';
import { compile } from '../../../library/src/compile.ts';
import { play } from './play.ts';
import { TOOLS, document } from './bot.ts';

const rows = (boundary: unknown, agent: object = {}) =>
  compile(document(boundary, agent)).flow?.boundaries?.['bot']?.tools;

describe('the six dimensions', () => {
  test('observations: only what is listed may be read §boundary/allowed-observations', () => {
    expect(rows({ observations: ['wiki.*'] })).toMatchObject({ allow: ['wiki.read'], deny: ['crm.read'] });
  });
  test('state writes: only what is listed may be written §boundary/allowed-state-writes', () => {
    expect(rows({ state_writes: [] })?.deny).toEqual(['memory.write']);
    expect(rows({ state_writes: ['memory.*'] })?.approve).toContain('memory.write');
  });
  test('tools: denied before asked about, asked about before allowed §boundary/allowed-tools', () => {
    expect(rows({ tools: { allow: ['*'], approve: ['mail.*', 'crm.*'], deny: ['crm.read'] } })).toEqual({
      allow: ['wiki.read', 'memory.write'],
      approve: ['mail.send'],
      deny: ['crm.read'],
    });
  });
  test('decision rights: without the right to choose tools nothing is called, without that to draft arguments all is asked about §boundary/decision-rights §terms/decision-right', () => {
    expect(rows({ decisions: ['repair'] })?.deny).toHaveLength(4);
    expect(rows({ decisions: ['tools'] })?.approve).toHaveLength(4);
  });
  test('budgets: those of the document stop the next call §boundary/resource-budgets', async () => {
    const calls = { bot: [{ text: '', tools: [{ name: 'wiki.read', args: {} }] }] };
    const { report } = await play(document({}, {}, { budgets: { tool_calls: 2 } }), {
      agents: calls,
      tools: { 'wiki.read': [{ result: 1 }] },
    });
    expect([report.code, report.usage.toolCalls]).toEqual(['BUDGET_EXHAUSTED', 2]);
  });
  test('budgets: a boundary has none, and says where they stand', () => {
    const { diagnostics } = compile(document({ budget: { tool_calls: 2 } }));
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ code: 'unknown-key', help: expect.stringContaining('`budgets`') as string }),
    );
  });
  test("escalation: what each refusal leads to is the boundary's", () => {
    expect(compile(document({ escalation: { rejected: 'fail' } })).flow?.boundaries?.['bot']?.escalation).toEqual({
      rejected: 'fail',
    });
  });
});

describe('the manifest', () => {
  test('the same boundary has the same version, another one another', () => {
    const version = (boundary: unknown) => compile(document(boundary)).flow?.boundaries?.['bot']?.version;
    expect(version({ tools: { deny: ['mail.*'] } })).toBe(version({ tools: { deny: ['mail.*'] } }));
    expect(version({ tools: { deny: ['mail.*'] } })).not.toBe(version({ tools: { deny: ['crm.*'] } }));
    expect(version({ version: 'v7' })).toBe('v7');
  });

  test('an agent cannot take back what the document denies, asks about or fails closed on §terms/autonomy-boundary', () => {
    const outer = {
      tools: { deny: ['mail.*'], approve: ['crm.read'] },
      fail_closed: [{ what: 'never', when: 'false', code: 'UNSAFE_DETECTION' as const }],
    };
    const flow = compile(document(outer, { boundary: { tools: { allow: ['*'] }, fail_closed: [] } })).flow;
    expect(flow?.boundaries?.['bot']).toMatchObject({
      tools: { deny: ['mail.send'], approve: ['crm.read'] },
      failClosed: [{ what: 'never' }],
    });
  });

  test('a person sees under which boundary something is asked §handoffs/permissions-injection', async () => {
    const { report } = await play(document({ version: 'v7' }), {
      agents: { bot: [{ text: '', tools: [{ name: 'mail.send', args: {} }] }] },
    });
    expect(report.waiting[0]?.data).toMatchObject({ boundary: 'v7', effect: 'communication', rollback: null });
  });
});

describe('the boundary of an agent cannot loosen that of the document', () => {
  const both = (outer: object, inner: object) =>
    compile(document(outer, { boundary: inner })).flow?.boundaries?.['bot'];
  const found = (outer: object | string, inner: object) =>
    compile(document(outer, { boundary: inner })).diagnostics.flatMap(({ code, severity, message }) =>
      code === 'looser-boundary' ? [`${severity}: ${message.replace('agents[0].boundary.', '')}`] : [],
    );

  test.each([
    [
      { approval_timeout: 60 },
      { approval_timeout: 900 },
      'approval_timeout',
      'is `900`, looser than `60` of the document',
    ],
    [{ untrusted: 'deny' }, { untrusted: 'off' }, 'untrusted', 'is `off`, looser than `deny` of the document'],
    [
      { untrusted_input: true },
      { untrusted_input: false },
      'untrusted_input',
      'is `false`, looser than `true` of the document',
    ],
    [
      { untrusted_input: ['mail'] },
      { untrusted_input: ['page'] },
      'untrusted_input',
      'is `page`, looser than `mail` of the document',
    ],
    [
      { approve_effects: ['communication'] },
      { approve_effects: [] },
      'approve_effects',
      'is an empty list, looser than `communication` of the document',
    ],
    [
      { escalation: { denied: 'fail' } },
      { escalation: { denied: 'tell', rate: 'ask' } },
      'escalation.denied',
      'is `tell`, looser than `fail` of the document',
    ],
    [
      'sre',
      { escalation: { ungrounded: 'tell' } },
      'escalation.ungrounded',
      'is `tell`, looser than `fail` of the document',
    ],
  ])('%j and %j: one error with both values', (outer, inner, field, says) => {
    expect(found(outer, inner)).toEqual([`error: ${field}: \`${field}\` of agent \`bot\` ${says}`]);
  });

  test.each([
    [
      { decisions: ['tools', 'repair'] },
      { decisions: ['tools', 'plan'] },
      'decisions[1]',
      '`decisions` of agent `bot` grants `plan`, but the document grants `tools`, `repair`',
    ],
    [
      { observations: ['wiki.*'] },
      { observations: ['crm.*'] },
      'observations[0]',
      '`observations` of agent `bot` has `crm.*`, but the document does not list `crm.read`',
    ],
    [
      { state_writes: [] },
      { state_writes: ['*'] },
      'state_writes[0]',
      '`state_writes` of agent `bot` has `*`, but the document does not list `memory.write`',
    ],
    [
      { tools: { deny: ['mail.*'] } },
      { tools: { allow: ['wiki.*', 'mail.send'] } },
      'tools.allow[1]',
      '`tools.allow` of agent `bot` has `mail.send`, but the document denies `mail.send`',
    ],
    [
      { tools: { deny: ['mail.*'] } },
      { tools: { approve: ['mail.*'] } },
      'tools.approve[0]',
      '`tools.approve` of agent `bot` has `mail.*`, but the document denies `mail.send`',
    ],
    [
      'support',
      { tools: { allow: ['mail.*'] } },
      'tools.allow[0]',
      '`tools.allow` of agent `bot` has `mail.*`, but the document asks a person about `mail.send`',
    ],
    [
      { approve_effects: ['communication'] },
      { tools: { allow: ['mail.*'] } },
      'tools.allow[0]',
      '`tools.allow` of agent `bot` has `mail.*`, but the document asks a person about `mail.send`',
    ],
  ])('%j and %j: an entry of which nothing is left', (outer, inner, at, message) => {
    expect(found(outer, inner)).toEqual([`error: ${at}: ${message}`]);
  });

  test.each([
    [{ approval_timeout: 60 }, { approval_timeout: 60 }],
    [
      {},
      { approval_timeout: 900, untrusted: 'off', approve_effects: [], tools: { allow: ['*'] }, decisions: ['plan'] },
    ],
    [{ untrusted: 'off' }, { untrusted: 'deny', untrusted_input: ['page'] }],
    [{ untrusted_input: ['mail'] }, { untrusted_input: true }],
    [{ approve_effects: ['write'] }, { approve_effects: ['write', 'communication'] }],
    [{ decisions: ['tools', 'repair'] }, { decisions: ['repair'] }],
    [{ tools: { deny: ['mail.*'] } }, { tools: { allow: ['*'], approve: ['crm.*'], deny: ['wiki.*'] } }],
    [{ observations: ['wiki.*'] }, { observations: ['*'] }],
    ['sre', { profile: 'research' }],
    ['sre', { escalation: { ungrounded: 'fail', denied: 'ask' } }],
    [{ fail_closed: [{ what: 'x', when: 'false' }] }, { fail_closed: [] }],
    [
      { version: 'v1', budget: { steps: 3 } },
      { version: 'v2', budget: { steps: 3, tool_calls: 9 } },
    ],
  ])('%j and %j: a narrower boundary is accepted', (outer, inner) => {
    expect(found(outer, inner)).toEqual([]);
  });

  test('the error has the place of both values', () => {
    const { diagnostics } = compile(`boundary: { approval_timeout: 60 }
agents:
  - id: bot
    boundary: { approval_timeout: 900 }
workflow: { name: w, steps: [{ name: s, agent_id: bot }] }`);
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
      { code: 'looser-boundary', line: 4, column: 35, related: [{ line: 1, column: 31 }] },
    ]);
  });

  test.each([
    ['loop', { loop: { agent: 'bot' } }],
    ['staged', { staged: { id: 's', stages: [{ id: 'plan', agent: 'bot' }] } }],
    ['workflow', { name: 'w', steps: [{ name: 's', agent_id: 'bot' }] }],
  ])('also in %s', (_, notation) => {
    const source = {
      boundary: { untrusted: 'deny' },
      agents: [{ id: 'bot', boundary: { untrusted: 'ask' } }],
      ...notation,
    };
    expect(compile(source).diagnostics.map(({ code }) => code)).toContain('looser-boundary');
  });

  test('the profile of the document holds in a loop; its `escalation.timeout` is only a default', () => {
    const loop = (own: object, more: object, boundary: object = {}) =>
      compile({
        tools: TOOLS,
        agents: [{ id: 'bot', tools: ['mail.send'], boundary: own }],
        boundary,
        loop: { agent: 'bot', ...more },
      });
    expect(loop({ escalation: { rejected: 'ask' } }, {}, { profile: 'sre' }).diagnostics).toContainEqual(
      expect.objectContaining({ code: 'looser-boundary', severity: 'error' }),
    );
    const { flow } = loop({ approval_timeout: 900 }, { escalation: { timeout: 60 } });
    expect(flow?.boundaries?.['bot']?.approvalTimeoutMs).toBe(900_000);
  });

  test('an agent of a sub-flow may be looser: the stricter rule counts, with a warning', () => {
    const { flow, diagnostics } = compileSource(
      {
        boundary: { untrusted: 'deny', approval_timeout: 60, escalation: { denied: 'fail' } },
        flow: { id: 'main', entry: 'a', nodes: [{ id: 'a', type: 'flow', flow: './inner.flow.yaml' }] },
      },
      {
        hash: () => 'h',
        readText: (file) =>
          file === 'inner.flow.yaml'
            ? JSON.stringify(
                document(undefined, {
                  boundary: { untrusted: 'off', approval_timeout: 900, escalation: { denied: 'tell', rate: 'ask' } },
                }),
              )
            : null,
      },
    );
    expect(diagnostics.filter(({ code }) => code === 'looser-boundary').map(({ severity }) => severity)).toEqual([
      'warning',
      'warning',
      'warning',
    ]);
    expect(flow?.boundaries?.['bot']).toMatchObject({
      untrusted: 'deny',
      approvalTimeoutMs: 60_000,
      escalation: { denied: 'fail', rate: 'ask' },
    });
  });

  test('lists of what may be read hold both', () => {
    expect(both({ observations: ['wiki.*'] }, { observations: ['*'] })?.tools.deny).toEqual(['crm.read']);
  });
  test('the rows, refusals and conditions of both profiles count', () => {
    const alone = compile(document('sre')).flow?.boundaries?.['bot'];
    const inner = both({ profile: 'sre' }, { profile: 'research' });
    expect(inner?.escalation).toEqual({ rejected: 'fail', denied: 'fail', ungrounded: 'fail' });
    expect(inner?.failClosed).toEqual(expect.arrayContaining([...(alone?.failClosed ?? [])]));
    expect(inner?.failClosed.length).toBeGreaterThan(alone?.failClosed.length ?? 0);
    expect(both({ profile: 'sre' }, { profile: 'sre' })?.failClosed).toEqual(alone?.failClosed);
    const draft = { tools: { 'draft.note': { effect: 'write' } } };
    const asked = document('research', { tools: ['draft.note'], boundary: 'support' }, draft);
    expect(compile(asked).flow?.boundaries?.['bot']?.tools.approve).toEqual(['draft.note']);
  });
  test('a tool that the document asks about is not allowed by a pattern that the agent gives', () => {
    const allow = { tools: { allow: ['*'] } };
    expect(both({ profile: 'support' }, allow)?.tools.approve).toContain('mail.send');
    expect(both({ approve_effects: ['communication'] }, allow)?.tools.approve).toContain('mail.send');
    expect(both({}, allow)?.tools.allow).toContain('mail.send');
    expect(both(allow, { profile: 'support' })?.tools.approve).toContain('mail.send');
  });
  test('memory waits for a person under either research profile', () => {
    const quarantine = (outer: 'research' | 'coding', inner: 'research' | 'coding') =>
      memoryOfAgent({ instructions: '', tools: [], memory: true, boundary: { profile: inner } }, { profile: outer })
        ?.quarantine;
    expect([quarantine('research', 'coding'), quarantine('coding', 'research')]).toEqual(['all', 'all']);
    expect(quarantine('coding', 'coding')).toBe('untrusted');
  });
});

test('a step that is retried does not repeat what failed closed', async () => {
  const { flow: _, ...sections } = document({ fail_closed: [{ what: 'no reading', when: 'true' }] });
  const steps = [{ name: 's', agent_id: 'bot', error_mode: 'retry', max_retries: 2 }];
  const { report } = await play(
    { ...sections, workflow: { name: 'w', steps } },
    { agents: { bot: [{ text: '', tools: [{ name: 'wiki.read', args: {} }] }] } },
  );
  expect(report).toMatchObject({ state: 'failed', code: 'UNSAFE_DETECTION', usage: { modelCalls: 1 } });
});

test('granted tools keep what was written about them', () => {
  const tool = (effect: 'read' | 'write', asked: object = {}) => ({ def: { effect } as never, cost: 0, ...asked });
  const granted = boundaryOf(
    [undefined],
    { a: tool('write'), b: tool('write', { approval: 'always' }) },
    'granted',
    () => 'v',
  );
  const rules = { a: 'write calls of agents', b: 'approval: always' };
  expect(granted).toMatchObject({ tools: { allow: ['a'], approve: ['b'] }, untrusted: 'ask', rules });
});

describe('the ladder', () => {
  const warned = (source: object) =>
    compile(source)
      .diagnostics.filter(({ code }) => code === 'simpler-tier')
      .map(({ message }) => message);
  test('a loop whose agent has no tools', () => {
    expect(warned({ agents: [{ id: 'bot' }], loop: { agent: 'bot' } })).toEqual([
      expect.stringContaining(
        'the agent of this loop has no tools: this is tier 6 (bounded loop), and tier 1 (direct response) is enough',
      ),
    ]);
  });
  test('an agent with one thing to call in one way', () => {
    const tools = {
      'clock.read': { effect: 'read', input: { type: 'object', properties: {}, additionalProperties: false } },
    };
    const flow = { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] };
    expect(warned({ tools, agents: [{ id: 'bot', tools: ['clock.read'] }], flow })).toHaveLength(1);
    expect(
      warned({ tools: { ...tools, ...TOOLS }, agents: [{ id: 'bot', tools: ['clock.read', 'wiki.read'] }], flow }),
    ).toEqual([]);
  });
});

describe('a call whose undo is more dangerous than the call', () => {
  const asked = (allow: readonly string[], undo: object): readonly string[] | undefined =>
    compile({
      boundary: { tools: { allow } },
      tools: { note: { effect: 'write', compensate: 'undo' }, undo },
      agents: [{ id: 'bot', instructions: 'Help.', tools: ['note'] }],
      flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
    }).flow?.boundaries?.['bot']?.tools.approve;

  test('needs approval, because a failed run undoes it without asking', () => {
    expect(asked(['note'], { effect: 'financial' })).toEqual(['note']);
    expect(asked(['note'], { effect: 'communication', approval: 'always' })).toEqual(['note']);
  });

  test('is allowed if the undo is allowed too, or is no more dangerous', () => {
    expect(asked(['note', 'undo'], { effect: 'financial' })).toEqual([]);
    expect(asked(['note'], { effect: 'write' })).toEqual([]);
  });
});
