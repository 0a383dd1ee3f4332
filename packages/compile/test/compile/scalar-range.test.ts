import { expect, test } from 'vitest';
import { childOf } from '../../src/source/located.ts';
import { rangeWithin } from '../../src/source/scalar-range.ts';
import { parseSource } from '../../src/source/source.ts';

test.each([
  ['plain', 'a: one two three\n', 'two'],
  ['double quotes', 'a: "one two three"\n', 'two'],
  ['escapes before it', 'a: "\\tone \\u00e9 \\"x\\" two three"\n', 'two'],
  ['single quotes with a doubled one', "a: 'it''s two three'\n", 'two'],
  ['a literal block', 'a: |\n  first line\n\n    indented\n  then two three\n', 'two'],
  ['a folded block', 'a: >\n  first line\n  goes on two three\n\n  new\n', 'two'],
  ['plain over lines', 'a: first line\n  goes on two\n  three\n', 'two'],
  ['quotes over lines', 'a: "first line\n  goes on\n\n  two three"\n', 'two'],
])('finds a word within %s', (_style, text, word) => {
  const { doc, report } = parseSource(text, 'a.yaml');
  const scalar = childOf(doc, 'a');
  if (scalar?.kind !== 'scalar' || typeof scalar.value !== 'string') throw new Error('not a text');
  const start = scalar.value.indexOf(word);
  const range = rangeWithin(report.source, scalar, start, start + word.length);
  expect(text.slice(range.start, range.end)).toBe(word);
});
