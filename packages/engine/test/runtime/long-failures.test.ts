/** A tool fails with a text of any length or with another value. The journal, the report and prompts get the start of its text. */
import { expect, test } from 'vitest';
import { PerformError } from '@sluice-internal/engine/ports';
import { compile, createEngine, openMemory } from '@sluice-internal/library';

const LONG = `boom ${'x'.repeat(100_000)}`;

test.each([
  ['an error', () => new Error(LONG)],
  ['an error with a long name', () => Object.assign(new Error('boom'), { name: LONG })],
  ['an error whose message is an object', () => Object.assign(new Error(), { message: { reason: 'boom' } })],
  ['an error whose name is a number', () => Object.assign(new Error('boom'), { name: 404 })],
  ['an error whose name is missing', () => Object.assign(new Error('boom'), { name: undefined })],
  ['an object', () => Object.assign(Object.create(null) as Error, { reason: 'boom' })],
  ['a failure with a class', () => new PerformError({ class: 'fatal', type: 'BoomError', message: LONG })],
])('%s', async (_, failure) => {
  const { flow } = compile({
    tools: { 'crm.get': { effect: 'read' } },
    agents: [{ id: 'clerk', instructions: 'Help.', tools: ['crm.get'] }],
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] },
  });
  if (flow === undefined) throw new Error('the flow does not compile');
  const fail = (): never => {
    throw failure();
  };
  const clerk = [{ text: '', tools: [{ name: 'crm.get', args: {} }] }, 'The lookup failed.'];
  const engine = createEngine({ journal: openMemory(), tools: { 'crm.get': fail }, script: { agents: { clerk } } });
  const run = await engine.start(flow, { input: 'Look it up.' });
  await engine.wait(run);
  let written = '';
  for await (const event of engine.events(run, { live: false })) written += JSON.stringify(event);
  expect(written).toContain('boom');
  expect(written.length).toBeLessThan(LONG.length);
  await engine.close();
});
