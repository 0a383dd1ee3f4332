import { describe, expect, test } from 'vitest';
import { childOf, entryOf, itemsOf, plain } from '../../src/source/located.ts';
import { positionOf } from '../../src/source/range.ts';
import { parseSource } from '../../src/source/source.ts';
import { LIMITS } from '@sluice-internal/kernel/ir';

const codes = (text: string) =>
  parseSource(text, 'a.yaml').diagnostics.map((each) => `${each.code} ${each.line}:${each.column}`);

describe('parseSource', () => {
  test('reads YAML and JSON to the same data', () => {
    const yaml = parseSource('a: 1\nb: [x, true, null, 1.5]\n', 'a.yaml');
    const json = parseSource('{"a": 1, "b": ["x", true, null, 1.5]}', 'a.json');
    expect(yaml.doc && plain(yaml.doc)).toEqual({ a: 1, b: ['x', true, null, 1.5] });
    expect(json.doc && plain(json.doc)).toEqual({ a: 1, b: ['x', true, null, 1.5] });
  });

  test('knows where every key and value stands, also after a byte order mark and with CRLF', () => {
    const { doc, report } = parseSource('\uFEFFa: 1\r\nlist:\r\n  - x\r\n  - deep: here\r\n', 'a.yaml');
    const deep = entryOf(itemsOf(childOf(doc, 'list'))[1], 'deep');
    expect(deep && positionOf(report.source, deep.keyRange.start)).toEqual({ line: 4, column: 5 });
    expect(deep && positionOf(report.source, deep.value.range.start)).toEqual({ line: 4, column: 11 });
  });

  test('reports every line with a syntax error at once, one finding per line', () => {
    expect(codes('a: b: c\nd: "\\q"\ne: @x\n')).toEqual(['syntax-error 1:4', 'syntax-error 2:5', 'syntax-error 3:4']);
  });

  test.each([
    ['a:\n\t- x\n', 'syntax-error 2:1'],
    ['a: 1\n---\nb: 2\n', 'syntax-error 2:1'],
    ['a: !ruby/object x\n', 'syntax-error 1:4'],
    ['# nothing\n', 'empty-document 1:1'],
    ['', 'empty-document 1:1'],
    ['a: 1\nb: 2\na: 3\n', 'duplicate-key 3:1'],
    ['? [a]\n: 1\n', 'bad-key 1:3'],
    ['__proto__: 1\n', 'bad-key 1:1'],
    ['a: .nan\n', 'not-json 1:4'],
    ['a: 12345678901234567890\n', 'not-json 1:4'],
    ['a: *none\n', 'unknown-alias 1:4'],
    ['a: &x [*x]\n', 'unknown-alias 1:8'],
  ])('%j gives %s', (text, expected) => {
    expect(codes(text)).toEqual([expected]);
  });

  test.each([
    ['a: "b\nc: d\n', '1:4 this `"` opens a text that is never closed'],
    ["a: 'b\nc: d\n", "1:4 this `'` opens a text that is never closed"],
    ['a: [b\nc: d\n', '2:1 a list in brackets has no closing `]` before this place'],
    ['a: { b: 1\nc: d\n', '2:1 a map in braces has no closing `}` before this place'],
    ['- a: 1\n b: 2\n', '2:1 this line is neither a new item of the list nor a key of the item above it'],
    ['a:\n  b: 1\n c: 2\n', '3:1 this line is not indented like the lines before it'],
    ['a: { b: c: d }\n', '1:9 a second `key: value` starts here, in the middle of a value'],
    ['a:\n  b c\n  d: 1\n', '2:3 a `:` is missing after this key, or the key has a line break'],
    ['a: "b" c\n', '1:8 more text follows the end of the value'],
    ['a: { b: 1, , c: 2 }\n', '1:12 `,` is not allowed here'],
    ['a: @b\n', '1:4 a text cannot start with `@`'],
    ['a: "\\q"\n', '1:5 `\\q` is not an escape sequence'],
    ['a: !b c\n', '1:4 the tag `!b` has no meaning here'],
    ['{ // note\n "a": 1 }', '1:3 `//` does not start a comment'],
    ['{ "a": 1, /* note */ "b": 2 }', '1:11 `/*` does not start a comment'],
    ['// note\na: 1\n', '1:1 `//` does not start a comment'],
    ['a: [1] // note\n', '1:8 `//` does not start a comment'],
    ['a: {{b}}\n', '1:5 this key is not text'],
  ])('%j is explained in plain words, with help', (text, expected) => {
    const { diagnostics } = parseSource(text, 'a.yaml');
    expect(diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([expected]);
    expect(diagnostics[0]?.help).toMatch(/\.$/);
  });

  test.each(['//cdn.example.com: 1\n', 'a: //cdn: b\n'])(
    'the help for %j keeps a text that is not a comment',
    (text) => {
      const [{ help } = { help: '' }] = parseSource(text, 'a.yaml').diagnostics;
      expect(help).toBe('Start a comment with `#`. Put a text that starts with `//` in quotes.');
    },
  );

  test.each(['a: //cdn/x\n', '/path: 1\n', 'https://a.example: //b\n', '"//a": 1\n', 'a: |\n  // b: c\n'])(
    '%j has no comment',
    (text) => {
      expect(parseSource(text, 'a.yaml').diagnostics).toEqual([]);
    },
  );

  test('goes on after a duplicate key, and says where the first one is', () => {
    const { doc, diagnostics } = parseSource('a: 1\na: 2\n', 'a.yaml');
    expect(doc && plain(doc)).toEqual({ a: 1 });
    expect(diagnostics[0]?.related?.[0]).toMatchObject({ line: 1, column: 1 });
  });

  test('expands aliases and merges maps; what is written wins over what is merged', () => {
    const { doc } = parseSource(
      'base: &b { x: 1, y: 2 }\nuse: { <<: *b, y: 3 }\nboth: { <<: [*b, { z: 4 }] }\n',
      'a.yaml',
    );
    expect(plain(childOf(doc, 'use')!)).toEqual({ y: 3, x: 1 });
    expect(plain(childOf(doc, 'both')!)).toEqual({ x: 1, y: 2, z: 4 });
  });

  test('refuses aliases that multiply', () => {
    const levels = Array.from(
      { length: 9 },
      (_, i) =>
        `l${i}: &l${i} [${Array(10)
          .fill(i === 0 ? 'x' : `*l${i - 1}`)
          .join(', ')}]`,
    );
    const { doc, diagnostics } = parseSource(levels.join('\n'), 'a.yaml');
    expect(doc).toBeNull();
    expect(diagnostics.map((each) => each.code)).toEqual(['too-many-aliases']);
  });

  test.each([
    ['flow lists', '['.repeat(101) + ']'.repeat(101)],
    ['more flow lists than the stack holds', '['.repeat(50_000)],
    ['block lists', '- '.repeat(20_000)],
    ['maps', Array.from({ length: 200 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
  ])('refuses deep nesting: %s', (_name, text) => {
    const { doc, diagnostics } = parseSource(text, 'a.yaml');
    expect(doc).toBeNull();
    expect(diagnostics[0]?.code).toBe('too-deep');
  });

  test('allows a nesting of a hundred', () => {
    expect(codes('['.repeat(100) + ']'.repeat(100))).toEqual([]);
  });

  test('refuses a text that is too large without reading it', () => {
    expect(codes('x'.repeat(LIMITS.documentText + 1))).toEqual(['too-large 1:1']);
  });
});
