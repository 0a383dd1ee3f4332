/** Cases from stored runs: they repeat the run exactly, also with signals, expired questions, undone calls and protected values. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

interface Case {
  recorded?: boolean;
  input: unknown;
  script: {
    tools: { [tool: string]: unknown[] };
    agents: { [agent: string]: { text: string; tools?: { name: string; args: object }[] }[] };
  };
  expect: { [key: string]: unknown };
}

/** Runs the flow, records the run and returns the folder. */
async function recorded(flow: string, script: string, input = 'hello', code = 'SUCCESS'): Promise<string> {
  const cwd = folder({ 'one.flow.yaml': flow, 'one.script.yaml': script });
  const ran = await sluice(
    ['run', 'one.flow.yaml', '--script', 'one.script.yaml', '--input', input, '--run', 'r_1', '--json'],
    { cwd },
  );
  expect(JSON.parse(ran.stdout)).toMatchObject({ code });
  const made = await sluice(['eval', 'record', 'r_1', '--flow', 'one.flow.yaml', '--out', 'one.suite.yaml'], { cwd });
  expect(made.status).toBe(0);
  return cwd;
}
const caseIn = (cwd: string): Case =>
  (parse(readFileSync(join(cwd, 'one.suite.yaml'), 'utf8')) as { cases: [Case] }).cases[0];
async function evaluated(cwd: string, change: (given: Case) => void = () => undefined): Promise<readonly string[]> {
  const given = caseIn(cwd);
  change(given);
  writeFileSync(join(cwd, 'one.suite.yaml'), stringify({ flow: './one.flow.yaml', cases: [given] }));
  const { stdout } = await sluice(['eval', 'one.suite.yaml', '--json'], { cwd });
  return (JSON.parse(stdout) as { cases: { problems: string[] }[] }).cases.flatMap(({ problems }) => problems);
}

const PAYS = `
agents: [{ id: bot, tools: [pay] }]
tools: { pay: { effect: financial, input: { type: object } } }
boundary: { tools: { allow: [pay] }, untrusted: "off" }
flow: { id: payer, entry: work, nodes: [{ id: work, type: agent, agent: bot, routes: [{ to: done }] }, { id: done, type: terminal, output: { type: object, said: "{{work.output}}" } }] }
`;
const PAID =
  'agents: { bot: [{ tools: [{ name: pay, args: { to: bob, amount: 5 } }] }, Paid.] }\ntools: { pay: [{ result: 1 }] }';

test('other arguments of a tool, and another output, are differences', async () => {
  const cwd = await recorded(PAYS, PAID);
  expect(await evaluated(cwd)).toEqual([]);
  const other = await evaluated(cwd, ({ script }) => {
    script.agents['bot'] = [
      { text: '', tools: [{ name: 'pay', args: { to: 'eve', amount: 500 } }] },
      { text: 'Paid.' },
    ];
  });
  expect(other).toEqual(['call 1 is pay {"to":"eve","amount":500}, expected {"to":"bob","amount":5}']);
});

test('an output that looks like a schema is compared as a value, with all its fields', async () => {
  const cwd = await recorded(PAYS, PAID);
  expect(caseIn(cwd).expect).toMatchObject({ output: { type: 'object', said: 'Paid.' }, exact: true });
  const other = await evaluated(cwd, (given) => {
    given.expect['output'] = { type: 'object' };
  });
  expect(other.join()).toContain('the output is');
});

test('a signal, an expired question and an undone call are repeated', async () => {
  const flow = `
tools: { book: { effect: write, compensate: unbook }, unbook: { effect: write }, charge: { effect: write } }
flow:
  id: trip
  entry: pause
  nodes:
    - { id: pause, type: wait, signal: go, routes: [{ to: gate }] }
    - { id: gate, type: approval, message: "Book?", choices: [approve, reject], timeout: 60, on_timeout: approve, routes: [{ to: book }] }
    - { id: book, type: tool, tool: book, params: { parcel: "{{pause.data.parcel}}" }, routes: [{ to: charge }] }
    - { id: charge, type: tool, tool: charge, routes: [{ to: end }] }
`;
  const script = `
tools: { book: [{ result: 1 }], unbook: [{ result: undone }], charge: [{ error: fatal, message: gone }] }
approvals: { gate: { expires: true } }
signals: { pause: { parcel: 7 } }
`;
  const cwd = await recorded(flow, script, 'hello', 'UNAVAILABLE_DEP');
  expect(caseIn(cwd).script).toMatchObject({
    signals: { pause: [{ parcel: 7 }] },
    tools: { unbook: [{ result: 'undone' }] },
  });
  expect(await evaluated(cwd)).toEqual([]);
});

