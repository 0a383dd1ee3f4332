/** What the conditions, templates and arguments of a flow are, judged by what is known of their values. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const found = (source: string) =>
  compileText(source)
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ code, line, column, message, help }) => ({ code, at: `${line}:${column}`, message, help }));

describe('and, or, not', () => {
  const route = (when: string): string => `agents: [{ id: a }]
flow:
  id: f
  entry: s
  nodes:
    - id: s
      type: agent
      agent: a
      routes:
        - { to: end, when: "${when}" }`;

  test.each([
    'k == 1 and j == 2',
    'k == 1 or j == 2',
    'not k',
    'not (k)',
    'k and not j',
    "k == 'a and b' and j",
    "k == 'this and that' || k == 'not'",
    'k.and == 1 && or.not == 2',
  ])('%s is accepted', (when) => {
    expect(found(route(when))).toEqual([]);
  });

  test('any other word that is not expected is named whole', () => {
    expect(found(route('k not in [1]'))).toMatchObject([{ message: 'unexpected `not`', at: '10:31' }]);
  });
});

describe('the output of a parallel node', () => {
  const reads = (text: string, branches = '{ to: left }, { to: right }'): string => `agents: [{ id: a }]
flow:
  id: f
  entry: s
  nodes:
    - { id: s, type: parallel, branches: [${branches}], routes: [{ to: z }] }
    - { id: left, type: agent, agent: a }
    - { id: right, type: agent, agent: a }
    - id: z
      type: terminal
      output: '${text}'`;

  test('has the heads of its branches and nothing else', () => {
    expect(found(reads('{{s.output.left}} {{s.output.right}} {{s.output}}'))).toEqual([]);
    expect(found(reads('{{s.output.left.any.field}}'))).toEqual([]);
    expect(found(reads('{{s.output.lefft}} and {{s.output.zzz}}'))).toMatchObject([
      { code: 'unknown-name', at: '11:18', help: 'Did you mean `left`?' },
      { code: 'unknown-name', at: '11:41', help: 'It has `left`, `right`.' },
    ]);
  });

  test('has each branch of one head under a name of its own', () => {
    const branches = '{ to: left }, { to: left }, { to: right }';
    expect(found(reads('{{s.output["left#2"]}}', branches))).toEqual([]);
    expect(found(reads('{{s.output["left#3"]}}', branches))).toHaveLength(1);
  });

  test('is not held against a branch that cannot be read', () => {
    expect(
      found(reads('{{s.output.right}}', '{ to: left }, { to: rihgt }, { to: right, when: "1 == 1" }')),
    ).toMatchObject([{ code: 'unknown-target' }]);
    expect(found(reads('{{s.output.right}}', '{ to: left }, { to: rihgt }')).map(({ code }) => code)).toEqual([
      'unknown-target',
    ]);
  });
});

describe('the arguments of a tool', () => {
  const call = (params: string): string => `agents:
  - id: b
    output: { type: object, properties: { n: { type: integer }, kind: { type: string }, list: { type: array } } }
tools:
  t.x:
    input:
      type: object
      properties:
        q: { type: string }
        n: { type: integer, minimum: 1 }
        e: { enum: [x, y] }
        l: { type: array, items: { type: number } }
        o: { type: object, properties: { a: { type: boolean } }, required: [a], additionalProperties: false }
        r: { $ref: "#/$defs/name" }
        u: { type: [string, "null"] }
        c: { anyOf: [{ type: string }, { type: number, minimum: 3 }] }
      required: [q]
      additionalProperties: false
      $defs: { name: { type: string, pattern: "^a" } }
flow:
  id: f
  entry: s
  nodes:
    - { id: s, type: agent, agent: b, routes: [{ to: t }] }
    - id: t
      type: tool
      tool: t.x
      params:
        ${params}`;
  const codes = (params: string) => found(call(params)).map(({ code, at }) => [code, at]);

  test.each([
    'q: "3"',
    '{ q: x, n: 3, e: y, l: [1, 2.5], o: { a: true }, r: ab, u: null, c: 4 }',
    '{ q: "{{s.output.kind}}", n: "{{s.output.n}}", l: "{{s.output.list}}" }',
    '{ q: "n is {{s.output.n}}", l: [1, "{{s.output.n}}"], o: { a: "{{event.payload.a}}" }, e: "{{s.output.kind}}" }',
    '{ q: "{{event.payload.q}}", n: "{{event.payload.n}}", c: "{{s.output.kind}}" }',
    '{ q: "{{text(s.output.n)}}" }',
  ])('fit: %s', (params) => {
    expect(found(call(params))).toEqual([]);
  });

  test.each([
    ['q: 3', [['type-mismatch', '29:12']]],
    ['q: null', [['type-mismatch', '29:12']]],
    ['{ q: x, n: "{{s.output.kind}}" }', [['type-mismatch', '29:20']]],
    ['{ q: "{{s.output.n}}" }', [['type-mismatch', '29:14']]],
    ['{ q: x, n: "no {{s.output.n}}" }', [['type-mismatch', '29:20']]],
    ['{ q: x, n: 0 }', [['bad-value', '29:20']]],
    ['{ q: x, n: 1.5 }', [['type-mismatch', '29:20']]],
    ['{ q: x, e: z }', [['bad-value', '29:20']]],
    [
      '{ q: x, l: [1, b, "{{s.output.kind}}"] }',
      [
        ['type-mismatch', '29:24'],
        ['type-mismatch', '29:27'],
      ],
    ],
    ['{ q: x, l: {} }', [['type-mismatch', '29:20']]],
    ['{ q: x, o: { a: 1 } }', [['type-mismatch', '29:25']]],
    ['{ q: x, o: {} }', [['missing-field', '29:20']]],
    ['{ q: x, o: { a: true, b: 2 } }', [['unknown-key', '29:34']]],
    ['{ q: x, o: ["{{s.output.n}}"] }', [['type-mismatch', '29:20']]],
    ['{ q: x, r: b }', [['bad-value', '29:20']]],
    ['{ q: x, c: 1 }', [['bad-value', '29:20']]],
    [
      '{ q: 3, u: 4, mmmmm: 1 }',
      [
        ['type-mismatch', '29:14'],
        ['type-mismatch', '29:20'],
        ['unknown-key', '29:30'],
      ],
    ],
  ])('do not fit: %s', (params, expected) => {
    expect(codes(params)).toEqual(expected);
  });

  test('are told in the words of the notation', () => {
    expect(found(call('q: 3'))).toMatchObject([
      { message: '`q` of the tool `t.x` must be text, but is 3', help: 'Put it in quotes: "3".' },
    ]);
    expect(found(call('{ q: "{{s.output.n}}" }'))).toMatchObject([
      { message: '`q` of the tool `t.x` must be text, but `{{s.output.n}}` is a number' },
    ]);
  });
});
