/**
 * Random CEL expressions that type-check. Accesses are generated so that they hit: what happens to a missing field is a
 * deliberate difference, tested elsewhere. Left out is where the oracle departs from the specification: `replace` of
 * the empty text, positions in text with surrogates, the order of those against U+E000 and above, and repeated negation of
 * the smallest int.
 */
import fc from 'fast-check';
import { quote } from '@sluice-internal/kernel/expr';

type Source = fc.Arbitrary<string>;

const TEXT = fc.string({
  unit: fc.constantFrom('a', 'B', 'l', ' ', 'é', '中', '🐱', '𐀀', '"', "'", '\\', '\n', '%'),
  maxLength: 6,
});
const ORDER = fc.constantFrom('<', '<=', '>', '>=', '==', '!=');

const trees = fc.letrec<{
  int: string;
  double: string;
  string: string;
  bool: string;
  ints: string;
  strings: string;
  map: string;
}>((tie) => {
  const [int, double, string, bool, ints, strings, map] = [
    tie('int'),
    tie('double'),
    tie('string'),
    tie('bool'),
    tie('ints'),
    tie('strings'),
    tie('map'),
  ];
  const infix = (a: Source, op: Source, b: Source): Source => fc.tuple(a, op, b).map(([x, o, y]) => `(${x} ${o} ${y})`);
  const choice = (of: Source): Source => fc.tuple(bool, of, of).map(([c, x, y]) => `(${c} ? ${x} : ${y})`);
  const call = (name: string, ...args: Source[]): Source =>
    fc.tuple(...args).map((given) => `${name}(${given.join(', ')})`);
  const method = (on: Source, name: string, ...args: Source[]): Source =>
    fc.tuple(on, fc.tuple(...args)).map(([x, given]) => `${x}.${name}(${given.join(', ')})`);
  // The loop variable shadows the outer variable of its type, so that bodies use it.
  const overInts = (name: string, body: Source): Source =>
    fc.tuple(ints, body).map(([x, inner]) => `${x}.${name}(i, ${inner})`);
  const overStrings = (name: string, body: Source): Source =>
    fc.tuple(strings, body).map(([x, inner]) => `${x}.${name}(s, ${inner})`);
  const grow = (...of: Source[]): Source =>
    fc.oneof({ depthSize: 'small', withCrossShrink: true }, ...(of as [Source, ...Source[]]));
  return {
    int: grow(
      fc.oneof(
        fc.integer().map(String),
        fc.constantFrom('i', 'j', '0', '1', '9223372036854775807', '-9223372036854775808'),
      ),
      infix(int, fc.constantFrom('+', '-', '*', '/', '%'), int),
      call('size', fc.oneof(string, ints, strings, map)),
      call('int', fc.oneof(double, int)),
      fc.tuple(fc.constantFrom(0, 1, 2)).map(([at]) => `li[${at}]`),
      fc.constantFrom('m.a', 'm["b-c"]'),
      choice(int),
      fc.constantFrom('-i', '-j', '-m.a', '-size(s)'),
    ),
    double: grow(
      fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }).map(doubleLiteral), fc.constant('d')),
      infix(double, fc.constantFrom('+', '-', '*', '/'), double),
      call('double', int),
      choice(double),
    ),
    string: grow(
      fc.oneof(TEXT.map(quote), fc.constantFrom('s', 't', '""')),
      infix(string, fc.constant('+'), string),
      call('string', fc.oneof(int, bool, string)),
      method(string, 'lowerAscii'),
      method(string, 'upperAscii'),
      method(string, 'trim'),
      method(string, 'replace', fc.constantFrom('"l"', '"a"', '"🐱"'), string),
      method(strings, 'join', string),
      fc.constantFrom(0, 1, 2).map((at) => `ls[${at}]`),
      choice(string),
    ),
    bool: grow(
      fc.constantFrom('true', 'false', 'b', 'has(m.a)', 'has(m.zz)'),
      infix(bool, fc.constantFrom('&&', '||', '==', '!='), bool),
      infix(int, ORDER, int),
      infix(double, ORDER, double),
      infix(string, ORDER, string),
      infix(call('dyn', int), ORDER, double),
      infix(
        fc.oneof(ints, strings),
        fc.constantFrom('==', '!='),
        fc.oneof(ints, strings).map((x) => `dyn(${x})`),
      ),
      infix(map, fc.constantFrom('==', '!='), map),
      infix(int, fc.constant('in'), ints),
      infix(string, fc.constant('in'), fc.oneof(strings, map)),
      method(string, 'contains', string),
      method(string, 'startsWith', string),
      method(string, 'endsWith', string),
      infix(method(string, 'indexOf', string), fc.constant('>='), fc.constant('0')),
      infix(method(string, 'lastIndexOf', string), fc.constant('<'), fc.constant('0')),
      overInts('all', bool),
      overStrings('exists', bool),
      overInts('exists_one', bool),
      bool.map((x) => `!(${x})`),
      choice(bool),
    ),
    ints: grow(
      fc.oneof(
        fc.array(fc.integer({ min: -5, max: 5 }).map(String), { maxLength: 4 }).map((of) => `[${of.join(', ')}]`),
        fc.constant('li'),
      ),
      infix(ints, fc.constant('+'), ints),
      overInts('map', int),
      overInts('filter', bool),
      choice(ints),
    ),
    strings: grow(
      fc.constantFrom('ls', '["x", "y"]', '[s, t]'),
      infix(strings, fc.constant('+'), strings),
      method(string, 'split', fc.constantFrom('" "', '"l"', '"ab"')),
      overStrings('map', string),
      choice(strings),
    ),
    map: grow(
      fc.constantFrom('m', '{}', '{"a": 1}', '{"a": 1, "b-c": 2}'),
      fc.tuple(int, string).map(([x, y]) => `{"x": ${x}, "y": ${y}}`),
      fc.tuple(bool, double).map(([x, y]) => `{1: ${x}, true: ${y}}`),
      choice(map),
    ),
  };
});

export const expressions: fc.Arbitrary<string> = fc.oneof(
  trees.int,
  trees.double,
  trees.string,
  trees.bool,
  trees.ints,
  trees.strings,
  trees.map,
);

function doubleLiteral(value: number): string {
  const text = String(Object.is(value, -0) ? 0 : value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