test('protected values stay replaced, and the case runs without them', async () => {
  const flow = `
pii: { trusted: [save] }
agents: [{ id: clerk, tools: [] }]
tools: { find: { effect: read }, save: { effect: write } }
flow:
  id: file
  entry: find
  nodes:
    - { id: find, type: tool, tool: find, params: { text: "{{event.payload.message}}" }, routes: [{ to: write }] }
    - { id: write, type: agent, agent: clerk, input: { user_message: "{{find.result.mail}}" }, routes: [{ to: save }] }
    - { id: save, type: tool, tool: save, params: { line: "{{write.output}}" }, routes: [{ to: end }] }
`;
  const script = `
agents: { clerk: ["[PII_EMAIL_001] wrote, answer to [PII_EMAIL_002]"] }
tools: { find: [{ result: { mail: zoe@example.org } }], save: [{ result: saved }] }
approvals: { save: approve }
`;
  const cwd = await recorded(flow, script, 'I am ann@example.com, call +1 415 555 2671');
  const text = readFileSync(join(cwd, 'one.suite.yaml'), 'utf8');
  expect(text).not.toMatch(/ann@|zoe@|2671/);
  expect(caseIn(cwd)).toMatchObject({
    recorded: true,
    input: { message: 'I am [PII_EMAIL_001], call [PII_PHONE_001]' },
  });
  expect(await evaluated(cwd)).toEqual([]);
});

test('runs of other flows are left out, and a misspelt name in --where is an error', async () => {
  const cwd = await recorded(PAYS, PAID);
  writeFileSync(join(cwd, 'two.flow.yaml'), PAYS.replace('id: payer', 'id: other'));
  await sluice(['run', 'two.flow.yaml', '--script', 'one.script.yaml', '--input', 'hello', '--run', 'r_2'], { cwd });
  const from = (...args: string[]) => sluice(['eval', 'from-runs', ...args], { cwd });
  const both = await from();
  expect([both.status, both.stderr]).toEqual([2, expect.stringContaining('the runs are of several flows: ')]);
  const one = await from('--flow', 'two.flow.yaml');
  expect(one.stdout).toContain('name: r_2');
  expect(one.stdout).not.toContain('name: r_1');
  expect(await from('--where', 'cod == "SUCCESS"')).toMatchObject({ status: 2 });
  const wrong = await sluice(['eval', 'record', 'r_1', '--flow', 'two.flow.yaml'], { cwd });
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('is of flow `payer`')]);
});

test('a fork with edited values is no case, because a script cannot give them; another input can be one', async () => {
  const flow = `
agents: [{ id: bot, output: { type: object, properties: { kind: { type: string } }, required: [kind] } }]
flow:
  id: sorter
  entry: sort
  nodes:
    - { id: sort, type: agent, agent: bot, routes: [{ when: "kind == 'a'", to: first }, { to: end }] }
    - { id: first, type: set, values: { x: 1 } }
`;
  const cwd = await recorded(flow, `agents: { bot: ['{"kind": "a"}'] }`);
  const fork = async (...args: string[]) => {
    const forked = await sluice(['fork', 'r_1', '--script', 'one.script.yaml', '--json', ...args], { cwd });
    return (JSON.parse(forked.stdout) as { run: string }).run;
  };
  const edited = await fork('--at', '5', '--set', 'sort.output={"kind": "b"}');
  const refused = await sluice(['eval', 'record', edited], { cwd });
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('another value of `sort.output`')]);
  const other = await fork('--at', '1', '--set', 'input={"message": "other"}');
  const all = await sluice(['eval', 'from-runs', '--flow', 'one.flow.yaml', '--out', 'one.suite.yaml'], { cwd });
  expect([all.status, all.stderr]).toEqual([0, expect.stringContaining('1 run left out that a script cannot repeat')]);
  const { stdout } = await sluice(['eval', 'one.suite.yaml', '--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ passed: 2, failed: 0 });
  expect(stdout).toContain(other);
});

test('a cancelled run is no case, because a script cannot cancel', async () => {
  const flow = 'flow: { id: ask, entry: gate, nodes: [{ id: gate, type: approval, message: "Go?" }] }\n';
  const cwd = await recorded(flow, 'approvals: { gate: approve }');
  writeFileSync(join(cwd, 'open.script.yaml'), 'agents: {}\n');
  await sluice(['run', 'one.flow.yaml', '--script', 'open.script.yaml', '--run', 'r_2'], { cwd });
  await sluice(['cancel', 'r_2'], { cwd });
  const refused = await sluice(['eval', 'record', 'r_2'], { cwd });
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('run `r_2` was cancelled')]);
  const all = await sluice(['eval', 'from-runs', '--flow', 'one.flow.yaml', '--out', 'one.suite.yaml'], { cwd });
  expect([all.status, all.stderr]).toEqual([0, expect.stringContaining('1 run left out that a script cannot repeat')]);
  expect(await evaluated(cwd)).toEqual([]);
});
