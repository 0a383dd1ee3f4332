/** What a user does between the commands: another folder, printed commands, and durations of parallel work. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnvironment, folder, json, RUN, report } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

const FLOW = `tools:
  desk.pay: { effect: write, module: ./tools.mjs#pay }
flow:
  id: desk
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Pay?", routes: [{ when: "approvals.gate == 'approve'", to: pay }, { to: end }] }
    - { id: pay, type: tool, tool: desk.pay, params: { amount: 20 } }
`;

test('answer and resume work from another folder: paths start at the document', async () => {
  const cwd = folder({
    'desk.flow.yaml': FLOW,
    'tools.mjs': 'export const pay = ({ amount }) => ({ paid: amount });\n',
  });
  const elsewhere = folder();
  const db = join(cwd, '.sluice/sluice.db');
  const { run, waiting } = report(await sluice(['run', 'desk.flow.yaml', '--json'], { cwd }));
  const resumed = await sluice(['resume', run, '--db', db, '--json'], { cwd: elsewhere });
  expect([resumed.status, report(resumed).state]).toEqual([3, 'suspended']);
  const answer = ['answer', waiting[0]?.id ?? '', 'approve', '--db', db, '--json'];
  const answered = await sluice(answer, { cwd: elsewhere });
  expect([answered.status, report(answered).output]).toEqual([0, { paid: 20 }]);
});

test('a printed command works as it is printed', async () => {
  const cwd = await newProject();
  const { stderr } = await sluice(RUN, { cwd });
  const command = stderr.split('\n').find((line) => / answer \S+ approve/.test(line));
  expect(command).toBeDefined();
  const env = cleanEnvironment();
  const path = `${join(process.execPath, '..')}:${env['PATH'] ?? ''}`;
  const out = execFileSync('sh', ['-c', command as string], { cwd, env: { ...env, PATH: path }, encoding: 'utf8' });
  expect(JSON.parse(out)).toMatchObject({ refunded: 250 });
});

test('a finished step before a fan-out is finished, with its own duration', async () => {
  const cwd = folder({
    'p.flow.yaml': `agents: [{ id: a }, { id: b }, { id: c }]
flow:
  id: p
  entry: first
  nodes:
    - { id: first, type: agent, agent: a, routes: [{ to: split }] }
    - { id: split, type: parallel, branches: [{ to: left }, { to: right }], routes: [{ to: done }] }
    - { id: left, type: agent, agent: b }
    - { id: right, type: agent, agent: c }
    - { id: done, type: terminal, output: ok }
`,
    's.yaml': `agents: { a: [{ delayMs: 1000, text: x }], b: [{ delayMs: 3000, text: y }], c: [{ delayMs: 2000, text: z }] }\n`,
  });
  const { stderr } = await sluice(['run', 'p.flow.yaml', '--script', 's.yaml'], { cwd });
  const lines = stderr.split('\n').filter((line) => /^(enter|done) /.test(line));
  expect(lines).toEqual([
    'enter    first',
    'done     first  1.0 s',
    'enter    split',
    'enter    left',
    'enter    right',
    'done     right  2.0 s',
    'done     left  3.0 s',
    'done     split  3.0 s',
    'enter    done',
    'done     done  0.0 s',
  ]);
  const events = json(await sluice(['logs', '--json'], { cwd })) as {
    type: string;
    node?: string;
    durationMs?: number;
  }[];
  const finished = events.filter(({ type }) => type === 'node.finished');
  expect(finished.map(({ node, durationMs }) => [node, durationMs])).toEqual([
    ['first', 1000],
    ['right', 2000],
    ['left', 3000],
    ['split', 3000],
    ['done', 0],
  ]);
});
