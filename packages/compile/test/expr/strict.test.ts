/** `strict(…)`: an ordering of what has no order cannot be evaluated; everything else means what it means without it. */
import { describe, expect, test } from 'vitest';
import { checkExpression } from '../../src/expressions/expression.ts';
import { compileExpr } from '@sluice-internal/kernel/expr';

const SCOPE = { t: '9', n: 9, flag: true, list: [1, '2'], nothing: null };

describe('strict', () => {
  test.each(['t > 3', 'n < "a"', 'flag >= 1', 'list <= n', 'list.exists(x, x > 5)', 't > 3 || n < 0', '!(t < 3)'])(
    '%s cannot be evaluated, and without it is a plain bool',
    (source) => {
      expect(() => compileExpr(`strict(${source})`)(SCOPE)).toThrow('have no order');
      expect(typeof compileExpr(source)(SCOPE)).toBe('boolean');
    },
  );

  test.each([
    'n > 3',
    't > "3"',
    'missing > 3',
    'nothing <= 3',
    't == 9',
    'n > 3 || t > 3',
    'n < 3 && t > 3',
    'text(t, n)',
  ])('%s is the same with it', (source) => {
    expect(compileExpr(`strict(${source})`)(SCOPE)).toEqual(compileExpr(source)(SCOPE));
  });

  test('holds for what is inside it alone', () => {
    expect(compileExpr('strict(n > 3) && !(t > 3)')(SCOPE)).toBe(true);
  });

  test('has the type of its expression, and takes exactly one', () => {
    expect(checkExpression('strict(a.b > 3)', { names: ['a'] })).toMatchObject({ ok: true, type: 'bool' });
    for (const source of ['strict(1, 2)', 'a.strict()'])
      expect(checkExpression(source, { names: ['a'] })).toMatchObject({ ok: false });
  });
});

describe('rule', () => {
  test('an error of its expression quotes the text', () => {
    expect(() => compileExpr('rule("the rule", int(t + "x") > 3)')(SCOPE)).toThrow(
      'the rule `the rule` cannot be evaluated: `9x` is not a number of that type',
    );
  });

  test('has the value and the type of its expression, and takes a literal text', () => {
    expect(compileExpr('rule("n > 3", n > 3)')(SCOPE)).toBe(true);
    expect(checkExpression('rule("x", a.b > 3)', { names: ['a'] })).toMatchObject({ ok: true, type: 'bool' });
    expect(checkExpression('rule(a > 3)', { names: ['a'] })).toMatchObject({ ok: false });
    expect(() => compileExpr('rule(t, n > 3)')).toThrow('must be a string literal');
  });
});
