import { describe, expect, test } from 'vitest';
import { plain } from '../../../compile/src/source/located.ts';
import { NOTATIONS } from '../../src/driver/registry.ts';
import { readDocument } from '@sluice-internal/compile/document';
import { locate } from '@sluice-internal/compile/source';

describe('locate', () => {
  test('gives the data of a plain object, and counts undefined as absent', () => {
    const { doc, diagnostics } = locate({ a: [1, { b: 'x' }], c: undefined, d: null });
    expect(doc && plain(doc)).toEqual({ a: [1, { b: 'x' }], d: null });
    expect(diagnostics).toEqual([]);
  });

  test('the same validation speaks of paths instead of lines', () => {
    const { doc, report } = locate({ agents: [{ id: 'a', temprature: 1 }], loop: {} });
    readDocument(doc!, NOTATIONS, report);
    expect(report.list()).toMatchObject([
      {
        code: 'unknown-key',
        file: '<object>',
        line: 1,
        column: 1,
        message: 'agents[0].temprature: unknown key `temprature` in `a`',
      },
    ]);
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const throwing = {
    get bad() {
      throw new Error('no');
    },
  };
  let deep: unknown = 1;
  for (let i = 0; i < 5000; i++) deep = [deep];

  test.each([
    ['a function', { a: () => 1 }, 'not-json'],
    ['a date', { a: new Date(0) }, 'not-json'],
    ['a bigint', { a: 1n }, 'not-json'],
    ['infinity', { a: Infinity }, 'not-json'],
    ['a cycle', cyclic, 'not-json'],
    ['a getter that throws', throwing, 'not-json'],
    ['a deep value', deep, 'too-deep'],
    ['undefined', undefined, 'not-json'],
    ['a __proto__ key', JSON.parse('{"__proto__": 1}') as unknown, 'bad-key'],
  ])('reports %s and does not throw', (_name, value, code) => {
    expect(locate(value).diagnostics.map((each) => each.code)).toEqual([code]);
  });

  test('one object used twice is not a cycle', () => {
    const shared = { x: 1 };
    expect(locate({ a: shared, b: shared }).diagnostics).toEqual([]);
  });
});
