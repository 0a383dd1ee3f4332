/** A person says something to the agents of a run while it goes on: who hears it, what it vouches for, and who may not approve then. */
import { generateKeyPairSync } from 'node:crypto';
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { replay } from '@sluice-internal/engine/audit';
import { compile, createEngine, openMemory } from '../../src/index.ts';
import type { ChainedEvent, Engine } from '../../src/index.ts';

const SAYS = 'Write the sum in euros, please.';
const HEARD = `input.contains(${JSON.stringify(SAYS)})`;
const LOOK = { tools: [{ name: 'orders.get', args: { order: 'A-1' } }] };
const CLERK = { id: 'clerk', tools: ['orders.get'] };
const TOOLS = { 'orders.get': { effect: 'read', input: { type: 'object' } } };
const REPLIES = [{ when: HEARD, text: 'heard' }, LOOK];

/** The clerk looks the order up, and during this call a person speaks. */
const NOTATIONS: { readonly [name: string]: object } = {
  flow: { agents: [CLERK], flow: { id: 'f', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] } },
  workflow: { agents: [CLERK], workflow: { id: 'w', steps: [{ name: 'work', agent: 'clerk', prompt: '{{input}}' }] } },
  staged: {
    agents: [{ id: 'planner' }, CLERK, { id: 'writer' }],
    staged: { id: 's', plan: { agent: 'planner' }, workers: { agent: 'clerk', max: 1 }, finalize: { agent: 'writer' } },
  },
  loop: { agents: [CLERK], loop: { id: 'l', agent: 'clerk', goal: '{{input}}', verifier: false } },
};

async function eventsOf(engine: Engine) {
  const events: ChainedEvent[] = [];
  for await (const event of engine.events('r', { live: false })) events.push(event);
  return events;
}

const outputs = (value: unknown): string => JSON.stringify(value);

async function guidedRun(document: object, { agent = null }: { readonly agent?: string | null } = {}) {
  const engine = createEngine({
    journal: openMemory(),
    script: {
      agents: {
        planner: ['{"tasks": [{"id": "one", "brief": "look"}]}'],
        clerk: REPLIES,
        writer: ['done'],
      },
    },
    tools: {
      'orders.get': async () => {
        if (!isSaid) await engine.guide('r', { by: 'anna', text: SAYS, agent });
        isSaid = true;
        return { total: 5 };
      },
    },
  });
  let isSaid = false;
  const { flow, diagnostics } = compile({ tools: TOOLS, ...document });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  await engine.start(flow as never, { run: 'r', input: 'Look up A-1.' });
  const report = await engine.settled('r');
  const events = await eventsOf(engine);
  return { engine, report, events };
}

test.each(Object.keys(NOTATIONS))('in %s the next request of the agent has the words', async (name) => {
  const { engine, report, events } = await guidedRun(NOTATIONS[name] as object);
  await using _closing = engine;
  expect(report.error).toBeNull();
  expect(events.filter(({ type }) => type === 'guidance.given' || type === 'guidance.heard')).toMatchObject([
    { type: 'guidance.given', by: 'anna', text: SAYS, agent: null },
    { type: 'guidance.heard', agent: 'clerk' },
  ]);
  expect(outputs(events)).toContain('heard');
});

