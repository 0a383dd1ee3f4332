/** Slips in places that take almost anything: each is told with the name that was probably meant. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const told = (source: string): readonly string[] =>
  compileText(source).diagnostics.map(
    ({ severity, code, line, column, help }) => `${severity} ${code} ${line}:${column} ${help ?? ''}`,
  );
const flow = 'flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }';

describe('the provider of a model', () => {
  const model = (entry: string): string =>
    `models: { m: { ${entry}, model: x } }\nagents: [{ id: bot, model: m }]\n${flow}`;

  test('that is misspelt is a warning', () => {
    expect(told(model('provider: opnai'))).toEqual(['warning unknown-provider 1:26 Did you mean `openai`?']);
    expect(told(`agents: [{ id: bot, model: antropic/x }]\n${flow}`)).toEqual([
      'warning unknown-provider 1:28 Did you mean `anthropic`?',
    ]);
  });

  test.each(['provider: openai', 'provider: opnai, base_url: "http://gpu.internal"', 'provider: in-house'])(
    'may be %s',
    (entry) => {
      expect(told(model(entry))).toEqual([]);
    },
  );
});

describe('what a schema requires', () => {
  const schema = (rest: string): string => `agents:
  - { id: bot, output: { type: object, ${rest} } }
${flow}`;

  test('is among its properties', () => {
    expect(told(schema('properties: { order: { type: string } }, required: [ordr]'))).toEqual([
      'warning bad-schema 2:92 Did you mean `order`?',
    ]);
    expect(told(schema('properties: { a: { type: string } }, required: [zzzz]'))).toEqual([
      'warning bad-schema 2:88 Describe it under `properties`, or remove it.',
    ]);
  });

  test('of a tool, and further inside', () => {
    const input = '{ type: object, properties: { o: { type: object, properties: { sku: true }, required: [sk] } } }';
    expect(
      told(
        `tools: { t.x: { effect: read, input: ${input} } }\nbudgets: { tool_calls: 3 }\nagents: [{ id: bot, tools: [t.x] }]\n${flow}`,
      ),
    ).toEqual(['warning bad-schema 1:125 Did you mean `sku`?']);
  });

  test.each([
    'properties: { a: true }, required: [a]',
    'required: [a]',
    'properties: { a: true }, required: [other], additionalProperties: true',
    'properties: { a: true }, required: [other], allOf: [{ properties: { other: true } }]',
    'properties: { a: true }, anyOf: [{ properties: { b: true }, required: [a, b] }]',
  ])('may be %s', (rest) => {
    expect(told(schema(rest))).toEqual([]);
  });
});

describe('the evidence store of a team', () => {
  const team = (store: string): string =>
    `Agents: [{ Name: A, Instructions: x }]\nSelection: { Type: sequential }\nEvidenceStore: ${store}`;
  const errors = (source: string): readonly string[] => told(source).filter((each) => each.startsWith('error'));

  test('has no other keys than its own', () => {
    expect(errors(team('{ Pth: a.json, Foo: 1 }'))).toEqual([
      'error unknown-key 3:18 Did you mean `Path`?',
      'error unknown-key 3:31 Known keys: `Path`.',
    ]);
  });

  test('may have a path', () => {
    expect(errors(team('{ Path: a.json }'))).toEqual([]);
    expect(errors(team('{}'))).toEqual([]);
  });
});
