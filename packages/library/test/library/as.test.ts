/** `engine.as`: a surface reaches runs as one caller, of one tenant, with the access that the caller has. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '../../src/index.ts';
import type { Access, Caller, Engine, EngineView } from '../../src/index.ts';
import { compiled } from '../../../../test/support/harness.ts';

const FLOW = compiled({
  flow: {
    id: 'f',
    entry: 'ask',
    nodes: [{ id: 'ask', type: 'approval', message: 'go?', choices: ['yes', 'no'], routes: [{ to: 'end' }] }],
  },
});

const ALL: readonly Access[] = ['admin'];

async function waiting(view: EngineView | Engine, run = 'r_1') {
  const started = await view.run(FLOW, {}, { id: run });
  const [question] = await started.waiting();
  return { run: started.id, question: question?.id ?? '' };
}

type Operation = (view: EngineView, run: string, question: string) => Promise<unknown>;

/** Each operation on a run, and the access that it needs. */
const OPERATIONS: { readonly [name: string]: readonly [Access, Operation] } = {
  get: ['viewer', (view, run) => view.get(run)],
  read: ['viewer', (view, run) => view.read(run)],
  state: ['viewer', (view, run) => view.state(run)],
  open: ['viewer', (view, run) => view.open(run)],
  wait: ['viewer', (view, run) => view.wait(run)],
  settled: ['viewer', (view, run) => view.settled(run)],
  approvals: ['viewer', (view, run) => view.approvals(run)],
  events: ['viewer', async (view, run) => view.events(run, { live: false })[Symbol.asyncIterator]().next()],
  signal: ['operator', (view, run) => view.signal(run, 'x')],
  cancel: ['operator', (view, run) => view.cancel(run)],
  resume: ['operator', (view, run) => view.resume(run)],
  fork: ['operator', (view, run) => view.fork(run, { at: 1 })],
  retry: ['operator', (view, run) => view.retry(run)],
  guide: ['operator', (view, run) => view.guide(run, { text: 'x', by: 'anna' })],
  answer: ['approver', (view, _, question) => view.answer(question, { choice: 'yes' })],
};

test('every operation of a view is in the table', async () => {
  await using engine = createEngine({ journal: openMemory() });
  const view = engine.as({ person: 'anna', access: ALL });
  expect(Object.keys(view).toSorted()).toEqual(
    [...Object.keys(OPERATIONS), 'feed', 'find', 'list', 'run', 'start'].toSorted(),
  );
});

test('a run of another tenant is the same as one that does not exist, for every operation', async () => {
  const journal = openMemory();
  await using engine = createEngine({ journal });
  const { run, question } = await waiting(engine.as({ tenant: 'acme', person: 'anna', access: ALL }));
  const stranger = engine.as({ tenant: 'globex', person: 'eve', access: ALL });
  for (const [name, [, operation]] of Object.entries(OPERATIONS)) {
    const refusal = (id: string) =>
      operation(stranger, id, question.replace(run, id)).then(
        () => `${name} is allowed`,
        (error: Error & { code: string; help?: string }) => [
          error.code,
          error.message.replaceAll(id, 'ID'),
          error.help,
        ],
      );
    const foreign = await refusal(run);
    expect(foreign, name).toEqual(await refusal('r_none'));
    expect(foreign, name).toEqual([
      expect.stringMatching(/^(run|approval)-not-found$/),
      expect.anything(),
      expect.anything(),
    ]);
  }
  expect([await stranger.find(run), await stranger.list(), await stranger.approvals()]).toEqual([null, [], []]);
  await expect
    .poll(async () => (await journal.shared.acts()).map(({ what, by }) => [what, by]))
    .toEqual([['tenant.refused', 'tenant globex']]);
  expect((await engine.get(run)).state).toBe('suspended');
});

test.each(['viewer', 'operator', 'approver', 'admin'] as const)(
  '%s may do what it is for, and nothing else',
  async (access) => {
    for (const [name, [needed, operation]] of Object.entries(OPERATIONS)) {
      await using engine = createEngine({ journal: openMemory() });
      const { run, question } = await waiting(engine.as({ tenant: 'acme', person: 'mila', access: ALL }));
      const view = engine.as({ tenant: 'acme', person: 'anna', access: [access] });
      const code = await operation(view, run, question).then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
      const mayDo = needed === 'viewer' || access === needed || access === 'admin';
      expect(code === 'access-denied', name).toBe(!mayDo);
    }
  },
);

