/** A fork makes no call under an approval that was given to another run. */
import { describe, expect, test } from 'vitest';
import { openMemory } from '../../src/index.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { engineOn, eventsOf } from './fork-kit.ts';

describe('an approval covers one call of one run', () => {
  const pay = { id: 'pay', type: 'tool', tool: 'pay.do', routes: [{ to: 'note' }] };
  const note = { id: 'note', type: 'tool', tool: 'note.add' };
  const gate = (to: string) => ({ id: 'gate', type: 'approval', message: 'Pay?', routes: [{ to }] });
  const document = (nodes: readonly { readonly id: string }[], tool: object = {}) => ({
    agents: [{ id: 'clerk' }],
    tools: { 'pay.do': { effect: 'financial', ...tool }, 'note.add': { effect: 'read' } },
    flow: { id: 'f', entry: nodes[0]?.id ?? 'pay', nodes: [...nodes, pay, note] },
  });

  test.each([
    ['an approval node', document([gate('pay')])],
    ['the approval of a call', document([], { approval: 'always' })],
    [
      'an approval before a draft',
      document([
        gate('draft'),
        { id: 'draft', type: 'agent', agent: 'clerk', routes: [{ to: 'pay' }] } as { id: string },
      ]),
    ],
  ])('%s: a fork asks again before the call', async (_, given) => {
    const calls: string[] = [];
    await using engine = engineOn(openMemory(), calls);
    const run = await engine.run(compiled(given), {});
    const [question] = await run.waiting();
    await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    await run.result();
    const paid = (): number => calls.filter((call) => call.startsWith('pay.do')).length;
    const events = await eventsOf(engine, run.id);
    const asked = events.find((event) => event.type === 'effect.requested' && event.kind === 'ask')?.seq ?? 0;
    const called = events.find((event) => event.type === 'effect.requested' && event.kind === 'tool');
    const settled = events.find(
      (event) => event.type === 'effect.settled' && event.key === (called as { key?: string }).key,
    );
    for (const { seq } of events.slice(asked, (settled?.seq ?? 0) - 1))
      await expect(engine.fork(run.id, { at: seq })).rejects.toMatchObject({
        code: 'bad-fork',
        message: expect.stringContaining(`is for a call of run \`${run.id}\``),
        help: expect.stringContaining(`Fork at event ${asked}`),
      });
    const fork = await engine.fork(run.id, { at: asked });
    expect([paid(), await fork.waiting()]).toMatchObject([1, [{}]]);
    // After the call, the approval is used.
    await (await engine.fork(run.id, { at: settled?.seq ?? 0 })).result();
    expect(paid()).toBe(1);
  });

  const gated = { id: 'gate', type: 'approval', message: 'Pay?' };
  const slow = [
    { id: 'slow', type: 'wait', for: 0.01, routes: [{ to: 'later' }] },
    { id: 'later', type: 'tool', tool: 'pay.do' },
  ];
  test.each([
    ['for each item', [gate('each'), { id: 'each', type: 'map', over: '{{[1, 2, 3]}}', do: 'pay', width: 1 }], 3],
    [
      'in branches',
      [gate('both'), { id: 'both', type: 'parallel', branches: [{ to: 'pay' }, { to: 'slow' }] }, ...slow],
      2,
    ],
    [
      'after the join of the branch that asked',
      [
        { id: 'both', type: 'parallel', branches: [{ to: 'gate' }, { to: 'note' }], routes: [{ to: 'pay' }] },
        gated,
        { id: 'note', type: 'tool', tool: 'note.add' },
      ],
      1,
    ],
  ])('calls %s: no fork makes one of them without a question', async (_, nodes, times) => {
    const calls: string[] = [];
    await using engine = engineOn(openMemory(), calls);
    const paid = (): number => calls.filter((call) => call.startsWith('pay.do')).length;
    const flow = { id: 'f', entry: nodes[0]?.id, nodes: [...nodes, { id: 'pay', type: 'tool', tool: 'pay.do' }] };
    const run = await engine.run(compiled({ ...document([]), flow }), {});
    const [question] = await run.waiting();
    await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    await run.result();
    expect(paid()).toBe(times);
    let made = 0;
    for (const { seq } of await eventsOf(engine, run.id)) {
      const fork = await engine.fork(run.id, { at: seq }).catch(() => null);
      if (fork !== null && (await fork.waiting()).length === 0) {
        await fork.result();
        made += 1;
      }
    }
    expect(paid()).toBe(times);
    expect(made).toBeGreaterThan(1);
  });

  test('an approval that leads to no call with effects is part of the past', async () => {
    await using engine = engineOn(openMemory(), []);
    const before = { ...pay, routes: [{ to: 'gate' }] };
    const flow = compiled({ ...document([]), flow: { id: 'f', entry: 'pay', nodes: [before, gate('note'), note] } });
    const run = await engine.run(flow, {});
    const [question] = await run.waiting();
    await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    await run.result();
    const events = await eventsOf(engine, run.id);
    const called = events.findLast((event) => event.type === 'effect.requested' && event.kind === 'tool')?.seq ?? 0;
    await (await engine.fork(run.id, { at: called })).result();
  });
});
