/** One mistake gives one error: what only seems to be missing because of it is not reported as well. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const errors = (source: string): readonly string[] =>
  compileText(source)
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ code, line, column }) => `${code} ${line}:${column}`);

const flow = (nodes: string): string => `flow: { id: f, entry: s, nodes: [${nodes}] }`;
const agent = flow('{ id: s, type: agent, agent: a, routes: [{ to: t }] }, { id: t, type: agent, agent: a }');
const tool = flow('{ id: s, type: tool, tool: t.x, routes: [{ to: t }] }, { id: t, type: tool, tool: t.x }');

describe('a section that cannot be read', () => {
  test.each([
    ['misspelt agents', `agnets: [{ id: a }]\n${agent}`, 'unknown-key 1:1'],
    ['agents as a map', `agents: { a: { instructions: x } }\n${agent}`, 'wrong-type 1:11'],
    ['agents as text', `agents: [a]\n${agent}`, 'wrong-type 1:10'],
    ['agents without anything', `agents:\n${agent}`, 'wrong-type 1:8'],
    ['an agent with a misspelt id', `agents: [{ idd: a }]\n${agent}`, 'unknown-key 1:12'],
    ['an agent whose id is no text', `agents: [{ id: 3 }]\n${agent}`, 'wrong-type 1:16'],
    ['an agent without a name', `agents: [{ instructions: x }]\n${agent}`, 'missing-field 1:12'],
    ['misspelt tools', `tols: { t.x: {} }\n${tool}`, 'unknown-key 1:1'],
    ['tools as a list', `tools: [t.x]\n${tool}`, 'wrong-type 1:8'],
    [
      'tools that a boundary names',
      `tols: { t.x: {} }\nboundary: { tools: { allow: [t.x] } }\nagents: [{ id: a, tools: [t.x] }]\n${agent}`,
      'unknown-key 1:1',
    ],
    [
      'misspelt servers',
      `mpc: { srv: { command: x } }\ntools: { t.x: { mcp: srv/y } }\nagents: [{ id: a, tools: [srv.z] }]\n${agent}`,
      'unknown-key 1:1',
    ],
    [
      'misspelt flows',
      `flws: { sub: { entry: x, nodes: [{ id: x, type: terminal }] } }\n${flow('{ id: s, type: flow, flow: sub }')}`,
      'unknown-key 1:1',
    ],
    ['flows as a text', `flows: sub\n${flow('{ id: s, type: flow, flow: sub }')}`, 'wrong-type 1:8'],
    ['servers as a list', `mcp: [srv]\nagents: [{ id: a, tools: [srv.z] }]\n${agent}`, 'wrong-type 1:6'],
    [
      'a server with a misspelt command',
      `mcp: { srv: { comand: x } }\nagents: [{ id: a, tools: [srv.z] }]\n${agent}`,
      'unknown-key 1:15',
    ],
    [
      'models as a list',
      `models: [{ m: { provider: x, model: y } }]\nagents: [{ id: a, model: m }]\n${agent}`,
      'wrong-type 1:9',
    ],
    ['misspelt models', `modls: { m: {} }\nagents: [{ id: a, model: m }]\n${agent}`, 'unknown-key 1:1'],
    ['steps: a misspelt name', 'agents: [{ nme: a }]\nsteps: [{ agent_name: a }]', 'unknown-key 1:12'],
    ['steps: agents as a map', 'agents: { a: {} }\nsteps: [{ agent_name: a }]', 'wrong-type 1:11'],
    ['loop: misspelt agents', 'agnets: [{ id: a }]\nloop: { agent: a, goal: x }', 'unknown-key 1:1'],
    [
      'loop: a misspelt id',
      'agents: [{ idd: a }]\nloop: { planner: p, executor: a, verifier: v, goal: x }',
      'unknown-key 1:12',
    ],
  ])('%s', (_, source, expected) => {
    expect(errors(source)).toEqual([expected]);
  });

  test('hides nothing where it can be read', () => {
    expect(errors(`agents: [{ id: reader }]\n${agent}`)).toEqual(['unknown-agent 2:63', 'unknown-agent 2:118']);
    expect(errors(`agnets: []\ntools: {}\n${tool}`)).toEqual([
      'unknown-key 1:1',
      'unknown-tool 3:61',
      'unknown-tool 3:116',
    ]);
  });
});

describe('a list of a team that cannot be read', () => {
  const keyword = (agents: string, route = ''): string => `Orchestration:
  ${agents}
  Selection: { Type: keyword, DefaultAgent: a, Routes: [{ Keyword: GO, Agent: b${route} }, { Keyword: END, Agent: a }] }
  Termination: { Type: regex, Pattern: DONE, AgentNames: [b] }`;
  const machine = (more: string): string => `Orchestration:
  Agents: [{ Name: a }, { Name: b }]
  ${more}
  Selection:
    Type: statemachine
    StateMachine:
      Initial: x
      States:
        x: { Agent: a, Transitions: [{ To: y, Signal: GO, Contract: c }] }
        y: { Agent: b, Terminal: true }
  Termination: { Type: regex, Pattern: DONE }`;
  const checked = (more: string): string =>
    keyword(`Agents: [{ Name: a }, { Name: b }]\n  ${more}`, ', Validators: [mine]');
  const contracts = 'Contracts: [{ Name: c, Requires: [{ FileExists: { Path: x } }] }]';
  const graph = (more: string, first = 'Id: x, Agent: a'): string => `Orchestration:
  Agents: [{ Name: a }, { Name: b }]
  Selection:
    Type: graph
    Graph:
      Nodes: [{ ${first} }, { Id: y, Agent: b, Terminal: true }]
      Edges: [{ From: x, To: y, Keyword: GO }]
      ${more}`;

  test.each([
    ['misspelt agents', keyword('Agnets: [{ Name: a }, { Name: b }]'), 'unknown-key 2:3'],
    ['agents as a map', keyword('Agents: { a: {}, b: {} }'), 'wrong-type 2:13'],
    ['an agent with a misspelt name', keyword('Agents: [{ Nme: a }, { Name: b }]'), 'unknown-key 2:14'],
    ['misspelt contracts', machine('Contrcts: []'), 'unknown-key 3:3'],
    ['a contract without its name', machine(contracts.replace('Name', 'Nme')), 'unknown-key 3:17'],
    ['misspelt validation', checked('Validaton: { Validators: { mine: "./x.ts#y" } }'), 'unknown-key 3:3'],
    ['misspelt validators', checked('Validation: { Validatrs: { mine: "./x.ts#y" } }'), 'unknown-key 3:17'],
    ['a node with a misspelt id', graph('', 'Idd: x, Agent: a'), 'unknown-key 6:17'],
    ['misspelt sub-graphs', graph('SubGraps: { q: {} }', 'Id: x, SubGraphId: q'), 'unknown-key 8:7'],
    [
      'a sub-graph of a misspelt kind',
      graph('SubGraphs: { q: { ScaterGather: { Workers: [a], Synthesizer: b } } }', 'Id: x, SubGraphId: q'),
      'unknown-key 8:25',
    ],
  ])('%s', (_, source, expected) => {
    expect(errors(source)).toEqual([expected]);
  });
});

describe('an unknown key in a map that needs one of several', () => {
  const route = (clause: string): string =>
    `agents: [{ id: a }]\n${flow(`{ id: s, type: agent, agent: a, on_error: [${clause}] }`)}`;

  test.each(['{ mach: X, to: end }', '{ defualt: true, to: end }', '{ when: X, to: end }'])(
    'on_error: %s',
    (clause) => {
      expect(errors(route(clause))).toEqual(['unknown-key 2:79']);
    },
  );

  test('an error route that has none of them is still one without a condition', () => {
    expect(errors(route('{ to: end }'))).toEqual(['empty-error-route 2:79']);
  });
});

describe('the key that was meant', () => {
  const help = (source: string): readonly (string | undefined)[] =>
    compileText(source).diagnostics.map((each) => each.help);

  test.each([
    ['agnts: [{ name: a }]', 'agents'],
    ['modls: {}', 'models'],
    ['tols: {}', 'tools'],
    ['budget: {}', 'budgets'],
  ])('of a bare step document: %s', (line, key) => {
    expect(help(`${line}\nsteps: [{ agent_name: a }]`)).toEqual([`Did you mean \`${key}\`?`]);
  });

  test.each([
    ['timeout: 5', 'timeout_secs'],
    ['retries: 3', 'max_retries'],
    ['iterations: 3', 'max_iterations'],
    ['template: x', 'prompt_template'],
  ])('of a step: %s', (line, key) => {
    expect(help(`steps: [{ agent_name: a, ${line} }]`)).toEqual([`Did you mean \`${key}\`?`]);
  });

  test('a bare document without a near one lists the shared sections too', () => {
    expect(help('zzzzzz: 1\nsteps: [{ agent_name: a }]')[0]).toMatch(/`steps`.*`models`.*`agents`/);
  });
});

describe('a document of the source system', () => {
  const document = (flow = 'flow', nodes = 'nodes', type = 'type', tool = 'tool'): string => `app: { name: x }
agents: [{ id: a, role: worker, system_prompt: Answer., brain: { provider: openai, model: m } }]
tools: { modules: { web: {} } }
${flow}:
  id: f
  entry: s
  ${nodes}:
    - { id: s, ${type}: agent, agent: a, params: { task: x }, routes: [{ to: t }] }
    - { id: t, type: tool, ${tool}: web.search }`;

  test.each([
    ['without a mistake', document(), []],
    ['a misspelt `flow`', document('flwo'), ['unknown-notation 4:1']],
    ['a misspelt `nodes`', document('flow', 'noodes'), ['unknown-key 7:3']],
    ['a misspelt `type`', document('flow', 'nodes', 'tpye'), ['unknown-key 8:16']],
    ['a misspelt `tool`', document('flow', 'nodes', 'type', 'tol'), ['unknown-key 9:28']],
  ])('%s', (_, source, expected) => {
    expect(errors(source)).toEqual(expected);
  });
});

describe('a tool or an agent with a faulty value', () => {
  test.each([
    ['the effect of a lookup', `tools: { t.x: { verify: t.y }, t.y: { effect: raed } }\n${tool}`, 'bad-value 1:47'],
    ['an empty time', `agents: [{ id: a, memory: { expires: "" } }]\n${agent}`, 'bad-value 1:38'],
  ])('%s', (_, source, expected) => {
    expect(errors(source)).toEqual([expected]);
  });
});

describe('a value that could not be read', () => {
  const done = '{ id: t, type: terminal, output: "{{s.x}} {{get-it.x}}" }';
  test.each([
    [
      'the values of a set node',
      flow(`{ id: s, type: set, values: x, routes: [{ to: t }] }, { id: t, type: terminal, output: "{{s.x}}" }`),
      ['wrong-type 1:62'],
    ],
    [
      'a node with a hyphen in its id',
      flow(
        `{ id: s, type: set, values: { x: 1 }, routes: [{ to: get-it }] }, { id: get-it, type: sett, values: { x: 1 }, routes: [{ to: t }] }, ${done}`,
      ),
      ['bad-value 1:120'],
    ],
    [
      'the type of a node with `on_timeout`',
      flow('{ id: s, type: aproval, message: x, choices: [a, b], timeout: 5, on_timeout: a }'),
      ['bad-value 1:49'],
    ],
    [
      'the entry',
      flow('{ id: t, type: decision, expr: x.y, routes: [{ when: "1", to: end }] }'),
      ['unknown-entry 1:23'],
    ],
  ])('%s', (_, source, expected) => {
    expect(errors(source)).toEqual(expected);
  });

  test('a field whose schema is open may be read twice', () => {
    const output = '{ type: object, properties: { amount: { description: Dollars. } } }';
    const guarded = flow('{ id: s, type: agent, agent: a, routes: [{ when: "amount > 1 && amount < 5", to: end }] }');
    expect(errors(`agents: [{ id: a, output: ${output} }]\n${guarded}`)).toEqual([]);
  });
});

describe('the name of an item', () => {
  const map = (each: string, rest = ''): string => `agents: [{ id: a, output: { type: object, properties: { x: {} } } }]
flow:
  id: f
  entry: s
  nodes:
    - { id: s, type: agent, agent: a, routes: [{ to: each }] }
    - { id: each, ${each} }
    - { id: work, type: set, values: { sku: "{{line.sku}}", at: "{{line_index}}" }${rest} }
    - { id: more, type: set, values: { sku: "{{line.sku}}" } }`;
  const more = ', routes: [{ to: more }]';

  test.each([
    ['without a mistake', map('type: map, over: [1], as: line, do: work', more), []],
    [
      'of another map',
      map('type: map, over: [1], as: lin, do: work', more),
      ['unknown-name 8:48', 'unknown-name 8:68', 'unknown-name 9:48'],
    ],
    ['under a misspelt key', map('type: map, over: [1], aas: line, do: work', more), ['unknown-key 7:41']],
    ['of another type', map('type: map, over: [1], as: 3, do: work', more), ['wrong-type 7:45']],
    [
      'of a map whose `do` cannot be read',
      map('type: map, over: [1], as: line, do: [work]', more),
      ['wrong-type 7:55'],
    ],
    ['of a map with an unknown type', map('type: mpa, over: [1], as: line, do: work', more), ['bad-value 7:25']],
    [
      'after a route that cannot be read',
      map('type: map, over: [1], as: line, do: work', ', routes: [{ to: 3 }]'),
      ['wrong-type 8:100'],
    ],
  ])('%s', (_, source, expected) => {
    expect(errors(source)).toEqual(expected);
  });
});

describe('a name with a hyphen', () => {
  const helpOf = (expression: string): readonly (string | undefined)[] =>
    compileText(`agents: [{ id: a }]
flow:
  id: f
  entry: get-data
  nodes: [{ id: get-data, type: agent, agent: a, routes: [{ when: "${expression}", to: end }] }]`)
      .diagnostics.filter(({ severity }) => severity === 'error')
      .map(({ help }) => help);

  test.each([
    ["due-date == 'x'", "Write a field as `output['due-date']` or `event.payload['due-date']`."],
    ['get-dta.output.x == 1', 'Did you mean `get-data`?'],
    ["get-data == 'x'", 'Write a value of the node, such as `get-data.output`.'],
  ])('gets the right help: %s', (expression, first) => {
    expect(helpOf(expression)).toEqual([`${first} To subtract, put blanks around \`-\`.`]);
  });

  test.each([
    'get-data.output.x == 1',
    "get-data['output'].x == 1",
    '-get-data.output.x == 1-get-data.output.y',
    "output['due-date'] == 'get-dta'",
  ])('is read as one name: %s', (expression) => {
    expect(helpOf(expression)).toEqual([]);
  });
});

describe('a field whose name needs brackets', () => {
  const reads = (expression: string, output = ''): readonly string[] =>
    errors(`agents: [{ id: a${output} }]
${flow(`{ id: s, type: agent, agent: a, routes: [{ when: "${expression}", to: end }] }`)}`);
  const typed =
    ', output: { type: object, properties: { due-date: {}, total: { type: number }, fee: { type: number } } }';
  const at = 'bad-expression 2:84';

  test.each([
    ['of a reply without a schema', "s.output.due-date == 'x'", '', [at]],
    ['of a reply with a schema', "s.output.due-date == 'x'", typed, [at]],
    ['of the input', "event.payload.order-id == 'x'", '', [at]],
    ['with two hyphens', "event.payload.date-of-birth == 'x'", '', [at]],
    ['with a field of its own', "event.payload.bill-to.name == 'x'", '', [at]],
    ['of the latest reply, by its name alone', "due-date == 'x'", '', [at]],
    ['of the latest reply with a schema', "due-date == 'x'", typed, [at]],
    ['with an accent', "event.payload.größe == 'x'", '', ['bad-expression 2:98']],
    ['in brackets', "s.output['due-date'] == event.payload['größe']", typed, []],
    ['a subtraction with blanks', 's.output.due - date > 1', '', []],
    ['a subtraction of fields that exist', 's.output.total-fee > 1', typed, []],
    ['a subtraction of a number or a path', 's.output.total-1 > s.output.total-s.output.fee', '', []],
    ['a subtraction of the input', 's.output.total-event.payload.fee > 1', '', []],
    ['a subtraction of names that exist', 'total-fee > 1', typed, []],
    ['a subtraction of a call', 'total-size(items) > 1', '', []],
  ])('%s', (_, expression, output, expected) => {
    expect(reads(expression, output)).toEqual(expected);
  });
});