test('a start is for the tenant and the person of the caller', async () => {
  await using engine = createEngine({ journal: openMemory() });
  const anna = engine.as({ tenant: 'acme', person: 'anna', access: ['operator'] });
  const run = await anna.start(FLOW);
  expect(await anna.find(run)).toMatchObject({ tenant: 'acme', user: 'anna' });
  await expect(anna.start(FLOW, { origin: { tenant: 'globex' } })).rejects.toMatchObject({ code: 'wrong-tenant' });
  await expect(anna.start(FLOW, { origin: { user: 'ben' } })).rejects.toMatchObject({ code: 'user-not-allowed' });
  for (const origin of [
    { scripted: true },
    { pins: { documentDir: '/etc' } },
    { parent: { run: 'r', seq: 1, hash: '' } },
  ])
    await expect(anna.start(FLOW, { origin: origin as object })).rejects.toMatchObject({ code: 'bad-start' });
  const program = engine.as({ tenant: 'acme', access: ['operator'] });
  expect(await program.find(await program.start(FLOW, { origin: { user: 'ben' } }))).toMatchObject({ user: 'ben' });
  await expect(engine.as({ tenant: 'acme', access: ['viewer'] }).start(FLOW)).rejects.toMatchObject({
    code: 'access-denied',
  });
});

test('an answer is that of the caller, also through the handle of a run', async () => {
  await using engine = createEngine({ journal: openMemory() });
  const { run, question } = await waiting(engine.as({ tenant: 'acme', person: 'mila', access: ALL }));
  const program = engine.as({ tenant: 'acme', access: ALL });
  await expect(program.answer(question, { choice: 'yes' })).rejects.toMatchObject({ code: 'identity-unproven' });
  const anna = engine.as({ tenant: 'acme', person: 'anna', access: ['approver'] });
  const handle = await anna.open(run);
  await expect(handle.answer('ask', 'yes', { by: 'ben' })).rejects.toMatchObject({ code: 'identity-unproven' });
  await expect(handle.cancel({ by: 'anna' })).rejects.toMatchObject({ code: 'access-denied' });
  await handle.answer('ask', 'yes', { by: 'anna' });
  expect((await handle.result()).code).toBe('SUCCESS');
});

test('an id that another tenant has tells nothing', async () => {
  await using engine = createEngine({ journal: openMemory() });
  await waiting(engine.as({ tenant: 'acme', person: 'anna', access: ALL }), 'r_taken');
  const globex = engine.as({ tenant: 'globex', person: 'eve', access: ALL });
  const { run } = await waiting(globex, 'r_own');
  const neutral = { code: 'run-exists', message: 'the id `r_taken` cannot be used' };
  await expect(globex.start(FLOW, { run: 'r_taken', input: {} })).rejects.toMatchObject(neutral);
  await expect(globex.start(FLOW, { run: 'r_taken', input: { other: 1 } })).rejects.toMatchObject(neutral);
  await expect(globex.fork(run, { at: 1, run: 'r_taken' })).rejects.toMatchObject(neutral);
});

test('an id that another tenant had, or whose run is damaged, tells nothing either', async () => {
  const memory = openMemory();
  let damaged = '';
  const broken = async (run?: string) => (run === damaged ? 'its end was changed' : null);
  const journal = { ...memory, journal: { ...memory.journal, broken } };
  await using engine = createEngine({ journal });
  const acme = engine.as({ tenant: 'acme', person: 'anna', access: ALL });
  const removed = await waiting(acme, 'r_removed');
  await acme.cancel(removed.run);
  await acme.settled(removed.run);
  expect(await memory.index.remove([removed.run])).toEqual([removed.run]);
  damaged = (await waiting(acme, 'r_damaged')).run;
  const globex = engine.as({ tenant: 'globex', person: 'eve', access: ALL });
  for (const run of [removed.run, damaged])
    await expect(globex.start(FLOW, { run })).rejects.toMatchObject({
      code: 'run-exists',
      message: `the id \`${run}\` cannot be used`,
    });
  await expect(acme.start(FLOW, { run: removed.run })).rejects.toMatchObject({ message: /was removed/ });
});

test('answers of a fork need the access of an approver', async () => {
  await using engine = createEngine({ journal: openMemory() });
  const { run } = await waiting(engine.as({ person: 'mila', access: ALL }));
  const operator = engine.as({ person: 'olga', access: ['operator'] });
  const at = 2;
  await expect(operator.fork(run, { at, answers: { ask: { choice: 'yes' } } })).rejects.toMatchObject({
    code: 'access-denied',
  });
});

test.each([
  [undefined],
  [{ access: [] }],
  [{ tenant: '', access: ALL }],
  [{ tenant: undefined, access: ALL }],
  [{ access: undefined }],
  [{ person: ' ', access: ALL }],
  [{ access: ['root'] }],
  [{ access: ALL, roles: ['manager'] }],
  [{ access: ALL, proof: { via: 'magic' } }],
])('the caller %j is refused', async (caller) => {
  await using engine = createEngine({ journal: openMemory() });
  expect(() => engine.as(caller as unknown as Caller)).toThrow(expect.objectContaining({ code: 'bad-start' }));
});

test('an engine of one tenant has no callers of another', async () => {
  await using engine = createEngine({ journal: openMemory(), tenant: 'acme' });
  expect(() => engine.as({ tenant: 'globex', access: ALL })).toThrow(expect.objectContaining({ code: 'wrong-tenant' }));
  const { run } = await waiting(engine.as({ person: 'anna', access: ALL }));
  expect((await engine.list()).map((entry) => [entry.run, entry.tenant])).toEqual([[run, 'acme']]);
});
