/** What is stored is what was decided. A failure prints its seed; SEED runs it again. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '@sluice-internal/kernel/expr';
import { createShelf, decodeEvents } from '@sluice-internal/engine/journal';
import { encodeEvents } from '../../packages/engine/src/journal/codec.ts';
import { TYPES, appends, values } from './events.ts';
import { graphAppends, program, reloaded } from './graph-events.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

describe('codec', () => {
  test(`L2: decoding gives back exactly what was encoded, seed ${seed}`, () => {
    console.log(`codec: seed ${seed}`);
    const seen = new Set<string>();
    fc.assert(
      fc.property(appends, ({ after, at, events }) => {
        const shelf = createShelf([]);
        const body = encodeEvents(program, events, shelf.pack);
        const reader = createShelf(shelf.takeNew());
        for (const { type } of events) seen.add(type);
        // An absent field and an undefined one are the same.
        expect(decodeEvents(program, { body, after, at }, reader.unpack)).toEqual(events);
      }),
      { seed, numRuns: 1500 },
    );
    expect([...seen].sort()).toEqual([...TYPES].sort());
  });

  test('L11: the fields of a stored write have the order of the core, since the hash of an event covers its text', () => {
    const write = { slot: 'a', path: ['output'], mode: 'set', from: { value: 1 } } as const;
    const written = { type: 'slots.written', thread: '0', node: 'x', writes: [write], to: 'y', seq: 1, at: 0 } as const;
    const shelf = createShelf([]);
    const body = encodeEvents(program, [written], shelf.pack);
    const [read] = decodeEvents(program, { body, after: 0, at: 0 }, shelf.unpack);
    expect(JSON.stringify((read as { writes?: unknown }).writes)).toBe(JSON.stringify([write]));
  });

  test(`L2: encoding what was decoded gives the same bytes, seed ${seed}`, () => {
    fc.assert(
      fc.property(fc.oneof(appends, graphAppends), ({ after, at, events }) => {
        const shelf = createShelf([]);
        const body = encodeEvents(program, events, shelf.pack);
        expect(encodeEvents(program, decodeEvents(program, { body, after, at }, shelf.unpack), shelf.pack)).toBe(body);
      }),
      { seed, numRuns: 1000 },
    );
  });

  test(`L2, L9: what the graph says is named, not repeated, and comes back the same, seed ${seed}`, () => {
    const tags = new Set<unknown>();
    fc.assert(
      fc.property(graphAppends, ({ after, at, events }) => {
        const shelf = createShelf([]);
        const body = encodeEvents(program, events, shelf.pack);
        for (const line of JSON.parse(body) as unknown[]) if (Array.isArray(line)) tags.add(line[0]);
        expect(decodeEvents(program, { body, after, at }, shelf.unpack)).toEqual(events);
        // The graph comes back from the store with its keys in another order, and as other objects.
        expect(decodeEvents(reloaded, { body, after, at }, shelf.unpack)).toEqual(events);
      }),
      { seed, numRuns: 1000 },
    );
    for (const tag of ['a', 'd', 'q', 'v', 'k', 'z', 'y', 'g', 'h']) expect(tags).toContain(tag);
  });

  test('a form that this version does not know is refused, not guessed at', () => {
    expect(() => decodeEvents(program, { body: '[["?",1]]', after: 0, at: 0 }, (value) => value)).toThrow(
      'does not know',
    );
  });

  test('a place that is not in the graph is refused, not guessed at', () => {
    expect(() => decodeEvents(program, { body: '[["z","0","nowhere"]]', after: 0, at: 0 }, (value) => value)).toThrow(
      'not in the graph',
    );
    expect(() => decodeEvents(program, { body: '[["a","0#1","route"]]', after: 0, at: 0 }, (value) => value)).toThrow(
      'not in the graph',
    );
  });
});

describe('values', () => {
  test(`L2: every value that is encoded can be decoded, seed ${seed}`, () => {
    fc.assert(
      fc.property(fc.array(values, { maxLength: 5 }), (list) => {
        const writer = createShelf([]);
        const packed = list.map((value) => parseJson(writer.pack(value)) as never);
        const reader = createShelf(writer.takeNew());
        expect(packed.map((stored) => reader.unpack(stored))).toEqual(list);
      }),
      { seed, numRuns: 1000 },
    );
  });

  test('L9: a big value is put aside once, however often it is named', () => {
    const shelf = createShelf([]);
    const big = { text: 'x'.repeat(10_000) };
    const first = shelf.pack(big);
    expect(first.length).toBeLessThan(100);
    expect(shelf.pack(big)).toBe(first);
    expect(shelf.pack({ ...big })).toBe(first);
    expect(shelf.takeNew()).toHaveLength(1);
    expect(shelf.takeNew()).toHaveLength(0);
  });

  test('L9: what the journal already holds is not put aside again', () => {
    const writer = createShelf([]);
    const big = 'x'.repeat(10_000);
    writer.pack(big);
    const later = createShelf(writer.takeNew());
    later.pack(big);
    expect(later.takeNew()).toHaveLength(0);
  });

  test('a value that is not there is an error, not null', () => {
    expect(() => createShelf([]).unpack({ $blob: 'nowhere' })).toThrow('the journal lacks the value');
  });
});
