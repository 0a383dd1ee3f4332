/** Phrases on lines, parts of lists, and data inside a text. */
import { describe, expect, test } from 'vitest';
import { compileExpr } from '../../src/expr/evaluate.ts';
import type { Json } from '../../src/expr/json.ts';

const WORDS = ['APPROVED', 'BUGS FOUND', 'BUGS', 'HAND_OFF', '*DONE*'];
const leading = (said: string): Json => compileExpr('leading(said, words)')({ said, words: WORDS });
const alone = (said: string): Json => compileExpr('said.alone(words)')({ said, words: WORDS });

describe('leading', () => {
  test.each([
    ['APPROVED', ['APPROVED']],
    ['all good\napproved\nbye', ['APPROVED']],
    ['  **APPROVED**  ', ['APPROVED']],
    ['_BUGS FOUND_: two', ['BUGS FOUND']],
    ['**BUGS FOUND:** two', ['BUGS FOUND']],
    ['BUGS FOUND, all of them', ['BUGS FOUND']],
    ['BUGS everywhere', ['BUGS']],
    ['APPROVEDLY', []],
    ['APPROVED_LATER', []],
    ['it is APPROVED', []],
    ['## APPROVED', []],
    ['HAND_OFF', ['HAND_OFF']],
    ['*DONE*', ['*DONE*']],
    ['BUGS FOUND\r\nAPPROVED', ['APPROVED', 'BUGS FOUND']],
    ['APPROVED\nAPPROVED', ['APPROVED']],
    ['', []],
  ])('%j', (said, expected) => {
    expect(leading(said)).toEqual(expected);
  });
});

describe('nearly', () => {
  const nearly = (said: string): Json => compileExpr('nearly(said, words)')({ said, words: WORDS });
  test.each([
    ['## APPROVED', [['APPROVED', '## APPROVED']]],
    ['I think it is approved now', [['APPROVED', 'I think it is approved now']]],
    ['`HAND OFF`', [['HAND_OFF', '`HAND OFF`']]],
    ['APROVED', [['APPROVED', 'APROVED']]],
    ['BUGS FUOND', [['BUGS', 'BUGS FUOND']]],
    ['handoff(route_keyword: "BUGS FOUND")', [['BUGS FOUND', 'handoff(route_keyword: "BUGS FOUND")']]],
    ['disapproved', []],
    ['improved', []],
    ['all is well', []],
    ['', []],
    [
      '> BUGS\n> BUGS\n> BUGS\n> BUGS',
      [
        ['BUGS', '> BUGS'],
        ['BUGS', '> BUGS'],
        ['BUGS', '> BUGS'],
      ],
    ],
  ])('%j', (said, expected) => {
    expect(nearly(said)).toEqual(expected);
  });
});

describe('alone', () => {
  test.each([
    ['APPROVED', ['APPROVED']],
    ['**Bugs Found**', ['BUGS FOUND']],
    ['APPROVED: see notes', []],
    ['APPROVED.', []],
    ['HAND_OFF', ['HAND_OFF']],
  ])('%j', (said, expected) => {
    expect(alone(said)).toEqual(expected);
  });
});

test.each([
  ['leading(missing, ["A"])', []],
  ['leading("A", missing)', []],
  ['lastLine("a\\n b \\n\\n")', 'b'],
  ['lastLine("\\n")', null],
  ['lastLine(missing)', null],
  ['upTo(l, "name", "b")', [{ name: 'a' }, { name: 'b' }]],
  ['upTo(l, "name", "z")', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]],
  ['upTo(missing, "name", "z")', []],
  ['l.tail(1)', [{ name: 'c' }]],
  ['tail(l, 9)', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]],
  ['tail(l, 0)', []],
  ['tail(missing, 2)', []],
  ['majority(["x", "y", "x"])', 'x'],
  ['majority(["x", "y"])', null],
  ['majority([])', null],
  ['distinct(["b", "a", "b", 1, 1.0])', ['b', 'a', 1]],
  ['distinct(missing)', []],
  ['majority(["y"])', 'y'],
  ['records([{"a": 1}, {"b": [{"a": 2}]}]).map(r, r.a)', [1, null, 2]],
  ['records("[{\\"a\\": 3}]").map(r, r.a)', [3]],
  ['records({"t": "{\\"a\\": 4}"}).exists(r, r.a == 4)', true],
  ['records("{ no }")', []],
  ['records(missing)', []],
  ['jsonIn("{\\"a\\": 1}").a', 1],
  ['jsonIn("so:\\n```json\\n{\\"a\\": 2}\\n```\\nend {").a', 2],
  ['jsonIn("well {\\"a\\": {\\"b\\": 3}} indeed").a.b', 3],
  ['jsonIn("[1]")', null],
  ['jsonIn("{ no }")', null],
  ['jsonIn("[{\\"a\\": 4}]").a', 4],
  ['jsonIn(missing)', null],
  ['jsonIn("{\\"a\\": 9007199254740993}").a == 9007199254740992.0', true],
  ['exactIn("{\\"a\\": 9007199254740993}").a', '9007199254740993'],
  ['exactIn("{\\"a\\": -12345678901234567890}").a', '-12345678901234567890'],
  ['exactIn("so {\\"a\\": [0.12345678901234567890]}").a[0]', '0.12345678901234567890'],
  ['exactIn("{\\"a\\": 1.0}").a', 1],
  ['exactIn("{\\"a\\": 9007199254740991}").a', 9007199254740991],
  ['exactIn("{\\"a\\": 1e3}").a', 1000],
  ['exactIn("{\\"a\\": \\"9007199254740993\\"}").a', '9007199254740993'],
  ['exactIn("[1]")', null],
  ['exactIn(missing)', null],
] as const)('%s', (source, expected) => {
  expect(compileExpr(source)({ l: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })).toEqual(expected);
});

test('a long line of blanks takes no longer than its length', () => {
  expect(leading(`${' *'.repeat(200_000)}x`)).toEqual([]);
});
