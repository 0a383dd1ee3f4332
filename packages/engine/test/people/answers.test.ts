/** An answer counts only from a person who may give it and proves who they are. Any other answer is recorded and refused. */
import { userInfo } from 'node:os';
import { describe, expect, test } from 'vitest';
import { identified, revokeKey, revokedKeys, verifiedAgain } from '../../src/ports/identity.ts';
import { readRun } from '@sluice-internal/engine/journal';
import { openStore } from '../../../library/src/host/open-store.ts';
import { replay } from '@sluice-internal/engine/audit';
import { compiled, scriptedEngine } from '../../../../test/support/harness.ts';
import {
  PEOPLE,
  anna,
  ben,
  carl,
  database,
  eventsOf,
  gated,
  office,
  refusedWith,
  signer,
  waitingAt,
} from './people.ts';
import { movableClock } from '../../../../test/support/movable-clock.ts';

const MANAGERS = { roles: ['manager'] };

test.each([
  ['a person of another role', { by: 'carl', key: carl.key }, 'not-an-approver'],
  ['an unknown person', { by: 'zed', key: carl.key }, 'not-an-approver'],
  ['a person without a signature', { by: 'anna' }, 'identity-unproven'],
  ['a person with the key of another person', { by: 'anna', key: ben.key }, 'identity-unproven'],
  ['a person with a key that nobody has', { by: 'anna', key: signer().key }, 'identity-unproven'],
  ['a made-up signature', { by: 'anna', signature: 'AAAA', signedAt: Date.now() }, 'identity-unproven'],
  ['the flow that asks', { by: 'flow:refund' }, 'self-approval'],
  ['the user of the run', { by: 'ben', key: ben.key }, 'self-approval'],
  ['a name that every object has', { by: 'constructor', key: anna.key }, 'not-an-approver'],
] as const)('%s is refused', async (_, answer, code) => {
  const here = office();
  const question = await waitingAt(here, gated(MANAGERS), { origin: { user: 'ben' } });
  expect(await refusedWith(here.engine.answer(question.id, { choice: 'approve', ...answer }))).toBe(code);
  const refused = (await eventsOf(here, question.run)).filter(({ type }) => type === 'answer.refused');
  expect(refused).toMatchObject([{ reason: code, answer: { by: answer.by, choice: 'approve' } }]);
  expect(JSON.stringify(refused)).not.toContain('PRIVATE');
  expect((await here.engine.approvals(question.run)).map(({ id }) => id)).toEqual([question.id]);
  await here.engine.answer(question.id, { choice: 'approve', by: 'anna', key: anna.key });
  expect(await here.engine.settled(question.run)).toMatchObject({
    state: 'completed',
    receipts: [{ tool: 'pay.refund', approvedBy: 'anna' }],
  });
  expect(here.calls).toEqual(['pay.refund']);
});

/** A call that a person may edit, without `people`. */
const CALL = compiled({
  agents: [{ id: 'clerk', instructions: 'Pay.', tools: ['pay.refund'] }],
  tools: {
    'pay.refund': {
      effect: 'financial',
      input: { type: 'object', properties: { amount: { type: 'number', maximum: 100 } }, required: ['amount'] },
    },
  },
  boundary: { untrusted: 'off', tools: { approve: ['pay.refund'] } },
  loop: { id: 'pay', agent: 'clerk' },
});

test.each([
  ['an edit that does not fit the tool', { choice: 'edit', edit: { amount: 'all' } }, 'bad-answer'],
  ['an edit beyond the limit of the tool', { choice: 'edit', edit: { amount: 900 } }, 'bad-answer'],
  ['an edit with a choice that takes none', { choice: 'approve', edit: { amount: 5 } }, 'bad-answer'],
  ['an edit without data', { choice: 'edit' }, 'bad-answer'],
  ['a choice that does not exist', { choice: 'aprove' }, 'not-a-choice'],
  ['an answer to another payload', { choice: 'approve', payload: 'sha256:0' }, 'stale-payload'],
] as const)('%s is refused and recorded, and the run replays', async (_, answer, code) => {
  const { engine, store } = scriptedEngine({
    agents: { clerk: [{ tools: [{ name: 'pay.refund', args: { amount: 50 } }], text: '' }, 'Paid 20.'] },
    tools: { 'pay.refund': [{ result: { paid: true } }] },
  });
  const here = { engine, store, calls: [] };
  const question = await waitingAt(here, CALL, { input: 'Pay the refund of 50.' });
  expect(await refusedWith(engine.answer(question.id, { by: 'ann', ...answer }))).toBe(code);
  const refused = (await eventsOf(here, question.run)).filter(({ type }) => type === 'answer.refused');
  expect(refused).toMatchObject([{ reason: code, answer: { by: 'ann', choice: answer.choice } }]);
  await engine.answer(question.id, { choice: 'edit', by: 'ann', edit: { amount: 20 } });
  expect((await engine.settled(question.run)).receipts).toMatchObject([{ args: { amount: 20 }, approvedBy: 'ann' }]);
  expect(await replay(store.journal, question.run)).toMatchObject({ difference: null });
});

