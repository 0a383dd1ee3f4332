/** `metrics`, `explain` and the formats of `trace` through the command line. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder, root, RUN } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

const EXAMPLES = join(root, 'examples');
const KEYS = [
  'taskSuccessRate',
  'unverifiedRate',
  'correctTermination',
  'trajectoryValidity',
  'trajectoryEfficiency',
  'escalationAccuracy',
  'stepCountEfficiency',
  'loopDepthLimit',
  'toolCallCount',
  'failedToolCalls',
  'retryRate',
  'timeoutRate',
  'budgetAdherence',
  'costPerSuccess',
  'observationGroundingRate',
  'memoryWriteQuality',
  'humanOverrideRate',
  'userCorrectionRate',
  'traceCompleteness',
];

const FAILS = `
tools: { find: { effect: read } }
flow: { id: failing, entry: look, nodes: [{ id: look, type: tool, tool: find }] }
`;

async function ranExamples(): Promise<string> {
  const cwd = folder({ 'failing.flow.yaml': FAILS, 'failing.script.yaml': 'tools: { find: [{ error: fatal }] }' });
  const run = (file: string, name: string): string[] => [
    'run',
    `${file}.flow.yaml`,
    '--script',
    `${file}.script.yaml`,
    '-q',
    '--run',
    name,
  ];
  await sluice(run(join(EXAMPLES, 'refund'), 'refund'), { cwd });
  await sluice(run('failing', 'failing'), { cwd });
  return cwd;
}

describe('metrics, explain and trace', () => {
  test('one command each, over the same journals', { timeout: 60_000 }, async () => {
    const cwd = await ranExamples();
    const json = await sluice(['metrics', '--json'], { cwd });
    const metrics = JSON.parse(json.stdout) as { readonly [key: string]: number | null };
    expect(Object.keys(metrics)).toEqual(KEYS);
    expect(metrics).toMatchObject({ taskSuccessRate: 0.5, correctTermination: 1, escalationAccuracy: null });

    const files = ['m.json', 'm.md', 'm.html', 'm.xml', 'm.txt'];
    const written = await sluice(['metrics', '--report', ...files], { cwd });
    expect([written.status, written.stdout]).toEqual([0, expect.stringContaining('Task Success Rate')]);
    const [, markdown = '', html = '', junit = ''] = files.map((file) => readFileSync(join(cwd, file), 'utf8'));
    expect(markdown).toContain('| Task Success Rate | 50 % | ≥ 98 % | missed | 2 |');
    expect(html).toMatch(/<svg[\s\S]*<\/html>/);
    expect(html).not.toMatch(/<script|src=|https?:/);
    expect(junit).toMatch(/<testcase classname="metrics" name="taskSuccessRate"[^>]*><failure/);
    const gated = await sluice(['metrics', '--gate', '--since', '1h', '--baseline', 'm.json'], { cwd });
    expect(gated.status).toBe(1);
    const same = await sluice(['metrics', '--baseline', 'm.json'], { cwd });
    expect([same.status, same.stdout]).toEqual([0, expect.stringContaining('50 % → 50 %, p = 1')]);

    const art = JSON.parse((await sluice(['trace', 'refund', '--format', 'art'], { cwd })).stdout) as object;
    expect(art).toMatchObject({ run_id: 'refund', tenant_id: 'default', terminal_code: 'SUCCESS' });
    const said = await sluice(['explain', 'refund'], { cwd });
    expect(said.stdout).toMatch(/^The agent was allowed to call payments\.refund/);
  });

  test('explain names the signal or the question that a run waits for', async () => {
    const node = (more: string): string => `flow: { id: w, entry: n, nodes: [{ id: n, ${more} }] }\n`;
    const cwd = folder({
      'signal.yaml': node('type: wait, signal: shipped'),
      'ask.yaml': node('type: approval, message: "Go?"'),
    });
    for (const [file, end] of [
      ['signal', 'and waits for the signal shipped.\n'],
      ['ask', 'and waits for a person (CONFIRM_REQUIRED): Go?\n'],
    ] as const) {
      await sluice(['run', `${file}.yaml`, '--run', file], { cwd });
      expect((await sluice(['explain', file], { cwd })).stdout).toContain(end);
    }
  });

  test('no database is no data, and mistakes are named', { timeout: 60_000 }, async () => {
    const cwd = folder({ 'x.json': '{}' });
    const none = JSON.parse((await sluice(['metrics', '--json'], { cwd })).stdout) as object;
    expect(new Set(Object.values(none))).toEqual(new Set([null]));
    // A gate that measured nothing must not be open.
    const gate = await sluice(['metrics', '--gate'], { cwd });
    expect([gate.status, gate.stderr]).toEqual([
      1,
      expect.stringContaining('no run was measured, so no target is met'),
    ]);
    expect((await sluice(['metrics', '--gate', '--json'], { cwd })).status).toBe(1);
    expect((await sluice(['metrics'], { cwd })).status).toBe(0);
    const wrong = [
      await sluice(['metrics', '--since', 'yesterday'], { cwd }),
      await sluice(['metrics', '--report', 'report.pdf'], { cwd }),
      await sluice(['metrics', '--baseline', 'x.json'], { cwd }),
      await sluice(['trace', 'r_1', '--format', 'xml'], { cwd }),
      await sluice(['metrics', '--baseline', 'before.json'], { cwd }),
    ];
    expect(wrong.map(({ status }) => status)).toEqual([2, 2, 1, 2, 2]);
    expect(wrong[0]?.stderr).toContain('a date such as 2026-11-01');
    expect(wrong[1]?.stderr).toContain('.json, .md, .html, .xml, .txt');
    expect(wrong[2]?.stderr).toContain('bad-baseline');
    expect(wrong[4]?.stderr).toContain('Write it once, without `--baseline`, with `--report before.json`');
  });

  test('a misspelt flow is not a flow without runs', { timeout: 60_000 }, async () => {
    const cwd = await newProject();
    await sluice(RUN, { cwd });
    const wrong = await sluice(['metrics', '--flow', 'suport'], { cwd });
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean `support`?')]);
    expect((await sluice(['metrics', '--flow', 'support'], { cwd })).stdout).toMatch(/^1 run of `support`/);
  });
});

test('diagnose: a run, a span, and mistakes', { timeout: 60_000 }, async () => {
  const cwd = await ranExamples();
  const one = await sluice(['diagnose', 'failing', '--json'], { cwd });
  expect([one.status, JSON.parse(one.stdout)]).toMatchObject([
    0,
    { run: 'failing', findings: [], failure: { node: 'look' } },
  ]);
  const all = await sluice(['diagnose', '--since', '1h', '--json'], { cwd });
  const { runs, diagnoses } = JSON.parse(all.stdout) as {
    runs: number;
    diagnoses: { code: string; failure: object }[];
  };
  expect(runs).toBe(2);
  expect(diagnoses.map(({ code }) => code)).toContain('UNAVAILABLE_DEP');
  expect((await sluice(['diagnose'], { cwd })).status).toBe(2);
  expect((await sluice(['diagnose', 'nope'], { cwd })).status).toBe(1);
});

test(
  'diagnose --judge: an agent names the decisive step, only where it is asked for',
  { timeout: 60_000 },
  async () => {
    const cwd = await ranExamples();
    const plain = JSON.parse((await sluice(['diagnose', 'failing', '--json'], { cwd })).stdout) as {
      failure: { seq: number };
      judged?: unknown;
    };
    expect(plain).not.toHaveProperty('judged');
    const trace = JSON.parse((await sluice(['trace', 'failing', '--json'], { cwd })).stdout) as {
      seq: number;
      type: string;
    }[];
    const seq = trace.find(({ type }) => type === 'effect.requested')?.seq ?? 0;
    const say = (name: string, number: number) =>
      writeFileSync(join(cwd, name), `agents: { judge: ['{"agent": null, "seq": ${number}, "why": "it gave up"}'] }\n`);
    say('good.yaml', seq);
    say('invented.yaml', 9999);
    const judged = await sluice(['diagnose', 'failing', '--judge', '--script', 'good.yaml', '--json'], { cwd });
    expect(JSON.parse(judged.stdout)).toMatchObject({
      failure: plain.failure,
      judged: { seq, why: 'it gave up', by: 'script' },
    });
    const text = await sluice(['diagnose', 'failing', '--judge', '--script', 'good.yaml'], { cwd });
    expect(text.stdout).toContain(`judged by script: the flow at event ${seq}: it gave up`);
    const invented = await sluice(['diagnose', 'failing', '--judge', '--script', 'invented.yaml'], { cwd });
    expect([invented.status, invented.stderr]).toEqual([1, expect.stringContaining('names event 9999')]);
    writeFileSync(
      join(cwd, 'forged.yaml'),
      `agents: { judge: ['{"agent": "eve\\u001b[2J", "seq": ${seq}, "why": "x"}'] }\n`,
    );
    const forged = await sluice(['diagnose', 'failing', '--judge', '--script', 'forged.yaml'], { cwd });
    expect([forged.status, forged.stderr]).toEqual([
      1,
      expect.stringContaining('the judge names the agent eve\\u{1b}[2J'),
    ]);
    for (const wrong of [['--judge'], ['--script', 'good.yaml']])
      expect((await sluice(['diagnose', 'failing', ...wrong], { cwd })).status).toBe(2);
    expect((await sluice(['diagnose', '--since', '1h', '--judge', 'x/y'], { cwd })).status).toBe(2);
  },
);
