/**
 * Changes to an expression's text keep its meaning, and keep offsets where they promise to.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rewriteNames, stripBraces } from '../../src/expressions/rewrite.ts';

const known = new Set(['triage', 'event']);
const toLast = ([root = '']: string[]): string | null => (known.has(root) ? null : `last.${root}`);

describe('rewriteNames', () => {
  test.each([
    ['category == "refund"', 'last.category == "refund"'],
    ['category.sub == x', 'last.category.sub == last.x'],
    ['triage.output.category == category', 'triage.output.category == last.category'],
    ['"category" == category', '"category" == last.category'],
    ['items.map(category, category.id)', 'last.items.map(category, category.id)'],
    ['has(category.x) && contains.contains("a")', 'has(last.category.x) && last.contains.contains("a")'],
    ['event[category]', 'event[last.category]'],
    ['(category).x', '(last.category).x'],
    ['{"category": category}', '{"category": last.category}'],
    ['not valid (', 'not valid ('],
  ])('%s becomes %s', (source, expected) => {
    expect(rewriteNames(source, toLast)).toBe(expected);
  });

  test('resolve sees whole paths', () => {
    const seen = new Set<string>();
    rewriteNames('a.b.c + d["e"]', (path) => {
      seen.add(path.join('/'));
      return null;
    });
    expect(seen).toEqual(new Set(['a/b/c', 'd/e']));
  });
});

describe('stripBraces', () => {
  test.each([
    ['{{a.b}} == "x"', ' (a.b)  == "x"'],
    ['{{ a }} && {{ b }}', ' ( a )  &&  ( b ) '],
    ['a == 1', 'a == 1'],
    ['"{{a}}" == b', '  (a)   == b'],
    ['"is {{a}}" == b', '"is {{a}}" == b'],
    ["'{{' == {{b}}", "'{{' ==  (b) "],
    ['x == {"a": {"b": 1}}', 'x == {"a": {"b": 1}}'],
    ['{{ {"a": {"b": 1}}.a.b }} == 1', ' ( {"a": {"b": 1}}.a.b )  == 1'],
    ['{{ a', '{{ a'],
  ])('%s becomes %s', (source, expected) => {
    expect(stripBraces(source)).toBe(expected);
  });

  test('no offset moves', () => {
    const piece = fc.constantFrom('{{', '}}', 'a', '"', "'", ' ', '{', '}', '\\', '\n', '==');
    fc.assert(
      fc.property(
        fc.array(piece).map((pieces) => pieces.join('')),
        (source) => {
          expect(stripBraces(source)).toHaveLength(source.length);
        },
      ),
      { seed: 11 },
    );
  });
});
