/** An engine that works for one tenant: the runs of others do not exist for it, also under random attacks. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '../../src/index.ts';
import { compiled } from '../../../../test/support/harness.ts';

const FLOW = compiled({
  flow: {
    id: 'f',
    entry: 'ask',
    nodes: [{ id: 'ask', type: 'approval', message: 'go?', choices: ['yes', 'no'], routes: [{ to: 'end' }] }],
  },
});

test('runs of another tenant cannot be read, answered, forked, resumed or cancelled', async () => {
  const journal = openMemory();
  const acme = createEngine({ journal, tenant: 'acme' });
  const globex = createEngine({ journal, tenant: 'globex' });
  const run = await acme.run(FLOW, {});
  const [question] = await run.waiting();
  const refused = { code: expect.stringMatching(/^(run|approval)-not-found$/) };
  const id = question?.id ?? '';
  const attacks: readonly (() => Promise<unknown>)[] = [
    () => globex.get(run.id),
    () => globex.answer(id, { choice: 'yes', by: 'eve' }),
    () => globex.fork(run.id, { at: 1 }),
    () => globex.resume(run.id),
    () => globex.cancel(run.id, 'eve'),
    () => globex.signal(run.id, 'x'),
    () => globex.approvals(run.id),
    async () => {
      for await (const event of globex.events(run.id)) throw new Error(`leaked ${event.type}`);
    },
  ];
  for (const attack of attacks) await expect(attack(), String(attack)).rejects.toMatchObject(refused);
  expect(await globex.list()).toEqual([]);
  expect(await globex.approvals()).toEqual([]);
  await expect(globex.start(FLOW, { origin: { tenant: 'acme' } })).rejects.toMatchObject({ code: 'wrong-tenant' });
  const acts = await journal.shared.acts();
  expect(acts.map(({ what, by, why }) => [what, by, why])).toEqual([
    ['tenant.refused', 'tenant globex', `${run.id} belongs to tenant acme`],
  ]);
  await acme.answer(id, { choice: 'yes', by: 'ann' });
  expect((await run.result()).code).toBe('SUCCESS');
  await acme.close();
  await globex.close().catch(() => undefined);
});
