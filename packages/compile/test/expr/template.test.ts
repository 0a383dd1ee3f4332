/**
 * Templates: parsing, single-pass expansion, and structures as one expression.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quote } from '@sluice-internal/kernel/expr';
import { parseTemplate, templateToExpr } from '../../src/expressions/template.ts';
import { rewriteNames } from '../../src/expressions/rewrite.ts';
import { compileExpr } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const SCOPE = { name: 'Ada', n: 3, o: { a: [1, 'x'] }, list: [1, 2], yes: true, evil: '{{name}}', quote: '"}}"' };

const expand = (text: string, scope: { [name: string]: Json } = SCOPE): Json =>
  compileExpr(templateToExpr(text))(scope);
const shape = (text: string): string[] =>
  parseTemplate(text).parts.map((part) => ('expr' in part ? `<${part.expr}>` : part.text));

describe('parsing', () => {
  test.each([
    ['plain', ['plain']],
    ['', ['']],
    ['{{a}}', ['<a>']],
    ['Hi {{ name }}!', ['Hi ', '<name>', '!']],
    ['{{a}}{{b}}', ['<a>', '<b>']],
    ['{{ {"a": {"b": 1}}.a }}', ['<{"a": {"b": 1}}.a>']],
    ['{{ "}}" }} x', ['<"}}">', ' x']],
    ["{{ it's }} x", ["<it's>", ' x']],
    ['a } b }} c', ['a } b }} c']],
    ['{"json": {"a": 1}}', ['{"json": {"a": 1}}']],
    ['x {{ open', ['x {{ open']],
    ['{{a}} {{', ['<a>', ' {{']],
    ['{{ }}', ['']],
  ])('%j', (text, parts) => {
    expect(shape(text)).toEqual(parts);
  });

  test('places point into the text', () => {
    const text = 'Hi {{  name }}, {{ n }}';
    for (const part of parseTemplate(text).parts)
      expect(text.slice(part.start, part.end)).toBe('expr' in part ? part.expr : part.text);
  });

  test('an unclosed template is text, with a warning', () => {
    expect(parseTemplate('x {{ open').problems).toMatchObject([{ severity: 'warning', start: 2, end: 4 }]);
    expect(expand('x {{ open')).toBe('x {{ open');
  });

  test('an empty template is an error', () => {
    expect(parseTemplate('a {{ }} b').problems).toMatchObject([{ severity: 'error', start: 2, end: 7 }]);
  });
});

describe('expansion', () => {
  test.each<[string, Json]>([
    ['Hi {{name}}, {{ n }} of {{n + 1}}', 'Hi Ada, 3 of 4'],
    ['{{o}}', { a: [1, 'x'] }],
    ['{{n}}', 3],
    ['{{yes}}', true],
    ['{{missing}}', null],
    ['[{{missing}}]', '[]'],
    ['{{o}} ', '{"a":[1,"x"]} '],
    ['{{list}}!', '[1,2]!'],
    ['{{ n > 2 ? "many" : "few" }} things', 'many things'],
    ['{{evil}}', '{{name}}'],
    ['<{{evil}}>', '<{{name}}>'],
    ['{{ "{{" }}name}}', '{{name}}'],
  ])('%s', (text, expected) => {
    expect(expand(text)).toEqual(expected);
  });

  test(`a value is never expanded again, seed ${seed}`, () => {
    const piece = fc.constantFrom(
      '{{x}}',
      '{{y}}',
      '{{',
      '}}',
      '{',
      '}',
      '"',
      "'",
      '\\',
      '\n',
      '//',
      ' text(',
      ')',
      'é🐱',
    );
    const hostile = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(hostile, hostile, hostile, (x, y, around) => {
        // Only the surroundings are made harmless: they are the author's, the values are not.
        const plain = around.replaceAll('{', '(');
        const text = `${plain}{{x}}-{{y}}${plain}`;
        const expected = `${plain}${x}-${y}${plain}`;
        expect(expand(text, { x, y })).toBe(expected);
      }),
      { seed },
    );
  });
});

describe('structures', () => {
  test('templates anywhere inside are expanded, and types are kept', () => {
    const value = {
      to: '{{name}}',
      text: 'n = {{n}}',
      raw: '{{o}}',
      list: [1, -2.5, true, null, '{{list}}', 'x'],
      'key-{{n}}': { deep: '{{yes}}' },
    };
    expect(compileExpr(templateToExpr(value))(SCOPE)).toEqual({
      to: 'Ada',
      text: 'n = 3',
      raw: { a: [1, 'x'] },
      list: [1, -2.5, true, null, [1, 2], 'x'],
      'key-{{n}}': { deep: true },
    });
  });

  test(`a structure without templates is itself, seed ${seed}`, () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const json = JSON.parse(JSON.stringify(value).replaceAll('{{', '{ {')) as Json;
        expect(compileExpr(templateToExpr(json))({})).toEqual(json);
      }),
      { seed },
    );
  });

  test.each([0, -0, 1e21, -1e21, 2 ** 53, 2 ** 53 + 2, 1.5e-7, 5e-324, 1.7976931348623157e308, 123456789012345680000])(
    'the number %s',
    (value) => {
      expect(compileExpr(templateToExpr(value))({})).toBe(value);
    },
  );

  test('each expression inside can be rewritten', () => {
    const expr = templateToExpr({ a: '{{category}}', b: ['x {{category.sub}}'] }, (each) =>
      rewriteNames(each, () => 'last.category'),
    );
    expect(expr).toBe('{"a": last.category, "b": [text("x ", last.category.sub)]}');
  });

  test('an expression cannot reach out of its place', () => {
    expect(() => templateToExpr('{{ a) + (b }}')).toThrow('unexpected');
    expect(() => templateToExpr({ k: '{{ a, "x": b }}' })).toThrow('unexpected');
    expect(compileExpr(templateToExpr('<{{ n // not the end }}>'))(SCOPE)).toBe('<3>');
  });
});

test('string literals survive what JSON escapes differently', () => {
  for (const text of ['\u0000\u001f\u007f', '\ud800 alone', '\u2028\u2029', 'a"b\\c', '\t\r\n'])
    expect(compileExpr(quote(text))({})).toBe(text);
});
