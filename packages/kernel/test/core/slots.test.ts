/** Reading and writing slots by path, case by case. Values are never changed in place. */
import { parsedJson, reply } from '../../src/expr/reply.ts';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/expr/json.ts';
import { applyWrites, hasPath, readPath, resolve } from '../../src/core/slots.ts';

const SLOTS = { a: { b: [1, { c: null }], t: 'text' }, n: null };

describe('a path', () => {
  test.each<[string[], Json]>([
    [['a', 't'], 'text'],
    [['a', 'b', '0'], 1],
    [['a', 'b', '1', 'c'], null],
    [['a', 'b', '7'], null],
    [['a', 't', 'length'], null],
    [['n', 'x'], null],
    [['a', 'toString'], null],
    [[], SLOTS],
  ])('reads %j as %j', (path, value) => {
    expect(readPath(SLOTS, path)).toEqual(value);
  });

  test.each<[string[], boolean]>([
    [['a', 't'], true],
    [['n'], true],
    [['a', 'b', '1', 'c'], true],
    [['a', 'b', '1'], true],
    [['a', 'b', '2'], false],
    [['a', 'x'], false],
    [['a', 't', '0'], false],
    [['n', 'x'], false],
    [['toString'], false],
  ])('%j leads to something: %j', (path, leads) => {
    expect(hasPath(SLOTS, path)).toBe(leads);
  });
});

describe('writes', () => {
  const from = (value: Json): { value: Json } => ({ value });

  test('follow a path, create missing objects on the way, and replace values that are not objects', () => {
    const next = applyWrites(
      SLOTS,
      [
        { slot: 'a', path: ['b'], mode: 'set', from: from(2) },
        { slot: 'n', path: ['x', 'y'], mode: 'set', from: from(3) },
        { slot: 'z', mode: 'set', from: from(4) },
      ],
      null,
    );
    expect(next).toEqual({ a: { b: 2, t: 'text' }, n: { x: { y: 3 } }, z: 4 });
    expect(SLOTS).toEqual({ a: { b: [1, { c: null }], t: 'text' }, n: null });
  });

  test('see the slots as they were, except that an append sees its list', () => {
    const slots = { list: [1], x: 1 };
    const next = applyWrites(
      slots,
      [
        { slot: 'x', mode: 'set', from: from(2) },
        { slot: 'y', mode: 'set', from: { ref: ['x'] } },
        { slot: 'list', mode: 'append', from: from(2) },
        { slot: 'list', mode: 'append', from: from(3) },
        { slot: 'new', mode: 'append', from: from(1) },
        { slot: 'x', mode: 'append', from: from(3) },
      ],
      null,
    );
    expect(next).toEqual({ list: [1, 2, 3], x: [2, 3], y: 1, new: [1] });
    expect(slots).toEqual({ list: [1], x: 1 });
  });

  test('of many fields into one object leave the object that others share alone', () => {
    const shared = { k: 0 };
    const slots = { a: shared, b: shared };
    const writes = ['p', 'q', 'r'].map((key) => ({ slot: 'a', path: [key], mode: 'set', from: from(key) }) as const);
    expect(applyWrites(slots, writes, null)).toEqual({ a: { k: 0, p: 'p', q: 'q', r: 'r' }, b: { k: 0 } });
    expect(shared).toEqual({ k: 0 });
    expect(applyWrites(slots, writes.slice(0, 1), null)['b']).toBe(shared);
  });

  test('a single write goes into slots that no other thread has, but not into the values in them', () => {
    const shared = { k: 0 };
    const slots = { a: shared, b: 1 };
    const writes = [{ slot: 'a', path: ['k'], mode: 'set', from: from(2) }] as const;
    expect(applyWrites(slots, writes, null, true)).toBe(slots);
    expect(slots).toEqual({ a: { k: 2 }, b: 1 });
    expect(shared).toEqual({ k: 0 });
  });

  test('several writes read the slots as they were, also where no other thread has them', () => {
    const slots = { a: 1, b: 2 };
    const writes = [
      { slot: 'a', mode: 'set', from: { ref: ['b'] } },
      { slot: 'b', mode: 'set', from: { ref: ['a'] } },
    ] as const;
    expect(applyWrites(slots, writes, null, true)).toEqual({ a: 2, b: 1 });
  });

  test('under the one name that is special make a field like any other', () => {
    const next = applyWrites({ a: {} }, [{ slot: 'a', path: ['__proto__'], mode: 'set', from: from({ k: 1 }) }], null);
    expect(Object.getPrototypeOf(next['a'])).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(next['a'], '__proto__')).toEqual({
      value: { k: 1 },
      enumerable: true,
      writable: true,
      configurable: true,
    });
    expect(JSON.stringify(next)).toBe('{"a":{"__proto__":{"k":1}}}');
  });

  test('take what they record by value, by name, from the observation, or field by field', () => {
    const it = { v: 5 };
    expect(resolve({ value: 1 }, SLOTS, it)).toBe(1);
    expect(resolve({ ref: ['a', 't'] }, SLOTS, it)).toBe('text');
    expect(resolve({ ref: ['it', 'v'] }, SLOTS, it)).toBe(5);
    expect(resolve({ ref: ['it'] }, SLOTS, it)).toBe(it);
    expect(resolve({ object: { x: { ref: ['it', 'v'] }, y: { value: null } } }, SLOTS, it)).toEqual({ x: 5, y: null });
  });
});

describe("a model's reply", () => {
  test.each<[Json, Json]>([
    ['{"k": 1}', { k: 1 }],
    [' \n{"k": 1}\n', { k: 1 }],
    ['[1]', '[1]'],
    ['1', '1'],
    ['"{}"', '"{}"'],
    ['{"broken', '{"broken'],
    ['{"k": 1} and more', '{"k": 1} and more'],
    ['here: {"k": 1}', 'here: {"k": 1}'],
    ['{not json}', '{not json}'],
    [7, 7],
    [null, null],
  ])('%j is kept as %j', (text, kept) => {
    expect(reply(text)).toEqual(kept);
  });

  test.each<[Json, Json]>([
    ['```json\n{"k": 1}\n```', { k: 1 }],
    [' ```\n{"k": 1}```\n', { k: 1 }],
    ['{"k": "```"}', { k: '```' }],
    ['```json\n{"k": "```"}\n```', { k: '```' }],
    ['```json\n{"k": 1}\n``` and ```json\n{"k": 2}\n```', '```json\n{"k": 1}\n``` and ```json\n{"k": 2}\n```'],
    ['Here:\n```json\n{"k": 1}\n```', 'Here:\n```json\n{"k": 1}\n```'],
    ['```\nplain\n```', '```\nplain\n```'],
    ['`````', '`````'],
    [7, 7],
  ])('%j within a fence or not is kept as %j', (text, kept) => {
    expect(reply(text)).toEqual(kept);
    expect(applyWrites({}, [{ slot: 's', mode: 'reply', from: { value: text } }], null)).toEqual({ s: kept });
  });

  test.each<[Json, Json]>([
    ['[1, 2]', [1, 2]],
    ['broken', null],
    [7, null],
    [['1'], null],
  ])('%j says %j in JSON', (text, said) => {
    expect(parsedJson(text)).toEqual(said);
  });
});

test('JSON that is nested too deeply is kept as text', () => {
  const nested = (levels: number): string => `${'['.repeat(levels)}"[[\\"["${']'.repeat(levels)}`;
  expect(parsedJson(nested(1000))).toBeInstanceOf(Array);
  expect(parsedJson(nested(1001))).toBeNull();
  expect(reply(`{"a": ${nested(1000)}}`)).toBeTypeOf('string');
});
