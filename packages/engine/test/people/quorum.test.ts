/** Several people must agree; a second level may answer if nobody does; a script stands for people only where it may. */
import { expect, test } from 'vitest';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { replay } from '@sluice-internal/engine/audit';
import { openMemory } from '@sluice-internal/engine/memory';
import { scriptedPerformer } from '../../../library/src/host/scripted/performer.ts';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compiled, scriptedEngine } from '../../../../test/support/harness.ts';
import { PEOPLE, anna, ben, carl, database, eventsOf, gated, office, refusedWith, waitingAt } from './people.ts';
import { movableClock } from '../../../../test/support/movable-clock.ts';

const TWO = { roles: ['manager'], quorum: 2 };
const byAnna = { by: 'anna', key: anna.key };
const byBen = { by: 'ben', key: ben.key };

test('two different people must approve', async () => {
  const journal = database();
  const here = office(journal);
  const question = await waitingAt(here, gated(TWO));
  await here.engine.answer(question.id, { choice: 'approve', ...byAnna });
  const [open] = await here.engine.approvals(question.run);
  expect(open?.approvers).toMatchObject({
    people: ['ben'],
    quorum: 2,
    missing: 1,
    answers: [{ by: 'anna', choice: 'approve', via: 'key' }],
  });
  expect(await refusedWith(here.engine.answer(question.id, { choice: 'approve', ...byAnna }))).toBe('already-answered');
  expect(here.calls).toEqual([]);
  await here.engine.close();
  // The first answer survives a restart.
  const later = office(journal);
  await later.engine.answer(question.id, { choice: 'approve', ...byBen });
  const report = await later.engine.settled(question.run);
  expect(report.receipts).toMatchObject([{ approvedBy: 'ben', approvers: ['anna', 'ben'] }]);
  expect(await replay(later.store.journal, question.run)).toMatchObject({ difference: null });
});

test('one person is enough to reject, also after an approval of their own', async () => {
  const here = office();
  const question = await waitingAt(here, gated(TWO));
  await here.engine.answer(question.id, { choice: 'approve', ...byAnna });
  await here.engine.answer(question.id, { choice: 'reject', ...byAnna });
  expect(await here.engine.settled(question.run)).toMatchObject({ state: 'completed', approvals: { gate: 'reject' } });
  expect(here.calls).toEqual([]);
});

test('people who choose differently do not agree, and may change their answers', async () => {
  const here = office();
  const flow = gated(TWO, { choices: ['approve', 'postpone', 'reject'] });
  const question = await waitingAt(here, flow);
  await here.engine.answer(question.id, { choice: 'approve', ...byAnna });
  await here.engine.answer(question.id, { choice: 'postpone', ...byBen });
  expect((await here.engine.approvals(question.run))[0]?.approvers).toMatchObject({ missing: 1, people: [] });
  await here.engine.answer(question.id, { choice: 'postpone', ...byAnna });
  expect((await here.engine.settled(question.run)).approvals).toEqual({ gate: 'postpone' });
});

test('two people who edit a call agree only on the same arguments', async () => {
  const flow = compiled({
    people: PEOPLE,
    agents: [{ id: 'clerk', instructions: 'Pay.', tools: ['pay.refund'] }],
    tools: {
      'pay.refund': {
        effect: 'financial',
        input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
        approvers: TWO,
      },
    },
    boundary: { untrusted: 'off' },
    loop: { id: 'pay', agent: 'clerk' },
  });
  const { engine, store } = scriptedEngine({
    agents: { clerk: [{ tools: [{ name: 'pay.refund', args: { amount: 900 } }], text: '' }, 'Paid 20.'] },
    tools: { 'pay.refund': [{ result: { paid: true } }] },
  });
  const here = { engine, store, calls: [] };
  const question = await waitingAt(here, flow, { input: 'Pay the refund of 900.' });
  expect(question).toMatchObject({
    kind: 'tool_call',
    approvers: { roles: ['manager'], quorum: 2 },
    quorum: 2,
    agreed: [],
    packet: {
      question: 'clerk wants to call pay.refund (amount 900).',
      effects: [{ tool: 'pay.refund', effect: 'financial', args: { amount: 900 }, reversible: false, undo: null }],
    },
  });
  await engine.answer(question.id, { choice: 'edit', edit: { amount: 20 }, ...byAnna });
  await engine.answer(question.id, { choice: 'edit', edit: { amount: 30 }, ...byBen });
  expect((await engine.approvals(question.run)).map(({ id }) => id)).toEqual([question.id]);
  await engine.answer(question.id, { choice: 'edit', edit: { amount: 20 }, ...byBen });
  const report = await engine.settled(question.run);
  expect(report.receipts).toMatchObject([{ args: { amount: 20 }, approvers: ['anna', 'ben'] }]);
});

