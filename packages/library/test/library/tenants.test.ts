/** An engine that works for one tenant: the runs of others do not exist for it, also under random attacks. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '../../src/index.ts';
import { forTenant } from '@sluice-internal/library/host';
import { createRuntime } from '@sluice-internal/engine/worker';
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

test('a start for another tenant is refused alone: runs in flight and later starts go on', async () => {
  const journal = openMemory();
  const acme = createEngine({ journal, tenant: 'acme' });
  const inFlight = await acme.run(FLOW, {});
  await inFlight.waiting();
  const starts = Array.from({ length: 20 }, (_, index) =>
    acme.start(FLOW, index % 2 === 0 ? {} : { origin: { tenant: 'globex' } }).then(
      () => 'started',
      (error: { code: string }) => error.code,
    ),
  );
  expect(await Promise.all(starts)).toEqual(starts.map((_, index) => (index % 2 === 0 ? 'started' : 'wrong-tenant')));
  await inFlight.answer('ask', 'yes', { by: 'ann' });
  expect((await inFlight.result()).code).toBe('SUCCESS');
  expect((await acme.run(FLOW, {})).id).toMatch(/^r_/);
  await acme.close();
});

test('a store refuses an append of another tenant and stores the others of the same step', async () => {
  const faults: Error[] = [];
  const open = openMemory();
  const sly = createRuntime({
    // An engine that does not know its tenant, as a program could compose it.
    store: { ...forTenant(open, 'acme'), tenant: undefined },
    performer: { perform: async () => ({ ok: true, value: null }) },
    pickUp: false,
    onFault: (error) => faults.push(error),
  });
  const started = await Promise.allSettled([
    sly.start(FLOW, { run: 'r_own', origin: { tenant: 'acme' } }),
    sly.start(FLOW, { run: 'r_other', origin: { tenant: 'globex' } }),
    sly.start(FLOW, { run: 'r_none' }),
  ]);
  expect(started.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect((await open.index.list()).items.map(({ run }) => run)).toEqual(['r_own']);
  expect(faults).toEqual([]);
  await sly.close();
});

test('a removed run and a damaged run of another tenant tell nothing', async () => {
  const journal = openMemory();
  const acme = createEngine({ journal, tenant: 'acme' });
  const run = await acme.run(FLOW, {});
  const [question] = await run.waiting();
  await acme.answer(question?.id ?? '', { choice: 'yes', by: 'ann' });
  await run.result();
  await journal.index.remove([run.id]);
  const globex = createEngine({ journal, tenant: 'globex' });
  await expect(globex.start(FLOW, { run: run.id })).rejects.toMatchObject({
    code: 'run-exists',
    message: `the id \`${run.id}\` cannot be used`,
  });
  await globex.close();
});