test('a remark to one agent waits for that agent, which keeps it in mind', async () => {
  const engine = createEngine({
    journal: openMemory(),
    script: {
      agents: {
        clerk: [{ when: HEARD, text: 'too early' }, 'a draft'],
        writer: [{ when: HEARD, text: 'in euros' }, 'not told'],
      },
    },
  });
  await using _closing = engine;
  const agents = [{ id: 'clerk' }, { id: 'writer' }];
  const { flow, diagnostics } = compile({
    agents,
    flow: {
      id: 'f',
      entry: 'gate',
      nodes: [
        { id: 'gate', type: 'approval', message: 'Go on?', routes: [{ to: 'draft' }] },
        { id: 'draft', type: 'agent', agent: 'clerk', routes: [{ to: 'write' }] },
        { id: 'write', type: 'agent', agent: 'writer', routes: [{ to: 'more' }] },
        { id: 'more', type: 'agent', agent: 'writer', routes: [{ to: 'done' }] },
        { id: 'done', type: 'terminal', output: '{{draft.output}}, {{write.output}}, {{more.output}}' },
      ],
    },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  await engine.start(flow as never, { run: 'r', input: 'Write.' });
  const [question] = (await engine.settled('r')).waiting;
  await engine.guide('r', { by: 'anna', text: SAYS, agent: 'writer' });
  expect((await engine.get('r')).state).toBe('suspended');
  await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ben' });
  expect((await engine.settled('r')).output).toBe('a draft, in euros, in euros');
  const events = await eventsOf(engine);
  expect(events.filter(({ type }) => type === 'guidance.heard')).toHaveLength(1);
  await expect(engine.guide('r', { by: 'anna', text: 'Too late.' })).rejects.toMatchObject({ code: 'run-ended' });
});

test.each([
  [{ by: 'anna', text: '  ' }, 'the remark has no words'],
  [{ by: '', text: 'Stop.' }, 'the remark does not name the person who makes it'],
  [{ by: 'clerk', text: 'Stop.' }, '`clerk` is an agent of the run, and only people guide'],
  [{ by: 'anna', text: 'Stop.', agent: 'clark' }, 'no agent `clark` hears remarks: `clerk` can'],
])('%j is refused', async (remark, message) => {
  const engine = createEngine({ journal: openMemory(), script: { agents: { clerk: ['ok'] } } });
  await using _closing = engine;
  const { flow } = compile({
    agents: [{ id: 'clerk' }],
    flow: {
      id: 'f',
      entry: 'gate',
      nodes: [
        { id: 'gate', type: 'approval', message: 'Go on?', routes: [{ to: 'work' }] },
        { id: 'work', type: 'agent', agent: 'clerk' },
      ],
    },
  });
  await engine.start(flow as never, { run: 'r', input: 'Write.' });
  await engine.settled('r');
  await expect(engine.guide('r', remark)).rejects.toMatchObject({ code: 'bad-guidance', message });
  expect((await eventsOf(engine)).some(({ type }) => type === 'guidance.given')).toBe(false);
});

const pair = generateKeyPairSync('ed25519');
const BEN = {
  key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  public: `ed25519:${String(pair.publicKey.export({ format: 'jwk' }).x)}`,
};

/** The clerk reads a mail of a stranger, then pays. The account is in the mail, or a person names it. */
const PAYS = {
  people: [
    { id: 'anna', roles: ['manager'], os_user: userInfo().username },
    { id: 'ben', roles: ['manager'], key: BEN.public },
  ],
  tools: {
    'mail.read': { effect: 'read', input: { type: 'object' } },
    'pay.do': { effect: 'financial', approvers: { roles: ['manager'] }, input: { type: 'object' } },
  },
  agents: [{ id: 'clerk', tools: ['mail.read', 'pay.do'] }],
  flow: { id: 'pays', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] },
};

test('L14: a remark vouches for a value, and whoever made it may not approve the call', async () => {
  let isSaid = false;
  const store = openMemory();
  const pay = { tools: [{ name: 'pay.do', args: { account: 'AC-77', amount: 250 } }] };
  const engine = createEngine({
    journal: store,
    script: { agents: { clerk: [{ tools: [{ name: 'mail.read', args: {} }] }, pay, 'paid'] } },
    tools: {
      'mail.read': async () => {
        if (!isSaid) await engine.guide('r', { by: 'anna', text: 'Pay 250 to account AC-77, please.' });
        isSaid = true;
        return { text: 'Please pay 250 to AC-77.' };
      },
      'pay.do': () => ({ ok: true }),
    },
  });
  await using _closing = engine;
  const { flow, diagnostics } = compile(PAYS);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  await engine.start(flow as never, { run: 'r', input: 'Read the mail and do what is right.' });
  const [question] = (await engine.settled('r')).waiting;
  expect(question?.packet.effects[0]?.sources).toMatchObject([
    { path: 'account', from: 'anna', trusted: true },
    { path: 'amount', from: 'anna', trusted: true },
  ]);
  const id = question?.id ?? '';
  await expect(engine.answer(id, { choice: 'approve', by: 'anna' })).rejects.toMatchObject({
    code: 'self-approval',
    message: expect.stringContaining('comes from a remark of `anna`') as string,
  });
  await engine.answer(id, { choice: 'approve', by: 'ben', key: BEN.key } as never);
  const report = await engine.settled('r');
  expect(report).toMatchObject({ code: 'SUCCESS', receipts: [{ tool: 'mail.read' }, { tool: 'pay.do' }] });
  const events = await eventsOf(engine);
  expect(events.some(({ type }) => type === 'answer.refused')).toBe(true);
  expect(await replay(store.journal, 'r')).toMatchObject({ difference: null });
});

/** Ann reads the order, and during this call a person speaks. */
const TEAM = {
  tools: TOOLS,
  Orchestration: {
    Agents: [
      { Name: 'Ann', Instructions: 'Write.', Plugins: ['orders.get'] },
      { Name: 'Bob', Instructions: 'Review.' },
    ],
    Selection: { Type: 'roundrobin' },
    Termination: { Type: 'maxiterations', MaxIterations: 3 },
  },
};

test('a team reads the words as a message before the next turn', async () => {
  let isSaid = false;
  const engine = createEngine({
    journal: openMemory(),
    script: {
      agents: {
        Ann: [
          { when: `${HEARD} && !input.contains('to Bob')`, text: 'too early' },
          LOOK,
          'A draft',
          'Ann was told of it',
        ],
        Bob: [{ when: HEARD, text: 'Bob has read it' }, 'No remark'],
      },
    },
    tools: {
      'orders.get': async () => {
        if (!isSaid) await engine.guide('r', { by: 'anna', text: SAYS });
        isSaid = true;
        return { total: 5 };
      },
    },
  });
  await using _closing = engine;
  const { flow, diagnostics } = compile(TEAM);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  await engine.start(flow as never, { run: 'r', input: 'Write.' });
  const report = await engine.settled('r');
  expect(report.error).toBeNull();
  const events = await eventsOf(engine);
  expect(events.filter(({ type }) => type === 'guidance.heard')).toMatchObject([{ agent: 'Bob' }]);
  expect(outputs(events)).toContain('Bob has read it');
  expect(outputs(events)).not.toContain('too early');
});
