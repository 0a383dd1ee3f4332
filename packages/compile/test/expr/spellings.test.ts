/** `and`, `or`, `not`, `| json`, `merge` and `slice`. */
import { describe, expect, test } from 'vitest';
import { parseTemplate, templateToExpr } from '../../src/expressions/template.ts';
import { checkExpression } from '../../src/expressions/expression.ts';
import { rewriteNames } from '../../src/expressions/rewrite.ts';
import { compileExpr } from '@sluice-internal/kernel/expr';

const SCOPE = {
  a: 1,
  b: 2,
  yes: true,
  no: false,
  items: [1, 2, 3, 4],
  x: { k: 1, l: 2 },
  y: { l: 3 },
  t: 'this and that',
};

describe('spellings', () => {
  test.each([
    ['a == 1 and b == 2', true],
    ['a == 2 or b == 2', true],
    ['not no', true],
    ['not a == 2', true],
    ['not a == 1 or yes', true],
    ['yes and not (no or a > 5)', true],
    ['NOT no AND yes', true],
    ['t == "this and that"', true],
    ['items.exists(i, not i > 1 and i == 1)', true],
    ['t.matches("and")', true],
    ['slice(items, 1, 3)', [2, 3]],
    ['slice(items, -2)', [3, 4]],
    ['merge(x, y)', { k: 1, l: 3 }],
    ['merge(x, missing)', { k: 1, l: 2 }],
    ['toJson(t)', '"this and that"'],
  ])('%s', (source, expected) => {
    expect(compileExpr(source)(SCOPE)).toEqual(expected);
    expect(checkExpression(source).ok).toBe(true);
  });

  test('names keep their places', () => {
    expect(rewriteNames('not a == b and yes', ([root]) => (root === 'a' ? 'last.a' : null))).toBe(
      'not last.a == b and yes',
    );
  });

  test('a name that only begins like an operator is a name', () => {
    expect(compileExpr('order.and')({ order: { and: 3 } })).toBe(3);
    expect(compileExpr('android')({ android: 4 })).toBe(4);
  });

  test('`| json` writes JSON text', () => {
    expect(compileExpr(templateToExpr('Data: {{ x | json }}.'))(SCOPE)).toBe('Data: {"k":1,"l":2}.');
    expect(compileExpr(templateToExpr('{{ t|json }}'))(SCOPE)).toBe('"this and that"');
    expect(parseTemplate('{{ no || yes }}').parts).toMatchObject([{ expr: 'no || yes' }]);
  });
});
