/**
 * What the compiler says about an expression before it runs.
 */
import { readsIn } from '../../src/expressions/reads.ts';
import { describe, expect, test } from 'vitest';
import { checkExpression } from '../../src/expressions/expression.ts';
import type { ExprCheck, ExprContext } from '../../src/expressions/expression.ts';

const CONTEXT: ExprContext = {
  names: ['event', 'triage', 'draft', 'approvals', 'n'],
  types: {
    n: { type: 'number' },
    triage: {
      type: 'object',
      properties: {
        output: {
          type: 'object',
          properties: {
            category: { enum: ['refund', 'question', 'other'] },
            score: { type: 'number' },
            urgent: { type: ['boolean', 'null'] },
            note: { type: 'string' },
            tags: { type: 'array', items: { type: 'string' } },
            items: { type: 'array', items: { type: 'object', properties: { price: { type: 'number' } } } },
            extra: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
            either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
          },
        },
      },
    },
  },
};

const check = (source: string, context: ExprContext = CONTEXT): ExprCheck => checkExpression(source, context);

/** Each problem as `code: the text it points at: message (help)`. */
function problems(source: string, context: ExprContext = CONTEXT): string[] {
  const result = check(source, context);
  return (result.ok ? result.warnings : result.problems).map(
    ({ code, message, start, end, help }) =>
      `${code}: ${source.slice(start, end)}: ${message}${help === undefined ? '' : ` (${help})`}`,
  );
}

describe('what is fine', () => {
  test.each([
    ['triage.output.category == "refund"', 'bool'],
    ['triage.output.score > 0.5 && triage.output.urgent', 'bool'],
    ['n + 1 > 2', 'bool'],
    ['n * 2', 'number'],
    ['triage.output.note + "!"', 'string'],
    ['triage.output.tags.exists(t, t == "x")', 'bool'],
    ['triage.output.items.filter(i, i.price > 3).map(i, i.price)', 'list'],
    ['triage.output.items[0].price + 1', 'number'],
    ['triage.output.extra.whatever == 3', 'bool'],
    ['triage.output.either > 3 || triage.output.either == "x"', 'bool'],
    ['event.payload.anything.at.all == null', 'bool'],
    ['triage.output.category == null', 'bool'],
    ['draft.output', 'any'],
    ['text("a", n)', 'string'],
    ['re(triage.output.note, "^a")', 'bool'],
    ['{"a": n, "b": triage.output}', 'map'],
    ['n > 1 ? "a" : "b"', 'string'],
    ['type(n) == double', 'bool'],
    ['has(triage.output.score)', 'bool'],
    ['cel.bind(x, n, x + 1)', 'number'],
    ['timestamp(event.at) - timestamp(event.due) > duration("1h")', 'bool'],
    ['!triage.output.urgent', 'bool'],
    ['size(triage.output.tags) == 2', 'bool'],
    ['triage.output.tags + ["x"]', 'list'],
    ['lines(triage.output.note)[0]', 'any'],
  ])('%s is %s', (source, type) => {
    expect(problems(source)).toEqual([]);
    expect(check(source)).toMatchObject({ ok: true, source, type });
  });
});

