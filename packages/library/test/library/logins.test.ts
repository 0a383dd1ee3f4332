/** An answer over a network: a server vouches for the login of the person, and the process that owns the run checks that again. */
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { auditRun, replay } from '@sluice-internal/engine/audit';
import { newServerKey, serverKey } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import type { Event, Proof } from '@sluice-internal/kernel/ir';
import { createEngine } from '../../src/index.ts';
import { openStore } from '../../src/host/open-store.ts';
import type { CallerProof, CreateEngineOptions, Engine, EngineView } from '../../src/index.ts';
import { anna, refusedWith } from '../../../engine/test/people/people.ts';
import { compiled } from '../../../../test/support/harness.ts';

const OIDC: CallerProof = { via: 'oidc', issuer: 'https://login.example.com', subject: 'u#17', token: 'j_81' };
const TOKEN: CallerProof = { via: 'token', issuer: 'sluice', subject: 'token:ben-laptop', token: '0a1b' };

const PEOPLE = [
  { id: 'olga', login: 'https://login.example.com#u#17' },
  { id: 'ben', login: 'token:ben-laptop' },
  { id: 'anna', key: anna.line, login: 'token:anna-phone' },
  { id: userInfo().username },
];

/** A second branch never ends, so that the run stays with its engine, and answers of others arrive by mail. */
const FLOW = compiled({
  people: PEOPLE,
  tools: { 'slow.work': { effect: 'read', input: { type: 'object' } } },
  flow: {
    id: 'both',
    entry: 'fan',
    nodes: [
      { id: 'fan', type: 'parallel', branches: [{ to: 'gate' }, { to: 'work' }], join: { timeout: 60 } },
      {
        id: 'gate',
        type: 'approval',
        message: 'Go?',
        choices: ['approve', 'later', 'reject'],
        approvers: { quorum: 2 },
      },
      { id: 'work', type: 'tool', tool: 'slow.work' },
    ],
  },
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-login-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function engineAt(journal: string | Store, options: CreateEngineOptions = {}): Engine {
  const perform = { perform: () => new Promise<never>(() => undefined) };
  const engine = createEngine({ journal, performer: perform, ...options });
  onTestFinished(() => engine.close());
  return engine;
}

async function waitingAt(view: Engine | EngineView, flow = FLOW, id = 'r_1') {
  await view.run(flow, {}, { id });
  await vi.waitUntil(async () => (await view.approvals(id)).length > 0);
  const [question] = await view.approvals(id);
  return question?.id ?? '';
}

const viewOf = (engine: Engine, person: string, proof: CallerProof | null, tenant: string | null = null): EngineView =>
  engine.as({ person, proof, tenant, access: ['approver', 'operator'] });

async function eventsOf(engine: Engine, run: string, type: Event['type']): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of engine.events(run, { live: false })) if (event.type === type) events.push(event);
  return events;
}

async function proofIn(engine: Engine, run: string): Promise<Proof> {
  const [counted] = await eventsOf(engine, run, 'answer.counted');
  return (counted as unknown as { answer: { proof: Proof } }).answer.proof;
}

test.each([
  ['oidc', 'olga', OIDC],
  ['token', 'ben', TOKEN],
] as const)('a login by %s proves an answer, here and in the process that owns the run', async (via, person, proof) => {
  const db = join(folder(), 'sluice.db');
  const owner = engineAt(db);
  const server = engineAt(db);
  const question = await waitingAt(owner);
  await viewOf(server, person, proof).answer(question, { choice: 'approve', text: 'checked' });
  const stored = await proofIn(owner, 'r_1');
  expect(stored).toMatchObject({ ...proof, tenant: null, signature: expect.any(String), nonce: expect.any(String) });
  expect(stored.server).toMatch(/^ed25519:/);
  expect(statSync(join(db, '..', 'server.key')).mode & 0o777).toBe(0o600);
  expect((await owner.approvals('r_1'))[0]?.approvers?.answers).toMatchObject([{ by: person, via }]);
  const store = openStore(db);
  expect((await auditRun(store.journal, 'r_1', null, [stored.server ?? ''])).audit).toMatchObject({ ok: true });
  const other = (await auditRun(store.journal, 'r_1', null, [serverKey(newServerKey()).key])).audit;
  expect(other.broken?.message).toContain('is not a trusted one');
  expect((await replay(store.journal, 'r_1')).difference).toBeNull();
  await store.close();
});

