/** What the name of a tool may change under a profile: it frees plain writes at most, and asks about no read. */
import { describe, expect, test } from 'vitest';
import { MUTATING, PROFILES, speaksOf } from '@sluice-internal/kernel/catalog';
import { compile } from '@sluice-internal/library';
import { play } from './play.ts';

const profiles = Object.keys(PROFILES) as (keyof typeof PROFILES)[];

function rowOf(profile: string, name: string, def: object): string {
  const { flow, diagnostics } = compile({
    tools: { [name]: def },
    agents: [{ id: 'bot', tools: [name] }],
    boundary: profile,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const tools = flow?.boundaries?.['bot']?.tools;
  return (['allow', 'approve', 'deny'] as const).find((row) => tools?.[row].includes(name)) ?? 'none';
}

describe('a name frees nothing, and a category no more than a plain write', () => {
  test.each([
    ['support', 'drafts.send', 'communication'],
    ['support', 'vintage.delete', 'financial'],
    ['support', 'crm.tag', 'communication'],
    ['support', 'classify.charge', 'financial'],
    ['sre', 'drafts.apply', 'infrastructure'],
    ['sre', 'recommend.rollout', 'infrastructure'],
    ['procurement', 'recommend.pay', 'financial'],
    ['procurement', 'draft.publish', 'communication'],
  ])('%s: %s, which is %s, is asked about', (profile, name, effect) => {
    expect(rowOf(profile, name, { effect })).toBe('approve');
    expect(rowOf(profile, name, { effect: 'write' })).toBe('approve');
  });

  test.each(profiles.flatMap((profile) => PROFILES[profile].allowed.map((row) => ({ profile, ...row }))))(
    '$profile: $what frees nothing that costs money, reaches people or changes infrastructure',
    ({ effects }) => {
      expect(effects?.filter((effect) => !['read', 'egress', 'write'].includes(effect))).toEqual([]);
    },
  );

  test.each(['sandbox', 'review', 'file_system'])('nor does the category %s', (category) => {
    for (const profile of profiles)
      for (const effect of ['financial', 'communication', 'infrastructure'])
        expect(rowOf(profile, 'some.tool', { effect, category })).toBe('approve');
  });

  test('such a call waits for a person', async () => {
    const { report, dispatched } = await play(
      {
        tools: { 'drafts.send': { effect: 'communication' } },
        agents: [{ id: 'bot', tools: ['drafts.send'] }],
        boundary: 'support',
        flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
      },
      {
        agents: { bot: [{ text: '', tools: [{ name: 'drafts.send', args: {} }] }, 'done'] },
        tools: { 'drafts.send': [{ result: true }] },
      },
    );
    expect([report.code, dispatched]).toEqual(['CONFIRM_REQUIRED', []]);
  });
});

describe('a name keeps no read from happening by itself', () => {
  test.each([
    ['support', 'refunds.list'],
    ['support', 'account.cancel_reasons'],
    ['sre', 'traffic.read'],
    ['sre', 'rollback_history'],
    ['coding', 'tokens.count'],
    ['coding', 'deleted.list'],
    ['procurement', 'invoices.search'],
    ['research', 'memory.read'],
  ])('%s: %s', (profile, name) => {
    expect(rowOf(profile, name, { effect: 'read' })).toBe('allow');
  });

  test('but sources that are sensitive are asked about, and lookups that cost money', () => {
    expect(rowOf('research', 'sensitive.search', { effect: 'read' })).toBe('approve');
    expect(rowOf('research', 'archive.expand_scope', { effect: 'read' })).toBe('approve');
    expect(rowOf('research', 'archive.search', { effect: 'read', cost: 0.1 })).toBe('approve');
  });

  test.each(profiles)('%s: every other row that asks by name is about what changes something', (profile) => {
    const rows = PROFILES[profile].approval.filter(({ words, effects }) => words !== undefined && effects !== MUTATING);
    expect(rows.map(({ what }) => what)).toEqual(profile === 'research' ? ['Sensitive-source expansion'] : []);
  });
});

test('reading what was kept is no write to it', () => {
  const { flow } = compile({
    tools: { 'memory.read': { effect: 'read' }, 'memory.write': { effect: 'write' } },
    agents: [{ id: 'bot', tools: ['memory.read', 'memory.write'] }],
    boundary: { state_writes: [] },
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
  expect(flow?.boundaries?.['bot']?.tools).toMatchObject({ allow: ['memory.read'], deny: ['memory.write'] });
});

test.each([
  ['crm.tag', ['tag'], true],
  ['tagTicket', ['tag'], true],
  ['add_tag2', ['tag'], true],
  ['XMLTag', ['tag'], true],
  ['TAG', ['tag'], true],
  ['stage.refund', ['tag'], false],
  ['vintage', ['tag'], false],
  ['Deletion', ['delet*'], true],
  ['undelete', ['delet*'], false],
  ['archive.expandScope', ['expand scope'], true],
  ['scope.expand', ['expand scope'], false],
  ['expand', ['expand scope'], false],
  ['orders.list', [], false],
])('%s speaks of %j: %s', (name, words, expected) => {
  expect(speaksOf(name, words)).toBe(expected);
});