describe('what is not', () => {
  test.each([
    ['n +', 'syntax: : the expression ends too early'],
    ['n ) 1', 'syntax: ): unexpected `)`'],
    ['', 'syntax: : the expression is empty'],
    ['"abc', 'syntax: "abc: unterminated string'],
    [
      '[1].map(a, [1].map(b, [1].map(c, 1)))',
      'limit: [1].map(a, [1].map(b, [1].map(c, 1))): `map` is nested more than 2 macros deep',
    ],
    [
      'event.text.re("(a")',
      'pattern: "(a": the pattern is not a valid regular expression: missing closing `)` in `(a` (Write a `\\` before a character that stands for itself, such as `\\(`.)',
    ],
    [
      'event.text.matches("(a")',
      'pattern: "(a": the pattern is not a valid regular expression: missing closing `)` in `(a` (Write a `\\` before a character that stands for itself, such as `\\(`.)',
    ],
    ['re(event.text, event.pattern)', 'pattern: event.pattern: the pattern of `re` must be a string literal'],
    [
      'event.text.contain("a")',
      'function: event.text.contain("a"): there is no function `contain` (Did you mean `contains`?)',
    ],
    ['siez(event.list) > 1', 'function: siez(event.list): there is no function `siez` (Did you mean `size`?)'],
    ['frobnicate(n)', 'function: frobnicate(n): there is no function `frobnicate`'],
    ['contains(event.text, "a")', 'function: contains(event.text, "a"): `contains` is a method: write `x.contains(…)`'],
    ['size(n, n, n)', 'function: size(n, n, n): `size` takes 1 argument, not 3'],
    [
      're(event.text, "(a")',
      'pattern: "(a": the pattern is not a valid regular expression: missing closing `)` in `(a` (Write a `\\` before a character that stands for itself, such as `\\(`.)',
    ],
    [
      'event.text.matches("(a")',
      'pattern: "(a": the pattern is not a valid regular expression: missing closing `)` in `(a` (Write a `\\` before a character that stands for itself, such as `\\(`.)',
    ],
    ['re(event.text, event.pattern)', 'pattern: event.pattern: the pattern of `re` must be a string literal'],
    ['traige.output.score > 1', 'name: traige: there is no `traige` here (Did you mean `triage`?)'],
    [
      'somethingelse > 1',
      'name: somethingelse: there is no `somethingelse` here (Readable here: `event`, `triage`, `draft`, `approvals`, `n`.)',
    ],
    [
      'triage.output.categroy == "refund"',
      'field: triage.output.categroy: there is no field `categroy` (Did you mean `category`?)',
    ],
    [
      'triage.output.items[0].cost > 1',
      'field: triage.output.items[0].cost: there is no field `cost` (It has `price`.)',
    ],
    ['triage.output.note.length > 1', 'field: triage.output.note.length: a string has no field `length`'],
    ['triage.output.category == "refnd"', 'never: "refnd": the value is never `refnd` (Did you mean `refund`?)'],
    [
      '"zzz" != triage.output.category',
      'never: "zzz": the value is never `zzz` (It is one of `refund`, `question`, `other`.)',
    ],
    [
      'triage.output.category in ["refund", "questoin"]',
      'never: "questoin": the value is never `questoin` (Did you mean `question`?)',
    ],
    [
      'triage.output.score == "high"',
      'type: triage.output.score == "high": a number is compared with a string, which is always false',
    ],
    [
      'triage.output.note != 3',
      'type: triage.output.note != 3: a string is compared with a number, which is always true',
    ],
    [
      'triage.output.note > 3',
      'type: triage.output.note > 3: a string is compared with a number, which is always false',
    ],
    ['triage.output.tags > 3', 'type: triage.output.tags > 3: a list has no order, so `>` is always false'],
    ['null < n', 'type: null < n: a null has no order, so `<` is always false'],
    [
      'triage.output.note + n',
      'type: triage.output.note + n: `+` does not work between string and number (Write `text(x)` to turn a value into text.)',
    ],
    ['triage.output.note * 2', 'type: triage.output.note * 2: `*` does not work between string and number'],
    ['triage.output.note && true', 'type: triage.output.note: each side of `&&` must be a bool, not string'],
    ['!n', 'type: n: `!` must be a bool, not number'],
    ['n ? 1 : 2', 'type: n: the condition of `?:` must be a bool, not number'],
    ['"a" in n', 'type: n: `in` needs a list or a map, not number'],
    ['n.contains("a")', 'type: n: `contains` needs string here, not number'],
    ['triage.output.tags["a"]', 'field: triage.output.tags["a"]: a list has no field `a`'],
    ['n.all(x, true)', 'type: n.all(x, true): `all` needs a list, not number'],
    ['triage.output.tags.filter(t, t + "x")', 'type: t + "x": the predicate of `filter` must be a bool, not string'],
    ['triage.output.tags.map(t, t.nope)', 'field: t.nope: a string has no field `nope`'],
    ['-triage.output.note', 'type: -triage.output.note: `-` needs a number, not string'],
    ['event.?a', 'syntax: ?: expected a name, got `?`'],
  ])('%s', (source, expected) => {
    expect(problems(source)).toEqual([expected]);
  });

  test('a comparison that never holds is a warning', () => {
    expect(check('triage.output.category == "refnd"', CONTEXT)).toMatchObject({
      ok: true,
      warnings: [{ code: 'never' }],
    });
  });

  test('all problems are reported at once, in the order of the text', () => {
    expect(problems('traige.x == 1 && n + "a" == "b" && nope(n)').map((each) => each.split(':')[0])).toEqual([
      'name',
      'type',
      'function',
    ]);
  });

  test('without names, any name may be a variable', () => {
    expect(problems('anything.goes == 1', {})).toEqual([]);
  });
});