test('the journal has the identity, the method and a signature that replays', async () => {
  const here = office();
  const question = await waitingAt(here, gated(MANAGERS));
  await refusedWith(here.engine.answer(question.id, { choice: 'approve', by: 'anna' }));
  await here.engine.answer(question.id, { choice: 'approve', by: 'anna', key: anna.key });
  await here.engine.settled(question.run);
  const settled = (await eventsOf(here, question.run)).find(({ type }) => type === 'effect.settled');
  expect(settled).toMatchObject({
    result: { value: { by: 'anna', proof: { via: 'key', signature: expect.any(String) } } },
  });
  expect(await replay(here.store.journal, question.run)).toMatchObject({ difference: null });
});

test('a signature of one run proves nothing in another', async () => {
  const here = office();
  const [first, second] = [await waitingAt(here, gated(MANAGERS)), await waitingAt(here, gated(MANAGERS))];
  await here.engine.answer(first.id, { choice: 'approve', by: 'anna', key: anna.key });
  const settled = (await eventsOf(here, first.run)).find(({ type }) => type === 'effect.settled');
  const { proof } = (settled as unknown as { result: { value: { proof: { signature: string; at: number } } } }).result
    .value;
  const replayed = { choice: 'approve', by: 'anna', signature: proof.signature, signedAt: proof.at };
  expect(await refusedWith(here.engine.answer(second.id, replayed))).toBe('identity-unproven');
  // Not even in the same run under the same ids, in another database.
  const there = office();
  const same = await waitingAt(there, gated(MANAGERS), { run: first.run });
  expect(same.id).toBe(first.id);
  expect(await refusedWith(there.engine.answer(same.id, replayed))).toBe('identity-unproven');
  expect(there.calls).toEqual([]);
});

test('a signature covers the choice, the edit and the text', async () => {
  const here = office();
  const question = await waitingAt(here, gated({ ...MANAGERS, quorum: 2 }));
  await here.engine.answer(question.id, { choice: 'approve', by: 'anna', key: anna.key });
  const counted = (await eventsOf(here, question.run)).find(({ type }) => type === 'answer.counted');
  const { proof } = (counted as unknown as { answer: { proof: { signature: string; at: number } } }).answer;
  const moved = { by: 'anna', signature: proof.signature, signedAt: proof.at };
  expect(await refusedWith(here.engine.answer(question.id, { choice: 'reject', ...moved }))).toBe('identity-unproven');
  expect(await refusedWith(here.engine.answer(question.id, { choice: 'approve', text: 'and more', ...moved }))).toBe(
    'identity-unproven',
  );
});

test('an answer to another payload is refused', async () => {
  const here = office();
  const question = await waitingAt(here, gated(MANAGERS));
  const stale = { choice: 'approve', by: 'anna', key: anna.key, payload: 'what-it-was' };
  expect(await refusedWith(here.engine.answer(question.id, stale))).toBe('stale-payload');
  await here.engine.answer(question.id, { ...stale, payload: question.payload });
  expect((await here.engine.settled(question.run)).state).toBe('completed');
});

test('an expired question takes no answer', async () => {
  const clock = movableClock();
  const here = office(':memory:', {}, [], clock);
  const question = await waitingAt(here, gated(MANAGERS, { timeout: 3600 }));
  clock.offset = 2 * 3_600_000;
  const late = here.engine.answer(question.id, { choice: 'approve', by: 'anna', key: anna.key });
  await expect(late).rejects.toThrow(/expired and counts as `reject`|has ended/);
  await expect.poll(async () => (await here.engine.get(question.run)).approvals).toEqual({ gate: 'reject' });
  expect(here.calls).toEqual([]);
});