test('the key of the server is made once, and that is said once', async () => {
  const db = join(folder(), 'sluice.db');
  const said: string[] = [];
  const server = engineAt(db, { onNotice: (message) => said.push(message) });
  const question = await waitingAt(server);
  await viewOf(server, 'ben', TOKEN).answer(question, { choice: 'approve' });
  await viewOf(server, 'olga', OIDC).answer(question, { choice: 'approve' });
  expect(said.filter((each) => each.includes('server.key'))).toHaveLength(1);
});

const WRONG: readonly (readonly [string, string, CallerProof])[] = [
  ['another subject', 'olga', { ...OIDC, subject: 'u' }],
  ['another issuer', 'olga', { ...OIDC, issuer: 'https://login.example.com#u', subject: '17' }],
  ['another token', 'ben', { ...TOKEN, subject: 'token:anna-phone' }],
  ['an issuer with the name of the token', 'ben', { ...OIDC, issuer: 'token:ben-laptop', subject: 'token:ben-laptop' }],
  ['a person without a login, who is the user of this process', userInfo().username, TOKEN],
  ['a person with a key, who did not sign', 'anna', { ...TOKEN, subject: 'token:anna-phone' }],
  ['no login', 'ben', { via: 'token' }],
];

test.each(WRONG)('%s proves nothing', async (_, person, proof) => {
  const server = engineAt(':memory:');
  const question = await waitingAt(server);
  expect(await refusedWith(viewOf(server, person, proof).answer(question, { choice: 'approve' }))).toBe(
    'identity-unproven',
  );
  expect(await eventsOf(server, 'r_1', 'answer.refused')).toMatchObject([{ reason: 'identity-unproven' }]);
});

test('half a login is refused', () => {
  const server = engineAt(':memory:');
  expect(() => viewOf(server, 'olga', { ...OIDC, subject: '' })).toThrow('a `proof` without `subject`');
  expect(() => viewOf(server, 'olga', { via: 'oidc', subject: 'u' })).toThrow('a `proof` without `issuer`');
  expect(() => viewOf(server, 'olga', { ...OIDC, via: 'os_user' })).toThrow('by `os_user` with `issuer`');
});

test('a person with a key signs also over a network, and needs no key of a server', async () => {
  const server = engineAt(openStore(join(folder(), 'sluice.db')));
  const question = await waitingAt(server);
  const view = viewOf(server, 'anna', { ...TOKEN, subject: 'token:anna-phone' });
  await view.answer(question, { choice: 'approve', key: anna.key });
  expect(await proofIn(server, 'r_1')).toMatchObject({ via: 'key' });
  await expect(viewOf(server, 'ben', TOKEN).answer(question, { choice: 'approve' })).rejects.toMatchObject({
    code: 'bad-key-file',
  });
});

test('a caller cannot bring a login of its own', async () => {
  const server = engineAt(':memory:');
  const question = await waitingAt(server);
  const own = serverKey(newServerKey());
  const login = { ...TOKEN, tenant: null, server: () => own };
  const forged = { choice: 'approve', login, remote: undefined } as never;
  expect(await refusedWith(viewOf(server, 'ben', null).answer(question, forged))).toBe('identity-unproven');
  expect(await refusedWith(server.answer(question, { ...(forged as object), by: 'ben' } as never))).toBe(
    'identity-unproven',
  );
});

test('an owner that does not trust the server refuses, and the caller hears it', async () => {
  const dir = folder();
  const owner = engineAt(openStore(join(dir, 'sluice.db')));
  const server = engineAt(join(dir, 'sluice.db'));
  const question = await waitingAt(owner);
  await expect(viewOf(server, 'ben', TOKEN).answer(question, { choice: 'approve' })).rejects.toMatchObject({
    code: 'identity-unproven',
    message: expect.stringContaining('does not trust the server'),
  });
  expect(await eventsOf(owner, 'r_1', 'answer.refused')).toHaveLength(1);
});

