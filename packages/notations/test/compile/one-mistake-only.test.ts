/** One mistake gives one diagnostic, warnings included: nothing that merely follows from it is told as well. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const told = (source: string): readonly string[] =>
  compileText(source).diagnostics.map(({ code, line, column }) => `${code} ${line}:${column}`);

describe('a flow', () => {
  const tool = (params: string): string => `tools:
  t.x: { effect: read, input: { type: object, properties: { a: { type: string }, b: { type: string } }, required: [a, b] } }
flow: { id: f, entry: s, nodes: [{ id: s, type: tool, tool: t.x, ${params} }] }`;
  const nodes = (...lines: readonly string[]): string => `agents: [{ id: bot }]
flow:
  id: f
  entry: a
  nodes:
${lines.map((line) => `    - ${line}`).join('\n')}`;
  const reader = '{ id: b, type: agent, agent: bot, input: { m: "{{a.output}} {{a.output.x}}" }, routes: [{ to: c }] }';
  const gate = '{ id: c, type: terminal, output: "{{approvals.a}}", routes: [] }';
  const ended = (entry: string, to: string): string => `agents: [{ id: bot }]
flow: { id: f, entry: ${entry}, nodes: [{ id: end, type: agent, agent: bot, routes: [{ to: ${to} }] }] }`;

  test.each([
    ['misspelt params', tool('parms: { a: x, b: y }'), 'unknown-key 3:66'],
    ['params of a wrong type', tool('params: [a, b]'), 'wrong-type 3:74'],
    ['a wait of a negative time', nodes('{ id: a, type: wait, for: -3 }'), 'bad-value 6:33'],
    [
      'a map over a text',
      nodes('{ id: a, type: map, over: abc, do: b }', '{ id: b, type: set, values: { x: 1 } }'),
      'wrong-type 6:33',
    ],
    [
      'a node without an id',
      nodes('{ type: agent, agent: bot, routes: [{ to: b }] }', reader, gate),
      'missing-field 6:9',
    ],
    [
      'a node whose id is empty',
      nodes('{ id: "", type: agent, agent: bot, routes: [{ to: b }] }', reader, gate),
      'bad-value 6:13',
    ],
    [
      'a node whose id is no text',
      nodes('{ id: 3, type: agent, agent: bot, routes: [{ to: b }] }', reader, gate),
      'wrong-type 6:13',
    ],
    ['a node that is no map', nodes('a', reader, gate), 'wrong-type 6:7'],
    [
      'a node further on that is no map',
      nodes(
        '{ id: a, type: agent, agent: bot, routes: [{ to: x }] }',
        'x',
        reader,
        '{ id: c, type: agent, agent: bot }',
      ),
      'wrong-type 7:7',
    ],
    ['a node that is called end', ended('end', 'end'), 'reserved-id 2:42'],
    ['a misspelt param', tool('params: { a: x, bb: y }'), 'missing-field 3:82'],
    [
      'a misspelt name in what a tool requires',
      tool('params: { a: x, b: y }').replace('required: [a, b]', 'required: [a, bb]'),
      'bad-schema 2:119',
    ],
    [
      'routes that are no list',
      nodes('{ id: a, type: agent, agent: bot, routes: { to: b } }', reader, '{ id: c, type: agent, agent: bot }'),
      'wrong-type 6:51',
    ],
    [
      'the misspelt provider of a model without a price',
      `models: { m: { provider: opnai, model: x } }
budgets: { cost_usd: 1 }
agents: [{ id: bot, model: m }]
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }`,
      'unknown-provider 1:26',
    ],
    [
      'a node that is not indented like the others',
      nodes('{ id: b, type: terminal }').replace(
        'nodes:\n',
        'nodes:\n    - id: a\n      type: set\n   - id: c\n     type: set\n',
      ),
      'syntax-error 8:1',
    ],
  ])('%s', (_, source, expected) => {
    expect(told(source)).toEqual([expected]);
  });

  test('hides nothing where every id can be read', () => {
    expect(told(tool('params: { a: x }'))).toEqual(['missing-field 3:76']);
    expect(
      told(
        nodes('{ id: z, type: agent, agent: bot, routes: [{ to: b }] }', reader, '{ id: c, type: agent, agent: bot }'),
      ),
    ).toEqual(['unknown-entry 4:10', 'unknown-name 7:56', 'unknown-name 7:69']);
    expect(
      told(`agents: [{ id: bot }]\nflow: { id: f, entry: end, nodes: [{ id: a, type: agent, agent: bot }] }`),
    ).toEqual(['unknown-entry 2:23']);
  });
});

describe('a workflow', () => {
  const collected = (mode: string): string => `steps:
  - { name: a, agent_name: x, mode: fan_out }
  - { name: b, agent_name: y, mode: fan_out }
  - { name: g, ${mode} }`;
  const named = (first: string): string => `agents: [{ id: w1, ${first} }, { id: w2, name: writer }]
steps: [{ agent_name: writer }, { agent_id: w2 }]`;

  test.each([
    ['a misspelt mode', collected('moed: collect'), 'unknown-key 4:16'],
    ['a misspelt word for a mode', collected('mode: colect'), 'bad-value 4:22'],
    ['a loop', 'steps: [{ agent_name: x, moed: loop, until: OK, max_iterations: 3 }]', 'unknown-key 1:26'],
    [
      'a conditional step',
      'steps: [{ agent_name: x }, { agent_name: y, mode: condtional, condition: z }]',
      'bad-value 1:51',
    ],
    ['a misspelt error mode', 'steps: [{ agent_name: x, eror_mode: retry, max_retries: 2 }]', 'unknown-key 1:26'],
    [
      'a misspelt word for an error mode',
      'steps: [{ agent_name: x, error_mode: rety, max_retries: 2 }]',
      'bad-value 1:38',
    ],
    [
      'a variable that is no text',
      'steps: [{ agent_name: x, output_var: [t] }, { agent_name: y, prompt: "{{t}}" }]',
      'wrong-type 1:38',
    ],
    ['an agent whose name is misspelt', named('nme: writer'), 'unknown-key 1:20'],
    ['an agent whose name is no text', named('name: 3'), 'wrong-type 1:26'],
    [
      'an agent whose id is misspelt beside its name',
      'agents: [{ idd: w1, name: writer }]\nsteps: [{ agent_id: w1 }]',
      'unknown-key 1:12',
    ],
  ])('%s', (_, source, expected) => {
    expect(told(source)).toEqual([expected]);
  });

  test('hides nothing where the mode can be read', () => {
    expect(told(collected('mode: fan_out'))).toEqual(['missing-agent 4:7']);
    expect(told('steps: [{ agent_name: x, until: OK }]')).toEqual(['unused-field 1:26']);
    expect(told(named('name: other'))).toEqual(['same-agent 2:35']);
  });
});

describe('a loop', () => {
  const loop = (fields: string): string => `agents: [{ id: p }, { id: e }]\nloop: { goal: x, ${fields} }`;

  test.each([
    ['planer: p, executor: e', 'unknown-key 2:18'],
    ['planner: 3, executor: e', 'wrong-type 2:27'],
    ['planner: null, executor: e', 'wrong-type 2:27'],
    ['planner: "", executor: e', 'bad-value 2:27'],
    ['planner: p, exector: e', 'unknown-key 2:30'],
    ['planner: p, executor: [e]', 'wrong-type 2:40'],
    ['planner: p, agnt: e', 'unknown-key 2:30'],
    ['agent: null', 'wrong-type 2:25'],
    ['agnet: e', 'unknown-key 2:18'],
  ])('%s', (fields, expected) => {
    expect(told(loop(fields))).toEqual([expected]);
  });

  test('does not hide a really missing agent', () => {
    expect(told(loop('planner: p'))).toEqual(['missing-agent 2:18']);
    expect(told(loop('executor: e'))).toEqual(['missing-agent 2:18']);
  });
});

describe('people and limits', () => {
  const flow = `flow:
  id: f
  entry: a
  nodes: [{ id: a, type: approval, message: Go?, approvers: { roles: [boss], quorum: 2 } }]`;
  const people = 'people: [{ id: ann, roles: [boss] }, { id: ben, roles: [boss] }]';

  test.each([
    ['misspelt people', `${people.replace('people', 'peolpe')}\n${flow}`, 'unknown-key 1:1'],
    ['misspelt roles of a person', `${people.replace('roles', 'roels')}\n${flow}`, 'unknown-key 1:21'],
    ['a misspelt limit of `retain`', `retain: { rnus: 5 }\n${people}\n${flow}`, 'unknown-key 1:11'],
  ])('%s', (_, source, expected) => {
    expect(told(source)).toEqual([expected]);
  });
});

describe('a schema', () => {
  const read = (schema: string): string => `agents:
  - { id: bot, output: { type: object, ${schema} } }
flow:
  id: f
  entry: a
  nodes:
    - { id: a, type: agent, agent: bot, routes: [{ when: "kind == 'x'", to: b }, { to: end }] }
    - { id: b, type: terminal, output: "{{a.output.kind}}" }`;

  test.each([
    ['a property that is no schema', 'properties: { kind: 5, other: { type: string } }', 'bad-schema 2:60'],
    ['a property of an unknown type', 'properties: { kind: { type: strng } }', 'bad-schema 2:68'],
    ['properties that are no map', 'properties: [kind]', 'bad-schema 2:52'],
    ['faulty additional properties', 'additionalProperties: 3, properties: { o: true }', 'bad-schema 2:62'],
    ['misspelt additional properties', 'additionalProperites: true, properties: { o: true }', 'bad-schema 2:40'],
    ['a faulty choice', 'anyOf: [3], properties: { o: true }', 'bad-schema 2:48'],
  ])('%s', (_, schema, expected) => {
    expect(told(read(schema))).toEqual([expected]);
  });

  test('a sound one still says which fields there are', () => {
    expect(told(read('properties: { kin: { type: string } }')).length).toBeGreaterThan(0);
  });
});

describe('the older place of a flow', () => {
  const flow = '{ id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }';
  const first = (source: string): unknown => {
    const [only, ...others] = compileText(source).diagnostics;
    expect(others).toEqual([]);
    return [only?.code, only?.line, only?.column, only?.help];
  };

  test('misspelt', () => {
    const expected = ['unknown-notation', 2, 1, 'Did you mean `runtime`?'];
    expect(first(`agents: [{ id: bot }]\nruntme: { flow: ${flow} }`)).toEqual(expected);
  });

  test('with a misspelt flow in it', () => {
    const expected = ['unknown-notation', 2, 12, 'Did you mean `runtime.flow`?'];
    expect(first(`agents: [{ id: bot }]\nruntime: { flw: ${flow} }`)).toEqual(expected);
  });
});

describe('a key that no object can have', () => {
  const flow = 'flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }';

  test.each([
    [
      'a tool',
      `tools: { __proto__: { effect: read } }\nagents: [{ id: bot, tools: [__proto__] }]\n${flow}`,
      'bad-key 1:10',
    ],
    [
      'a model',
      `models: { __proto__: { provider: openai, model: x } }\nagents: [{ id: bot, model: __proto__ }]\n${flow}`,
      'bad-key 1:11',
    ],
    ['at the top', `__proto__: { a: 1 }\nagents: [{ id: bot }]\n${flow}`, 'bad-key 1:1'],
    ['in a node', `agents: [{ id: bot }]\n${flow.replace('id: a,', '__proto__: 1, id: a,')}`, 'bad-key 2:36'],
  ])('%s', (_, source, expected) => {
    expect(told(source)).toEqual([expected]);
  });

  test('is unknown where nothing declares it', () => {
    expect(told(`tools: {}\nagents: [{ id: bot, tools: [__proto__] }]\n${flow}`)).toEqual(['unknown-tool 2:29']);
  });
});