const PLAYED = compiled({
  people: [
    { id: 'pia', roles: ['ops'] },
    { id: 'olga', roles: ['ops'], os_user: 'olga-other' },
  ],
  flow: { id: 'f', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
});

test('in a rehearsal one user can play a person who declares no proof', async () => {
  const here = office(':memory:', { answer: () => null });
  const question = await waitingAt(here, PLAYED);
  const answer = (by: string) => here.engine.answer(question.id, { choice: 'approve', by });
  expect(await refusedWith(answer('olga'))).toBe('identity-unproven');
  await answer('pia');
  const settled = (await eventsOf(here, question.run)).find(({ type }) => type === 'effect.settled');
  expect(settled).toMatchObject({ result: { value: { by: 'pia', proof: { via: 'script' } } } });
});

test('in a real run nobody can', async () => {
  const here = office();
  const question = await waitingAt(here, PLAYED);
  expect(await refusedWith(here.engine.answer(question.id, { choice: 'approve', by: 'pia' }))).toBe(
    'identity-unproven',
  );
});

test('a person without a key is the user of the process', async () => {
  const user = userInfo().username;
  const people = [
    { id: user, roles: ['ops'] },
    { id: 'olga', roles: ['ops'], os_user: `${user}-other` },
  ];
  const flow = compiled({
    people,
    flow: { id: 'f', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
  });
  const here = office();
  const question = await waitingAt(here, flow);
  expect(question.approvers).toMatchObject({ people: [user, 'olga'], quorum: 1 });
  expect(await refusedWith(here.engine.answer(question.id, { choice: 'approve', by: 'olga' }))).toBe(
    'identity-unproven',
  );
  await here.engine.answer(question.id, { choice: 'approve', by: user });
  const settled = (await eventsOf(here, question.run)).find(({ type }) => type === 'effect.settled');
  expect(settled).toMatchObject({ result: { value: { proof: { via: 'os_user' } } } });
});

test('a caller cannot claim that an identity is proven', async () => {
  const here = office();
  const question = await waitingAt(here, gated(MANAGERS));
  const forged = { choice: 'approve', by: 'anna', proof: { via: 'os_user' } } as never;
  expect(await refusedWith(here.engine.answer(question.id, forged))).toBe('identity-unproven');
});

test('the table of mail cannot bring a forged signature', async () => {
  const flow = compiled({
    people: PEOPLE,
    tools: { 'slow.work': { effect: 'read', input: { type: 'object' } } },
    flow: {
      id: 'both',
      entry: 'fan',
      nodes: [
        { id: 'fan', type: 'parallel', branches: [{ to: 'gate' }, { to: 'work' }], join: { timeout: 60 } },
        { id: 'gate', type: 'approval', message: 'Go?' },
        { id: 'work', type: 'tool', tool: 'slow.work' },
      ],
    },
  });
  const here = office(':memory:', { perform: () => new Promise(() => undefined) });
  const run = await here.engine.start(flow, { input: {} });
  const [question] = await here.engine.approvals(run);
  const proof = { via: 'key', signature: 'AAAA', at: Date.now() } as const;
  await here.store.mail.post(run, {
    type: 'answer',
    id: question?.id ?? '',
    answer: { choice: 'approve', by: 'anna', proof },
  });
  await expect
    .poll(async () => (await eventsOf(here, run)).filter(({ type }) => type === 'answer.refused'))
    .toMatchObject([{ reason: 'identity-unproven' }]);
  expect(await here.engine.approvals(run)).toHaveLength(1);
});

test('two people on two engines answer at once: one wins, the other learns who did', async () => {
  const journal = database();
  const calls: string[] = [];
  const [one, other] = [office(journal, {}, calls), office(journal, {}, calls)];
  const question = await waitingAt(one, gated(MANAGERS));
  const answers = await Promise.allSettled([
    one.engine.answer(question.id, { choice: 'approve', by: 'anna', key: anna.key }),
    other.engine.answer(question.id, { choice: 'approve', by: 'ben', key: ben.key }),
  ]);
  const lost = answers.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(lost).toHaveLength(1);
  expect(String((lost[0] as PromiseRejectedResult).reason)).toMatch(
    /was answered by `(anna|ben)` as `approve`|has ended/,
  );
  expect((await one.engine.settled(question.run)).state).toBe('completed');
  expect(calls).toEqual(['pay.refund']);
});

test('a key is refused if the flow declares no people', async () => {
  const here = office();
  const flow = compiled({
    flow: { id: 'f', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
  });
  const question = await waitingAt(here, flow);
  expect(question.approvers).toBeNull();
  const signed = { choice: 'approve', by: 'anna', key: anna.key };
  expect(await refusedWith(here.engine.answer(question.id, signed))).toBe('identity-unproven');
  await here.engine.answer(question.id, { choice: 'approve', by: 'anna' });
});

test('questions in parallel branches are answered in any order after a restart', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const flow = compiled({
    people: PEOPLE,
    tools: { 'pay.refund': { effect: 'financial', input: { type: 'object' } } },
    flow: {
      id: 'many',
      entry: 'fan',
      nodes: [
        { id: 'fan', type: 'parallel', branches: names.map((to) => ({ to })), join: { timeout: 3600 } },
        ...names.flatMap((id) => [
          {
            id,
            type: 'approval',
            message: `Pay ${id}?`,
            routes: [{ when: `approvals.${id} == 'approve'`, to: `pay_${id}` }],
          },
          { id: `pay_${id}`, type: 'tool', tool: 'pay.refund', params: { id } },
        ]),
      ],
    },
  });
  const journal = database();
  const first = office(journal);
  const question = await waitingAt(first, flow);
  const open = await first.engine.approvals(question.run);
  expect(open).toHaveLength(names.length);
  await first.engine.close();
  const second = office(journal);
  for (const { id, node } of [3, 0, 4, 2, 1].map((index) => open[index] as (typeof open)[number]))
    await second.engine.answer(id, { choice: node === 'c' ? 'reject' : 'approve', by: 'ben', key: ben.key });
  const report = await second.engine.settled(question.run);
  expect(report).toMatchObject({ state: 'completed', approvals: { a: 'approve', c: 'reject', e: 'approve' } });
  expect(report.receipts.map(({ approvedBy }) => approvedBy)).toEqual(['ben', 'ben', 'ben', 'ben']);
});

test('an edit is checked as the journal stores it', async () => {
  const { engine, store } = scriptedEngine({
    agents: { clerk: [{ tools: [{ name: 'pay.refund', args: { amount: 9 } }], text: '' }, 'Done.'] },
    tools: { 'pay.refund': [{ result: { paid: true } }] },
  });
  const flow = compiled({
    agents: [{ id: 'clerk', tools: ['pay.refund'] }],
    tools: {
      'pay.refund': { approval: 'always', input: { type: 'object', properties: { amount: { type: 'number' } } } },
    },
    boundary: { untrusted: 'off' },
    flow: { id: 'f', entry: 'pay', nodes: [{ id: 'pay', type: 'agent', agent: 'clerk' }] },
  });
  const question = await waitingAt({ engine, store, calls: [] }, flow);
  const edited = (amount: number) => engine.answer(question.id, { choice: 'edit', edit: { amount }, by: 'ann' });
  expect(await refusedWith(edited(Infinity))).toBe('bad-answer');
  await edited(5);
  expect(await engine.settled(question.run)).toMatchObject({ receipts: [{ args: { amount: 5 } }] });
  expect(await replay(store.journal, question.run)).toMatchObject({ difference: null });
});

const SPELLINGS = [
  'Ben',
  'BEN',
  ' ben',
  'ben\u00A0',
  'b\u200Ben',
  '\uFF42\uFF45\uFF4E',
  'b\u0435n',
  '\u{1D4EB}\u{1D4EE}\u{1D4F7}',
];

test.each(SPELLINGS)('the user of a run may not approve it, spelled %j', async (user) => {
  const here = office();
  const question = await waitingAt(here, gated(MANAGERS), { origin: { user } });
  expect(question.approvers?.people).toEqual(['anna']);
  const answer = { choice: 'approve', by: 'ben', key: ben.key };
  expect(await refusedWith(here.engine.answer(question.id, answer))).toBe('self-approval');
  expect(here.calls).toEqual([]);
});

test.each(SPELLINGS)('a person who answers as %j is one person, with one vote', async (by) => {
  const here = office();
  const question = await waitingAt(here, gated({ ...MANAGERS, quorum: 2 }));
  await here.engine.answer(question.id, { choice: 'approve', by: 'ben', key: ben.key });
  const again = { choice: 'approve', by, key: ben.key };
  expect(await refusedWith(here.engine.answer(question.id, again))).toBe('already-answered');
  await here.engine.answer(question.id, { choice: 'approve', by: ' Anna', key: anna.key });
  expect(await here.engine.settled(question.run)).toMatchObject({ receipts: [{ approvedBy: 'anna' }] });
});

test('the user of the machine proves nothing for an answer from outside, and nothing on a database of other machines', async () => {
  const { username } = userInfo();
  const flow = compiled({
    people: [{ id: 'chief', os_user: username }],
    flow: {
      id: 'f',
      entry: 'gate',
      nodes: [{ id: 'gate', type: 'approval', message: 'Go?', choices: ['yes', 'no'] }],
    },
  });
  const here = office();
  const question = await waitingAt(here, flow, { input: {} });
  const answer = { choice: 'yes', by: 'chief' };
  expect(await refusedWith(here.engine.answer(question.id, { ...answer, remote: true }))).toBe('identity-unproven');
  const state = { ...(await here.engine.read(question.run)).state };
  expect(identified({ flow, state, reach: 'network' }, question.id, answer, Date.now())).toMatchObject({
    unproven: expect.stringContaining('not on this machine'),
  });
  await here.engine.answer(question.id, answer);
  expect(await here.engine.settled(question.run)).toMatchObject({ state: 'completed' });
});

test('an answer that its own process could not prove is not proven by the process that gets it as mail', async () => {
  const { username } = userInfo();
  const flow = compiled({
    people: [{ id: 'chief', os_user: username }],
    flow: {
      id: 'f',
      entry: 'gate',
      nodes: [{ id: 'gate', type: 'approval', message: 'Go?', choices: ['yes', 'no'] }],
    },
  });
  const here = office();
  const question = await waitingAt(here, flow, { input: {} });
  const { state } = await here.engine.read(question.run);
  const mailed = identified(
    { flow, state, reach: 'machine' },
    question.id,
    { choice: 'yes', by: 'chief', remote: true },
    1,
  );
  const taken = verifiedAgain({ flow, state, reach: 'machine' }, question.id, mailed, Date.now());
  expect(taken.proof).toBeUndefined();
  expect(taken.unproven).toContain('outside');
});

describe('a revoked key', () => {
  const act = { at: 1, by: 'olga', why: 'lost' };

  test('proves nothing in a run that waits, here and in a process that owns it; other people go on', async () => {
    const path = database();
    const here = office(path);
    const { engine, store } = here;
    const { id, run } = await waitingAt(here, gated(MANAGERS));
    const other = office(path);
    await revokeKey(other.store.shared, anna.line, act);
    const answer = { choice: 'approve', by: 'anna', key: anna.key };
    const refused = { code: 'identity-unproven', message: expect.stringContaining('revoked') };
    await expect(engine.answer(id, answer)).rejects.toMatchObject(refused);
    await expect(other.engine.answer(id, answer)).rejects.toMatchObject(refused);
    await engine.answer(id, { choice: 'approve', by: 'ben', key: ben.key });
    expect((await engine.settled(run)).code).toBe('SUCCESS');
    expect((await store.shared.acts()).map(({ what, by, why }) => [what, by, why])).toContainEqual([
      'key.revoked',
      'olga',
      'lost',
    ]);
    await engine.close();
    await other.engine.close();
  });

  test('is refused in a letter that was written before', async () => {
    const path = database();
    const here = office(path);
    const { id, run } = await waitingAt(here, gated({ people: ['anna'] }));
    await here.engine.close();
    const store = openStore(path);
    const { program, state } = await readRun(store.journal, run);
    const proved = identified(
      { flow: program.flow, state, reach: 'machine' },
      id,
      { choice: 'approve', by: 'anna', key: anna.key },
      Date.now(),
    );
    expect(proved.proof?.via).toBe('key');
    await revokeKey(store.shared, anna.line, act);
    const revoked = await revokedKeys(store.shared);
    const again = verifiedAgain({ flow: program.flow, state, reach: 'machine', revoked }, id, proved, Date.now());
    expect([again.proof, again.unproven]).toEqual([undefined, 'the key of `anna` was revoked']);
    await store.close();
  });
});