test('SLUICE_TRUSTED_SERVERS names the servers that a process trusts, and a text that is no key is refused', async () => {
  const dir = folder();
  const pem = newServerKey();
  vi.stubEnv('SLUICE_TRUSTED_SERVERS', `${serverKey(newServerKey()).key}, ${serverKey(pem).key}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const owner = engineAt(openStore(join(dir, 'sluice.db')));
  const server = engineAt(openStore(join(dir, 'sluice.db')), { serverKey: pem });
  const question = await waitingAt(owner);
  await viewOf(server, 'ben', TOKEN).answer(question, { choice: 'approve' });
  expect((await proofIn(owner, 'r_1')).server).toBe(serverKey(pem).key);
  vi.stubEnv('SLUICE_TRUSTED_SERVERS', 'nonsense');
  expect(() => createEngine({ journal: openStore(':memory:') })).toThrow('not a public key');
});

test.each([
  ['that others can read', (path: string) => chmodSync(path, 0o644)],
  ['that is no key', (path: string) => writeFileSync(path, 'nothing')],
])('a key file %s is not trusted, and that is said', async (_, spoil) => {
  const dir = folder();
  writeFileSync(join(dir, 'server.key'), newServerKey(), { mode: 0o600 });
  spoil(join(dir, 'server.key'));
  const said: string[] = [];
  const owner = engineAt(join(dir, 'sluice.db'), { onNotice: (message) => said.push(message) });
  const server = engineAt(openStore(join(dir, 'sluice.db')), { serverKey: newServerKey() });
  const question = await waitingAt(owner);
  expect(await refusedWith(viewOf(server, 'ben', TOKEN).answer(question, { choice: 'approve' }))).toBe(
    'identity-unproven',
  );
  expect(said.filter((each) => each.includes('it is not trusted'))).toHaveLength(1);
  expect(await refusedWith(viewOf(owner, 'ben', TOKEN).answer(question, { choice: 'approve' }))).toBe('bad-key-file');
});

/** Posts an answer with a stored proof, as a process that can write the database does. */
async function replayed(store: Store, engine: Engine, run: string, question: string, answer: object): Promise<string> {
  const before = (await eventsOf(engine, run, 'answer.refused')).length;
  await store.mail.post(run, { type: 'answer', id: question, answer: answer as never });
  await vi.waitUntil(async () => (await eventsOf(engine, run, 'answer.refused')).length > before);
  const last = (await eventsOf(engine, run, 'answer.refused')).at(-1);
  return (last as unknown as { reason: string }).reason;
}

test('a stored proof is worth nothing for another answer, run, tenant or database, and once only', async () => {
  const [dir, elsewhere] = [folder(), folder()];
  vi.stubEnv('SLUICE_SERVER_KEY', newServerKey());
  onTestFinished(() => void vi.unstubAllEnvs());
  const db = join(dir, 'sluice.db');
  const engine = engineAt(db);
  const question = await waitingAt(engine);
  await viewOf(engine, 'ben', TOKEN).answer(question, { choice: 'approve', text: 'yes' });
  const proof = await proofIn(engine, 'r_1');
  const answer = { choice: 'approve', by: 'ben', text: 'yes', proof };
  const store = openStore(db);
  onTestFinished(() => store.close());
  for (const changed of [
    { choice: 'approve', text: 'no' },
    { choice: 'reject' },
    { by: 'olga' },
    { edit: { a: 1 } },
    { proof: { ...proof, nonce: 'other' } },
    { proof: { ...proof, tenant: 'acme' } },
    { proof: { ...proof, at: (proof.at ?? 0) + 1 } },
    { proof: { ...proof, via: 'os_user' } },
  ])
    expect(await replayed(store, engine, 'r_1', question, { ...answer, ...changed })).toBe('identity-unproven');
  expect(await replayed(store, engine, 'r_1', question, answer)).toBe('already-answered');
  // Ben changes his mind. His first answer must not come back.
  await viewOf(engine, 'ben', TOKEN).answer(question, { choice: 'later' });
  expect(await replayed(store, engine, 'r_1', question, answer)).toBe('identity-unproven');
  expect((await engine.approvals('r_1'))[0]?.approvers?.answers).toMatchObject([{ by: 'ben', choice: 'later' }]);
  const second = await waitingAt(engine, FLOW, 'r_2');
  expect(await replayed(store, engine, 'r_2', second, answer)).toBe('identity-unproven');
  const foreign = engine.as({ tenant: 'acme', access: ['admin'] });
  const third = await waitingAt(foreign, FLOW, 'r_3');
  expect(await replayed(store, engine, 'r_3', third, answer)).toBe('identity-unproven');
  const other = engineAt(join(elsewhere, 'sluice.db'));
  const same = await waitingAt(other);
  expect(same).toBe(question);
  const there = openStore(join(elsewhere, 'sluice.db'));
  onTestFinished(() => there.close());
  expect(await replayed(there, other, 'r_1', same, answer)).toBe('identity-unproven');
});

test('the login of one tenant answers runs of that tenant', async () => {
  const server = engineAt(':memory:');
  const question = await waitingAt(server.as({ tenant: 'acme', access: ['admin'] }));
  await viewOf(server, 'ben', TOKEN, 'acme').answer(question, { choice: 'approve' });
  expect(await proofIn(server, 'r_1')).toMatchObject({ tenant: 'acme' });
});

const OPEN = compiled({ flow: { id: 'f', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] } });

test('without people a program with access may answer, and is recorded under the name of its token', async () => {
  const server = engineAt(':memory:');
  const program = server.as({ proof: { ...TOKEN, subject: 'token:ci' }, access: ['approver', 'operator'] });
  await program.answer(await waitingAt(program, OPEN), { choice: 'approve', by: 'anna' });
  const [settled] = await eventsOf(server, 'r_1', 'effect.settled');
  expect(settled).toMatchObject({ result: { value: { by: 'ci', choice: 'approve' } } });
  expect(JSON.stringify(settled)).not.toContain('proof');
  const guarded = await waitingAt(program, FLOW, 'r_2');
  expect(await refusedWith(program.answer(guarded, { choice: 'approve' }))).toBe('identity-unproven');
});

test('a login that is forged in a flow without people leaves no trace of a proof', async () => {
  const flow = compiled({
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
  const db = join(folder(), 'sluice.db');
  const engine = engineAt(db);
  const question = await waitingAt(engine, flow);
  const store = openStore(db);
  onTestFinished(() => store.close());
  const proof = { ...TOKEN, tenant: null, at: Date.now(), nonce: 'n', server: 'ed25519:x', signature: 'AAAA' };
  await store.mail.post('r_1', { type: 'answer', id: question, answer: { choice: 'approve', by: 'ben', proof } });
  await vi.waitUntil(async () => (await eventsOf(engine, 'r_1', 'effect.settled')).length > 0);
  expect(JSON.stringify(await eventsOf(engine, 'r_1', 'effect.settled'))).not.toContain('AAAA');
});

test('refusals say as data who was first, and what the question is now', async () => {
  const server = engineAt(':memory:');
  const program = server.as({ proof: { ...TOKEN, subject: 'token:ci' }, access: ['admin'] });
  const question = await waitingAt(program, OPEN);
  const [asked] = await program.approvals('r_1');
  await expect(program.answer(question, { choice: 'approve', payload: 'old' })).rejects.toMatchObject({
    code: 'stale-payload',
    details: { payload: asked?.payload },
  });
  await program.answer(question, { choice: 'approve' });
  await expect(program.answer(question, { choice: 'reject' })).rejects.toMatchObject({
    code: 'approval-closed',
    details: { by: 'ci', choice: 'approve', at: expect.stringMatching(/^\d{4}-.*Z$/) },
  });
  const guarded = await waitingAt(server, FLOW, 'r_2');
  await viewOf(server, 'ben', TOKEN).answer(guarded, { choice: 'approve' });
  await expect(viewOf(server, 'ben', TOKEN).answer(guarded, { choice: 'approve' })).rejects.toMatchObject({
    code: 'already-answered',
    details: { by: 'ben', choice: 'approve', at: expect.any(String) },
  });
  await expect(server.start(FLOW, { run: 'r_2', input: { other: 1 } })).rejects.toMatchObject({
    code: 'run-exists',
    details: {},
  });
});