describe('guards that do not depend on data', () => {
  test.each([
    ['true', true],
    ['1 == 1', true],
    ['"a" == "b"', false],
    ['false && event.x', false],
    ['event.x || true', true],
    ['!(event.x && false)', true],
    ['event.x ? false : 1 > 2', false],
    ['[1, 2].all(x, x > 0)', true],
    ['"{{triage.output.category}}" == "refund"', false],
  ])('%s is always %s', (source, constant) => {
    expect(check(source)).toMatchObject({ ok: true, constant });
  });

  test.each(['event.x', 'event.x && true', 'event.x || false', '1 / 0 == 1', '"text"', 'event.x == event.x'])(
    '%s is not known',
    (source) => {
      expect(check(source)).not.toHaveProperty('constant');
    },
  );
});

test.each([
  ['a chain of operators', Array.from({ length: 3000 }, (_, i) => `n == ${i}`).join(' || ')],
  ['a sum', `n == 1${' + 1'.repeat(3000)}`],
])('%s that is nested too deeply is one problem', (_, source) => {
  const result = check(source);
  expect(result.ok ? [] : result.problems.map(({ code, message }) => [code, message])).toEqual([
    ['limit', 'the expression is nested deeper than 400'],
  ]);
});

describe('reads', () => {
  const reads = (source: string): string[] => {
    const result = check(source, {});
    if (!result.ok) throw new Error('does not check');
    return result.reads.map(({ path, start, end }) => `${path.join('/')} @ ${source.slice(start, end)}`);
  };

  test.each([
    ['a.b.c == d', ['a/b/c @ a.b.c', 'd @ d']],
    ['a["b-c"].d', ['a/b-c/d @ a["b-c"].d']],
    ['a.items[0].id', ['a/items/0/id @ a.items[0].id']],
    ['a[b.c].d', ['a @ a', 'b/c @ b.c']],
    ['list.items.map(x, x.id + y.id)', ['list/items @ list.items', 'y/id @ y.id']],
    ['xs.map(x, x).filter(y, y == x)', ['xs @ xs', 'x @ x']],
    ['cel.bind(v, a.b, v + c)', ['a/b @ a.b', 'c @ c']],
    ['has(a.b)', ['a/b @ a.b']],
    ['size(a) + b.size()', ['a @ a', 'b @ b']],
    ['{"k": a, b: 1}', ['a @ a', 'b @ b']],
    ['type(a) == string', ['a @ a']],
    ['"a.b" == \'c\'', []],
    ['(a).b', ['a/b @ a).b']],
  ])('%s', (source, expected) => {
    expect(reads(source)).toEqual(expected);
  });

  test('a name that is compared with `type(…)` is a type, also if there is a variable of that name', () => {
    const names = new Set(['list', 'map']);
    const found = readsIn('type(list.rows) != list && map == type(map)', names);
    expect(found.map(({ path, start }) => [path.join('/'), start])).toEqual([
      ['list/rows', 5],
      ['map', 39],
    ]);
  });
});
