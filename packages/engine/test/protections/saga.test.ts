/** Idempotency and saga: compensations are registered before the effect, and run last in first out. §flow/saga */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory, replay } from '@sluice-internal/library';
import { readRun } from '@sluice-internal/engine/journal';
import type { Settled } from '@sluice-internal/kernel/ir';
import { flowOf, lab } from './run-flow.ts';

const book = (name: string) => ({
  [`${name}.book`]: { description: 'Books.', effect: 'write', compensate: `${name}.cancel` },
  [`${name}.cancel`]: { description: 'Cancels.', effect: 'write' },
});
const tools = { ...book('flight'), ...book('hotel'), ...book('car') };
const node = (id: string, to: string) => ({ id, type: 'tool', tool: `${id}.book`, params: {}, routes: [{ to }] });
const trip = {
  tools,
  flow: { id: 'trip', entry: 'flight', nodes: [node('flight', 'hotel'), node('hotel', 'car'), node('car', 'end')] },
};

describe('a saga', () => {
  test('undoes two of three bookings, last first, under keys of their own', async () => {
    const calls: { readonly name: string; readonly key: string }[] = [];
    const one = lab(({ command, idempotencyKey }): Settled => {
      calls.push({ name: command.name, key: idempotencyKey });
      return command.name === 'car.book'
        ? { ok: false, error: { class: 'fatal', type: 'FullError', message: 'no cars' } }
        : { ok: true, value: 'done' };
    });
    const report = await one.run(flowOf(trip));
    expect(report).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP' });
    expect(calls.map(({ name }) => name)).toEqual([
      'flight.book',
      'hotel.book',
      'car.book',
      'hotel.cancel',
      'flight.cancel',
    ]);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(5);
    expect(report.receipts.map(({ tool, status }) => [tool, status])).toContainEqual(['hotel.book', 'compensated']);
    const events = await one.events(report.run);
    const request = events.findIndex(({ type, name }) => type === 'effect.requested' && name === 'flight.book');
    expect(events[request]).toMatchObject({ undo: { tool: 'flight.cancel' } });
    expect(events.filter(({ type }) => type === 'undo.requested')).toHaveLength(2);
    await one.close();
  });
});

describe('the compensation gets the arguments of the call', () => {
  const args = { city: 'Rome', 'room-number': 7, extra: { beds: 2 } };
  const properties = { city: { type: 'string' }, late: { type: 'boolean' } };
  const clerk = { id: 'clerk', instructions: 'Book.', tools: ['hotel.book'] };
  const stop = { id: 'stop', type: 'fail', code: 'IMPOSSIBLE', message: 'no' };
  const first = {
    agent: { id: 'first', type: 'agent', agent: 'clerk', routes: [{ to: 'stop' }] },
    tool: { id: 'first', type: 'tool', tool: 'hotel.book', params: args, routes: [{ to: 'stop' }] },
  };
  test.each([
    ['agent', undefined],
    ['agent', { type: 'object', properties }],
    ['tool', undefined],
    ['tool', { type: 'object', properties }],
  ] as const)('called by a node of type %s, with the schema %j', async (by, input) => {
    const hotel = { ...tools['hotel.book'], ...(input === undefined ? {} : { input }) };
    const nodes = [first[by], stop];
    const flow = { id: 'stay', entry: 'first', nodes };
    const document = { agents: [clerk], tools: { ...tools, 'hotel.book': hotel }, flow };
    const store = openMemory();
    const script = {
      agents: { clerk: [{ tools: [{ name: 'hotel.book', args }] }, 'The room is booked.'] },
      tools: { 'hotel.book': [{ result: 'booked' }], 'hotel.cancel': [{ result: 'done' }] },
      approvals: { 'hotel.book': 'approve' },
    };
    const engine = createEngine({ journal: store, script });
    const run = await engine.start(flowOf(document), { input: 'Book.' });
    const report = await engine.settled(run);
    expect(report).toMatchObject({ code: 'IMPOSSIBLE', receipts: [{ status: 'compensated' }] });
    const { events } = await readRun(store.journal, run);
    expect(events.flatMap((event) => (event.type === 'effect.requested' && event.undo) || [])).toMatchObject([
      { args },
    ]);
    expect(await replay(store.journal, run)).toMatchObject({ difference: null });
    await engine.close();
  });
});

describe('a tool that nothing undoes', () => {
  const agents = [{ id: 'clerk', instructions: 'Book.', tools: ['hotel.book', 'mail.send'] }];
  const workflow = { steps: [{ name: 'book', agent_id: 'clerk' }] };
  const mail = { 'mail.send': { description: 'Sends.', effect: 'communication' } };
  const severities = (document: object) =>
    compile(document)
      .diagnostics.filter(({ code }) => code === 'no-compensation')
      .map(({ severity, message }) => [severity, /`[^`]+`/.exec(message)?.[0]]);

  test('is a warning in a staged flow', () => {
    const staged = { plan: { agent: 'clerk' }, workers: { agent: 'clerk' } };
    expect(severities({ agents, tools: { ...book('hotel'), ...mail }, workflow })).toEqual([]);
    expect(severities({ agents, tools: { ...book('hotel'), ...mail }, staged })).toEqual([['warning', '`mail.send`']]);
  });

  test('is an error in the regulated tier', () => {
    const tier = { protections: { tier: 'regulated' } };
    expect(severities({ ...tier, agents, tools: { ...book('hotel'), ...mail }, workflow })).toEqual([
      ['error', '`mail.send`'],
    ]);
    const undone = { ...book('hotel'), 'mail.send': { ...mail['mail.send'], compensate: 'hotel.cancel' } };
    expect(severities({ ...tier, agents, tools: undone, workflow })).toEqual([]);
  });

  test('is no problem if it only reads', () => {
    const reads = { ...book('hotel'), 'mail.send': { description: 'Looks.', effect: 'read' } };
    expect(severities({ agents, tools: reads, workflow })).toEqual([]);
  });
});
