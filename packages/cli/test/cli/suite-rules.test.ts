/** Suites: every kind of expectation, the matrix, the judge, planted bypasses, the baseline, and long soaks. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createProgressBar } from '../../src/view/progress-bar.ts';
import type { Cli } from '@sluice-internal/library/documents';
import { journalProblem } from '../../../evals/src/suite/modes.ts';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

interface Evaluated {
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly { readonly name: string; readonly passed: boolean; readonly problems: readonly string[] }[];
  readonly metrics: { readonly [name: string]: number | null };
  readonly comparisons: readonly { readonly id: string; readonly worse: boolean }[];
  readonly soak: {
    readonly runs: number;
    readonly journalBytesPerRun: number;
    readonly heapGrowthMb: number;
    readonly growthMb: number;
  } | null;
}

const FLOW = `
agents:
  - { id: bot, instructions: "Look it up.", tools: [find, note] }
tools: { find: { effect: read }, note: { effect: read } }
flow:
  id: lookup
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: bot, routes: [{ to: tidy }] }
    - { id: tidy, type: set, values: { answer: "{{ask.output}}" }, routes: [{ to: end }] }
`;
const script = (last: string) =>
  `{ agents: { bot: [{ text: "", tools: [{ name: find, args: { q: tea } }] }, { text: "", tools: [{ name: note, args: {} }] }, ${last}] }, tools: { find: [{ result: China }], note: [{ result: ok }] } }`;
const suiteOf = (expectation: string, more = '') => `
flow: ./lookup.flow.yaml
${more}
cases:
  - { name: one, input: tea, script: ${script('"Tea is from China."')}, expect: ${expectation} }
`;
const files = (suite: string, flow = FLOW) => folder({ 'lookup.flow.yaml': flow, 'lookup.suite.yaml': suite });
async function run(cwd: string, ...args: readonly string[]) {
  const ran = await sluice(['eval', 'lookup.suite.yaml', '--json', ...args], { cwd });
  return { ...ran, result: (ran.stdout === '' ? null : JSON.parse(ran.stdout)) as Evaluated };
}

describe('expectations', () => {
  test.each([
    ['{ order: [ask, tidy] }', '{ order: [tidy, ask] }', /order/],
    ['{ tools: [find, note] }', '{ tools: [note, find] }', /the tool calls are find > note/],
    ['{ schema: { type: object, required: [answer] } }', '{ schema: { type: string } }', /does not fit its schema/],
    ['{ output: { answer: "Tea is from China." } }', '{ output: { answer: Milk } }', /expected/],
    ['{ when: "size(receipts) == 2" }', '{ when: "size(receipts) == 3" }', /does not hold/],
  ])('%s holds, and %s does not', async (good, bad, problem) => {
    expect(await run(files(suiteOf(good)))).toMatchObject({ status: 0, result: { passed: 1, failed: 0 } });
    const failed = await run(files(suiteOf(bad)));
    expect([failed.status, failed.result.failed]).toEqual([1, 1]);
    expect(failed.result.cases[0]?.problems.join()).toMatch(problem);
  });

  test('a judge decides by criteria in words', async () => {
    const judged = (verdict: string) => `
flow: ./lookup.flow.yaml
cases:
  - name: one
    input: tea
    script: { agents: { bot: ["Tea is from China."], judge: ['${verdict}'] } }
    expect: { judge: { criteria: "It names a country." } }
`;
    expect((await run(files(judged('{"pass": true, "reason": "China"}')))).status).toBe(0);
    const no = await run(files(judged('{"pass": false, "reason": "too short"}')));
    expect([no.status, no.result.cases[0]?.problems]).toEqual([1, ['the judge did not accept it: too short']]);
    const mute = await run(files(judged('hm')));
    expect(mute.result.cases[0]?.problems.join()).toContain('the judge gave no verdict');
  });
});

describe('the matrix', () => {
  test('prompts: the same cases under other instructions', async () => {
    const suite = `
flow: ./lookup.flow.yaml
matrix: { prompts: { short: { bot: "Be short." }, long: { bot: "Explain." } } }
cases:
  - name: one
    input: tea
    script: { agents: { bot: [{ when: "input.contains('Be short.')", text: Yes. }, { when: "input.contains('Explain.')", text: "Tea, a drink" }] } }
    expect: { output: { answer: Yes. } }
`;
    const { status, result } = await run(files(suite));
    expect([status, result.passed, result.failed]).toEqual([1, 1, 1]);
    expect(result.cases.map(({ name, passed }) => [name, passed])).toEqual([
      [expect.stringContaining('short'), true],
      [expect.stringContaining('long'), false],
    ]);
  });

  test('models and seeds multiply the cases, each with its own name', async () => {
    const { result } = await run(
      files(suiteOf('{ code: SUCCESS }', 'matrix: { models: [openai/a, openai/b], seeds: [1, 2, 3] }')),
    );
    expect(result).toMatchObject({ passed: 6, failed: 0 });
    expect(new Set(result.cases.map(({ name }) => name)).size).toBe(6);
    expect(result.cases.filter(({ name }) => name.includes('openai/b'))).toHaveLength(3);
  });
});

test('a planted escalation bypass is found, and an asked call is not one', async () => {
  const document = (boundary: string) => `
agents: [{ id: bot, tools: [mail] }]
tools: { mail: { effect: communication, input: { type: object } } }
boundary: ${boundary}
loop: { agent: bot }
`;
  const suite = `
flow: ./lookup.flow.yaml
modes: [escalations]
cases:
  - name: mails
    input: write to ann
    script: { agents: { bot: [{ text: "", tools: [{ name: mail, args: {} }] }, "Sent."] }, tools: { mail: [{ result: { sent: true } }] } }
`;
  const bypass = await run(files(suite, document('{ tools: { allow: [mail] }, untrusted: "off" }')));
  expect(bypass.status).toBe(1);
  expect(bypass.result.cases.map(({ name, passed }) => [name, passed])).toEqual([
    ['mails [approver absent]', false],
    ['mails [approver late]', false],
    ['mails [approver rejecting]', false],
  ]);
  expect(bypass.result.cases[0]?.problems.join()).toMatch(/mail \(communication\) was committed at event \d+ without/);
  const asked = await run(files(suite, document('{ tools: { approve: [mail] } }')));
  expect([asked.status, asked.result.failed]).toEqual([0, 0]);
});

test('a baseline: the same is no failure, significantly worse exits with 1', async () => {
  const repeated = (text: string) => `
flow: ./lookup.flow.yaml
repeat: 30
cases: [{ name: one, input: tea, script: { agents: { bot: [${text}] } }, expect: { code: SUCCESS } }]
`;
  const cwd = files(repeated('"Fine."'));
  expect((await run(cwd, '--report', 'before.json')).status).toBe(0);
  expect(await run(cwd, '--baseline', 'before.json')).toMatchObject({ status: 0 });
  const worse = files(
    repeated('{ error: fatal, message: gone }').replace('{ code: SUCCESS }', '{ when: "code != null" }'),
  );
  const before = join(cwd, 'before.json');
  const compared = await run(worse, '--baseline', before);
  expect(compared.result.failed).toBe(0);
  expect(compared.status).toBe(1);
  expect(compared.result.comparisons.filter(({ worse: isWorse }) => isWorse).map(({ id }) => id)).toContain(
    'taskSuccessRate',
  );
  expect(readFileSync(before, 'utf8')).toContain('taskSuccessRate');
});

test('the database is needed for the mode `replay` only', async () => {
  const cwd = files(suiteOf('{ code: SUCCESS }'));
  expect((await run(cwd, '--db', 'missing.db')).status).toBe(0);
  const replaying = await run(files(suiteOf('{ code: SUCCESS }', 'modes: [golden, replay]')), '--db', 'missing.db');
  expect(replaying.status).toBe(1);
  expect(`${replaying.stdout}${replaying.stderr}`).toContain('there is no database at');
});

test('a soak of two thousand runs: memory and journal do not grow', { timeout: 120_000 }, async () => {
  const suite = `
flow: ./lookup.flow.yaml
modes: [soak]
soak: { runs: 2000 }
cases: [{ name: one, input: tea, script: { agents: { bot: ["Fine."] } } }]
`;
  const { status, result } = await run(files(suite));
  expect(status).toBe(0);
  expect(result.soak).toMatchObject({ runs: 2000 });
  expect(result.soak?.journalBytesPerRun).toBeGreaterThan(100);
  expect(result.soak?.growthMb).toBeCloseTo(10 + 2000 / 1024);
  expect(result.soak?.heapGrowthMb).toBeLessThanOrEqual(result.soak?.growthMb ?? 0);
});

test('journals that grow from run to run fail a soak; every case counts equally often', () => {
  const of = (length: number, sizeOf: (index: number) => number) => Array.from({ length }, (_, index) => sizeOf(index));
  expect(
    journalProblem(
      of(100, () => 500),
      1,
    ),
  ).toEqual([]);
  expect(
    journalProblem(
      of(100, (index) => (index % 2 === 0 ? 500 : 9000)),
      2,
    ),
  ).toEqual([]);
  expect(
    journalProblem(
      of(100, (index) => 500 + index),
      1,
    ),
  ).toEqual(['the journal of a run grew from 505 to 595 bytes']);
  expect(journalProblem([500], 1)).toEqual([]);
  expect(journalProblem([], 0)).toEqual([]);
});

test.each([
  ['no `cases`', 'flow: ./lookup.flow.yaml\n', 1],
  ['an empty list', 'flow: ./lookup.flow.yaml\ncases: []\n', 2],
  ['also with other modes', 'flow: ./lookup.flow.yaml\nmodes: [soak, replay]\ncases: []\n', 3],
])('a suite without cases is an error with its line: %s', async (_, suite, line) => {
  const { status, stdout } = await sluice(['eval', 'lookup.suite.yaml', '--json'], { cwd: files(suite) });
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, diagnostics: [{ code: 'bad-suite', line }] });
});

test('the same seed gives the same results', { timeout: 60_000 }, async () => {
  const modes = 'modes: [golden, faults, budgets, escalations]\nrepeat: 2\nmatrix: { seeds: [4, 9] }';
  const cwd = files(suiteOf('{ code: SUCCESS }', modes));
  const [first, second] = [await run(cwd), await run(cwd)];
  expect(first.result.cases.length).toBeGreaterThan(20);
  expect(second.result).toEqual(first.result);
});

test('the progress bar draws on a terminal only', () => {
  const drawn: string[] = [];
  const screen = { live: true, columns: () => 60, draw: (text: string) => void drawn.push(text) };
  const bar = createProgressBar({ screen, json: false, quiet: false } as unknown as Cli, 10, 'cases');
  bar.update(5, '1 failed');
  bar.clear();
  expect(drawn).toEqual([`\r\u001b[2K${'█'.repeat(15)}${'░'.repeat(15)} 5/10 cases 1 failed`, '\r\u001b[2K']);
  for (const silent of [
    { json: true, quiet: false },
    { json: false, quiet: true },
  ])
    createProgressBar({ screen, ...silent } as unknown as Cli, 10, 'cases').update(1);
  createProgressBar({ screen: { ...screen, live: false }, json: false, quiet: false } as unknown as Cli, 1, 'x').update(
    1,
  );
  expect(drawn).toHaveLength(2);
});

test('all seven modes run without an earlier document', { timeout: 60_000 }, async () => {
  const modes = 'modes: [golden, faults, budgets, escalations, replay, soak, policy]\nsoak: { runs: 50 }';
  const { status, result } = await run(files(suiteOf('{ code: SUCCESS }', modes)));
  expect(result.cases.filter(({ passed }) => !passed)).toEqual([]);
  expect(result.cases.map(({ name }) => name)).toContain('one [policy]');
  expect(status).toBe(0);
});

test('a suite names tasks of a staged flow as `path` lists them; an unknown stage is still an error', async () => {
  const flow = 'agents: [{ id: p }, { id: w }]\nstaged: { id: s, plan: { agent: p }, workers: { agent: w } }\n';
  const suite = (task: string) => `
flow: ./lookup.flow.yaml
cases:
  - name: one
    input: tea
    script: { agents: { p: ['{"tasks": [{"id": "tea", "brief": "Where from?"}]}'], w: [China] } }
    expect: { code: SUCCESS, path: [plan, ${task}, aggregate, validate, finalize] }
`;
  expect((await run(files(suite('workers/tea'), flow))).result).toMatchObject({ passed: 1, failed: 0 });
  expect((await run(files(suite('workers/milk'), flow))).result).toMatchObject({ passed: 0, failed: 1 });
  const unknown = await sluice(['eval', 'lookup.suite.yaml', '--json'], { cwd: files(suite('worker/tea'), flow) });
  expect(JSON.parse(unknown.stdout)).toMatchObject({ diagnostics: [{ code: 'bad-suite' }] });
});