test('the second level may answer after some time', async () => {
  const flow = gated({ roles: ['manager'], escalate: { after: 3600, roles: ['clerk'] } });
  const clock = movableClock();
  const here = office(':memory:', {}, [], clock);
  const question = await waitingAt(here, flow);
  expect(question.approvers).toMatchObject({ people: ['anna', 'ben'], escalation: { people: ['carl'] } });
  const early = here.engine.answer(question.id, { choice: 'approve', by: 'carl', key: carl.key });
  expect(await refusedWith(early)).toBe('not-an-approver');
  clock.offset = 2 * 3_600_000;
  await here.engine.answer(question.id, { choice: 'approve', by: 'carl', key: carl.key });
  expect(await here.engine.settled(question.run)).toMatchObject({ receipts: [{ approvedBy: 'carl' }] });
  const escalated = (await eventsOf(here, question.run)).find(({ type }) => type === 'question.escalated');
  expect(escalated).toMatchObject({ to: ['anna', 'ben', 'carl'] });
  expect(await replay(here.store.journal, question.run)).toMatchObject({ difference: null });
});

test('under a script, a question that is left to people does not reach its second level at once', async () => {
  const flow = gated({ roles: ['manager'], escalate: { after: 3600, roles: ['clerk'] } }, { timeout: 7200 });
  const here = scripted({});
  const run = await here.engine.start(flow, { input: { amount: 1 } });
  expect((await here.engine.settled(run)).waiting).toMatchObject([{ approvers: { people: ['anna', 'ben'] } }]);
  expect((await eventsOf(here, run)).map(({ type }) => type)).not.toContain('question.escalated');
});

test('a run whose user leaves too few approvers waits: they can reject, and not approve', async () => {
  const here = office();
  const run = await here.engine.start(gated(TWO), { input: { amount: 1 }, origin: { user: 'ben' } });
  const [question] = (await here.engine.settled(run)).waiting;
  const answer = (choice: string, by: string, key: string) =>
    here.engine.answer(question?.id ?? '', { choice, by, key });
  expect(await refusedWith(answer('approve', 'ben', ben.key))).toBe('self-approval');
  await answer('approve', 'anna', anna.key);
  expect((await here.engine.get(run)).state).toBe('suspended');
  await answer('reject', 'anna', anna.key);
  expect(await here.engine.settled(run)).toMatchObject({ state: 'completed', receipts: [] });
});

function scripted(script: Script) {
  const store = openMemory();
  const performer = scriptedPerformer({ tools: { 'pay.refund': [{ result: {} }] }, ...script });
  return { store, calls: [], engine: createRuntime({ store, performer, clock: createVirtualClock(), pickUp: false }) };
}

test('a plain answer of a script stands for the people who may approve', async () => {
  const here = scripted({ approvals: { gate: 'approve' } });
  const run = await here.engine.start(gated(TWO), { input: { amount: 1 } });
  expect(await here.engine.settled(run)).toMatchObject({
    state: 'completed',
    receipts: [{ approvedBy: 'ben', approvers: ['anna', 'ben'] }],
  });
  const settled = (await eventsOf(here, run)).find(({ type }) => type === 'effect.settled');
  expect(settled).toMatchObject({ result: { value: { by: 'ben', proof: { via: 'script' } } } });
});

test('a script may name the people, and is held to the same rules', async () => {
  const named = scripted({ approvals: { gate: { choice: 'approve', by: ['ben', 'anna'] } } });
  const run = await named.engine.start(gated(TWO), { input: { amount: 1 } });
  expect(await named.engine.settled(run)).toMatchObject({ receipts: [{ approvers: ['ben', 'anna'] }] });
  const wrong = scripted({ approvals: { gate: { choice: 'approve', by: 'carl' } } });
  const other = await wrong.engine.start(gated(TWO), { input: { amount: 1 } });
  expect((await wrong.engine.settled(other)).state).toBe('suspended');
  expect(await eventsOf(wrong, other)).toContainEqual(expect.objectContaining({ reason: 'not-an-approver' }));
});

test('a script cannot answer a run that started without one', async () => {
  const journal = database();
  const first = office(journal);
  const question = await waitingAt(first, gated({ roles: ['manager'] }));
  await first.engine.close();
  const performer = scriptedPerformer({ approvals: { gate: 'approve' }, tools: { 'pay.refund': [{ result: {} }] } });
  const second = office(journal, performer);
  await second.engine.resume(question.run);
  expect((await second.engine.settled(question.run)).state).toBe('suspended');
});
