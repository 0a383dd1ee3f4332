/** A question follows from its node, so the journal stores only the run in its id. */
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { createProgram, settle } from '@sluice-internal/kernel/core';
import type { Event } from '@sluice-internal/kernel/ir';
import { pure } from '@sluice-internal/engine/ports';
import { createShelf, decodeEvents } from '@sluice-internal/engine/journal';
import { encodeEvents } from '../../../engine/src/journal/codec.ts';

const people = [
  { id: 'anna', roles: ['lead'], os_user: 'anna' },
  { id: 'ben', roles: ['lead'], os_user: 'ben' },
];

test.each([
  ['a question', {}, true],
  ['a question with a time limit', { timeout: 60 }, true],
  ['a question to people, whose fields have an order', { approvers: { roles: ['lead'] } }, false],
])('%s comes back as it was stored', (_, more, isShort) => {
  const { program, events } = asked(more);
  const { body, decoded } = stored(program, events);
  expect(decoded).toEqual(events);
  expect(body.includes('"choices"')).toBe(!isShort);
  expect(encodeEvents(program, decoded, createShelf([]).pack)).toBe(body);
});

test('a question that is not that of its node is stored as it is', () => {
  const { program, events } = asked({});
  const other = events.map((event) =>
    event.type === 'effect.requested' && event.question !== undefined
      ? { ...event, question: { ...event.question, choices: ['yes'] } }
      : event,
  );
  const { body, decoded } = stored(program, other);
  expect(decoded).toEqual(other);
  expect(body).toContain('"choices":["yes"]');
});

function asked(more: object): { program: ReturnType<typeof createProgram>; events: readonly Event[] } {
  const nodes = [{ id: 'gate', type: 'approval', message: 'Go on?', ...more }];
  const { flow, diagnostics } = compile({
    ...('approvers' in more ? { people } : {}),
    flow: { id: 'gate', entry: 'gate', nodes },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const program = createProgram(flow as CompiledFlow, pure);
  const start = { type: 'start', run: 'r_1', flow: program.flow.hash, input: 'go', seed: 1, origin: {} } as const;
  return { program, events: settle(program, null, [start], 1000).events };
}

function stored(
  program: ReturnType<typeof createProgram>,
  events: readonly Event[],
): { body: string; decoded: readonly Event[] } {
  const shelf = createShelf([]);
  const body = encodeEvents(program, events, shelf.pack);
  return { body, decoded: decodeEvents(program, { body, after: 0, at: 1000 }, shelf.unpack) };
}
