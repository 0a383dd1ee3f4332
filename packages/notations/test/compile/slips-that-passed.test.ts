/** Slips in places that take almost anything: each is told with the name that was probably meant. */
import { describe, expect, test } from 'vitest';
import { hash } from 'node:crypto';
import type { McpLock } from '@sluice-internal/kernel/catalog';
import { compile } from '../../src/driver/compile.ts';
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

test('the item of a map is suggested inside the map', () => {
  const nodes = (name: string): string =>
    `flow: { id: f, entry: a, nodes: [{ id: a, type: map, over: [1], do: b }, { id: b, type: set, values: { x: "{{${name}}}" } }] }`;
  expect(told(nodes('itm'))).toEqual(['error unknown-name 1:110 Did you mean `item`?']);
  expect(told(nodes('item'))).toEqual([]);
});

test('a template in instructions is not filled in, and a warning says so', () => {
  const agents = (instructions: string): string => `agents: [{ id: bot, instructions: "${instructions}" }]\n${flow}`;
  expect(told(agents('Answer in {{event.payload.lang}}.'))).toEqual([
    'warning no-effect 1:35 Pass the value with the input or the prompt of the agent.',
  ]);
  expect(told(agents('Write amounts as {{obs.1.total}}.'))).toEqual([]);
  expect(told(agents('Answer with JSON such as {\\"a\\": {}}.'))).toEqual([]);
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

describe('the tools of an agent', () => {
  const granting = (tools: string): string =>
    `mcp: { files: { command: files } }\ntools: { mail.send: { effect: read } }\nagents: [{ id: bot, tools: [${tools}] }]\nbudgets: { tool_calls: 3, model_calls: 3 }\n${flow}`;

  test.each(['http.*', 'nosuch.*'])('that %s grants are none', (tools) => {
    expect(told(granting(tools))).toEqual([
      'warning unknown-tool 3:29 It stands for declared tools and tools of a server. Name built-in tools one by one.',
    ]);
  });

  test.each(['mail.*', 'mail.send'])('may be %s', (tools) => {
    expect(told(granting(tools))).toEqual([]);
  });

  test('are not a whole server, nor any other pattern', () => {
    expect(told(granting('files'))).toEqual([
      'error unknown-tool 3:29 `files` is a server: write `files.*`, or `files.TOOL` for one of its tools.',
    ]);
    expect(told(granting('ma*'))).toEqual([
      'error unknown-tool 3:29 Declare it under `tools`, or declare its server under `mcp`.',
    ]);
  });

  test('that a boundary denies are not a whole server', () => {
    expect(told(`boundary: { tools: { deny: [files] } }\n${granting('mail.send')}`)).toEqual([
      'error unknown-tool 1:29 `files` is a server: write `files.*`, or `files.TOOL` for one of its tools.',
    ]);
  });
});

describe('the budget of a part of a flow', () => {
  const replyOf = (source: string): unknown => compileText(source).flow?.agents['bot']?.maxOutputTokens;
  const agents = 'agents: [{ id: bot }]\nbudgets: { model_calls: 9 }\n';
  const main = (nodes: string): string => `flow: { id: f, entry: a, nodes: [${nodes}] }`;

  test('limits a reply, also in a flow of `flows`', () => {
    const sub = '{ id: a, type: flow, flow: s, budget: { tokens: 400 } }';
    const leaf = '{ entry: b, nodes: [{ id: b, type: agent, agent: bot }] }';
    expect(replyOf(`${agents}flows: { s: ${leaf} }\n${main(sub)}`)).toBe(100);
    const between = '{ entry: c, nodes: [{ id: c, type: flow, flow: t, budget: { tokens: 400 } }] }';
    expect(replyOf(`${agents}flows: { s: ${between}, t: ${leaf} }\n${main('{ id: a, type: flow, flow: s }')}`)).toBe(
      100,
    );
  });

  test.each(['input', 'output', 'params', 'values', 'over', 'budget'])(
    'counts in a flow that is named `%s`',
    (name) => {
      const node = `{ id: ${name}, type: flow, flow: t, budget: { tokens: 400 } }`;
      const sub = `{ entry: ${name}, nodes: [${node}] }`;
      const leaf = '{ entry: b, nodes: [{ id: b, type: agent, agent: bot }] }';
      const flows = `flows: { ${name}: ${sub}, t: ${leaf} }\n`;
      expect(replyOf(`${agents}${flows}${main(`{ id: a, type: flow, flow: ${name} }`)}`)).toBe(100);
    },
  );

  test('counts in a stage, in a step of a procedure, and in a team', () => {
    const stage = 'agent: bot, budget: { tokens: 400 }';
    const sop = `{ sop: [{ id: input, ${stage} }] }`;
    const team = `{ plan: { agent: bot }, teams: [{ id: input, staged: ${sop} }] }`;
    for (const staged of [`{ plan: { ${stage} }, workers: { agent: bot } }`, sop, team])
      expect(replyOf(`${agents}staged: ${staged}`)).toBe(100);
  });

  test('is not a field called `budget` in the schema of a stage', () => {
    const schema = '{ type: object, properties: { budget: { type: object, minProperties: 8 } } }';
    expect(replyOf(`${agents}staged: { plan: { agent: bot }, workers: { agent: bot, output: ${schema} } }`)).toBeNull();
  });

  test.each([
    '{ id: a, type: agent, agent: bot, input: { budget: { tokens: 8 } } }',
    '{ id: a, type: set, values: { budget: { tokens: 8 } }, routes: [{ to: b }] }, { id: b, type: agent, agent: bot }',
    '{ id: a, type: agent, agent: bot, routes: [{ to: b }] }, { id: b, type: terminal, output: { budget: { cost_usd: 1 } } }',
  ])('is not the data of %s', (nodes) => {
    expect(replyOf(agents + main(nodes))).toBeNull();
  });
});

describe('the tool that `verify` names', () => {
  const looking = (verify: string): string =>
    `tools:\n  pay: { effect: financial, verify: ${verify} }\n  find: { effect: read }\n  cancel: {}\nagents: [{ id: bot }]\n${flow}`;

  test.each(['find', 'http.get', 'result.ok == true'])('may be %s', (verify) => {
    expect(told(looking(verify))).toEqual([]);
  });

  test.each(['pay', 'cancel', 'http.post'])('is not %s, which changes something', (verify) => {
    expect(told(looking(verify))).toEqual([
      'error bad-value 2:37 Name a tool with `effect: read`. A lookup is made without approval.',
    ]);
  });
});

describe('the tool of a server that `verify` names', () => {
  const looking = (server: string, mcpLock?: McpLock) =>
    compile(
      `mcp: { bank: { command: bank${server} } }\ntools: { pay: { effect: financial, verify: bank.find } }\nagents: [{ id: bot }]\n${flow}`,
      { hash: (text) => hash('sha256', text, 'hex'), ...(mcpLock === undefined ? {} : { mcpLock }) },
    ).diagnostics.filter(({ severity }) => severity === 'error');
  const locked = (readOnlyHint: boolean): McpLock => ({
    version: 1,
    servers: {
      bank: [{ name: 'find', description: '', input: true, output: null, annotations: { readOnlyHint } }],
    },
  });

  test('must be declared as a tool that reads, unless its server is trusted and says so', () => {
    expect(looking('').map(({ code }) => code)).toEqual(['bad-value']);
    expect(looking('', locked(true)).map(({ code }) => code)).toEqual(['bad-value']);
    expect(looking(', trusted: true', locked(false)).map(({ code }) => code)).toEqual(['bad-value']);
    expect(looking(', trusted: true', locked(true))).toEqual([]);
    expect(looking(', trusted: true')).toEqual([]);
  });
});

test('the arguments of a tool node are checked by the schema that the MCP server has in the lock', () => {
  const input = { type: 'object', properties: { order: { type: 'string' } }, additionalProperties: false };
  const find = { name: 'find', description: '', input, output: null, annotations: {} };
  const { diagnostics } = compile(
    'mcp: { bank: { command: bank } }\nflow: { id: f, entry: a, nodes: [{ id: a, type: tool, tool: bank.find, params: { ordr: x } }] }',
    { hash: (text) => hash('sha256', text, 'hex'), mcpLock: { version: 1, servers: { bank: [find] } } },
  );
  expect(diagnostics).toMatchObject([{ code: 'unknown-key', line: 2, column: 88, help: 'Did you mean `order`?' }]);
});

test('a misspelt tool in `verify` gets the nearest name', () => {
  const text = `tools:\n  pay: { effect: financial, verify: fnd }\n  find: { effect: read }\nagents: [{ id: bot }]\n${flow}`;
  expect(told(text)).toEqual(['error unknown-tool 2:37 Did you mean `find`?']);
});

test('the name of a server can contain dots', () => {
  const text = (tool: string): string =>
    `mcp: { my.files: { command: files }, my: { command: my } }\nagents: [{ id: bot, tools: ["${tool}"] }]\n${flow}`;
  expect(compileText(text('my.files.*')).diagnostics.map(({ code }) => code)).not.toContain('unknown-tool');
  const { flow: compiled } = compileText(`${text('my.files.read').replace(/flow: .*/s, '')}loop: { agent: bot }`);
  expect(compiled?.tools['my.files.read']?.implementation).toMatchObject({ mcp: 'my.files/read' });
});

test('the rules of the file of a sub-flow are checked like those of a document', () => {
  const sub = `tools:
  pay: { effect: read, verify: "result.ok == = 1" }
agents:
  - { id: bot, boundary: { tools: { deny: [payy] }, fail_closed: [{ what: x, when: "tool ==" }] } }
  - { id: clerk, memory: { validate: [{ when: "answr == 1", reason: no }] } }
${flow}`;
  const main = 'flow: { id: m, entry: a, nodes: [{ id: a, type: flow, flow: ./sub.yaml }] }';
  const readText = (file: string): string | null => (file === 'sub.yaml' ? sub : null);
  const { diagnostics } = compile(main, { file: 'main.yaml', hash: (text) => hash('sha256', text, 'hex'), readText });
  expect(diagnostics.map(({ file, code, line }) => `${file}:${line} ${code}`)).toEqual([
    'sub.yaml:2 bad-expression',
    'sub.yaml:4 unknown-tool',
    'sub.yaml:4 bad-expression',
    'sub.yaml:5 unknown-name',
  ]);
});

describe('a number that is too large', () => {
  test.each([
    ['loop: { agent: bot, escalation: { timeout: 1e308 } }', 'timeout'],
    ['budgets: { wall_clock_seconds: 1e308 }\nloop: { agent: bot }', 'wall_clock_seconds'],
    ['boundary: { approval_timeout: 1e308 }\nloop: { agent: bot }', 'approval_timeout'],
    ['staged: { plan: { agent: bot, timeout: 1e308 }, workers: { agent: bot } }', 'timeout'],
  ])('is refused where it stands: %s', (rest, key) => {
    const { diagnostics } = compileText(`agents: [{ id: bot }]\n${rest}`);
    expect(
      diagnostics.filter(({ severity }) => severity === 'error').map(({ code, message }) => [code, message]),
    ).toEqual([
      ['bad-value', expect.stringMatching(`^\`${key}\` must be a number .*9007199254740991, but is 1e\\+308$`)],
    ]);
  });

  test('can be compared with in a decision', () => {
    const node = '{ id: a, type: decision, expr: event.payload.n, routes: [{ when: 1e20, to: end }, { to: end }] }';
    expect(compileText(`flow: { id: f, entry: a, nodes: [${node}] }`).ok).toBe(true);
  });
});

test('a reference in a schema decodes each part: `%2F` is a slash in a name', () => {
  const input = (reference: string): string =>
    `{ $defs: { "a/b": { type: string } }, properties: { x: { $ref: "#/$defs/${reference}" } } }`;
  const codes = (reference: string): readonly string[] =>
    compileText(`tools: { t: { input: ${input(reference)} } }\nagents: [{ id: bot }]\n${flow}`).diagnostics.map(
      ({ code }) => code,
    );
  expect(codes('a%2Fb')).toEqual([]);
  expect(codes('a~1b')).toEqual([]);
  expect(codes('a/b')).toEqual(['bad-schema']);
});
