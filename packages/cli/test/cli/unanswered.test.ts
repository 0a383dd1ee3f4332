/** Questions that a script leaves open: the virtual clock does not decide for a person. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, report } from './cli.ts';
import { sluice } from './in-process.ts';

const FLOW = `flow:
  id: demo
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Pay?", choices: [pay, reject], timeout: 3600, on_timeout: pay }
`;

function project(script: string, flow = FLOW): string {
  return folder({ 'a.flow.yaml': flow, 's.yaml': script });
}

const RUN = ['run', 'a.flow.yaml', '--script', 's.yaml', '--json'];

test('an approval with a timeout that the script does not answer suspends the run', async () => {
  const cwd = project('agents: {}\n');
  const ran = await sluice(RUN, { cwd });
  expect(ran.status).toBe(3);
  const { state, approvals, waiting } = report(ran);
  expect([state, approvals, waiting.map(({ node }) => node)]).toEqual(['suspended', {}, ['gate']]);
  const answered = await sluice(['answer', waiting[0]?.id ?? '', 'reject', '--script', 's.yaml', '--json'], { cwd });
  expect([answered.status, report(answered).approvals]).toEqual([0, { gate: 'reject' }]);
});

test('resume does not pass the timeout either', async () => {
  const cwd = project('agents: {}\n');
  const { run } = report(await sluice(RUN, { cwd }));
  const resumed = await sluice(['resume', run, '--script', 's.yaml', '--json'], { cwd });
  expect([resumed.status, report(resumed).state]).toEqual([3, 'suspended']);
});

test('a script can say that the question expires', async () => {
  const ran = await sluice(RUN, { cwd: project('approvals: { gate: { expires: true } }\n') });
  expect([ran.status, report(ran).approvals]).toEqual([0, { gate: 'pay' }]);
});

test('an entry of a list can expire, and the next visit asks again', async () => {
  const flow = FLOW.replace(
    'on_timeout: pay }',
    'on_timeout: reject, max_visits: 2, on_exhausted: stop, routes: [{ to: gate }] }',
  ).concat('    - { id: stop, type: terminal, output: "{{approvals.gate}}" }\n');
  const ran = await sluice(RUN, { cwd: project('approvals: { gate: [{ expires: true }, pay] }\n', flow) });
  expect([ran.status, report(ran).output]).toEqual([0, 'pay']);
});

test('delays, timers and signals that the script does not send pass at once', async () => {
  const flow = `flow:
  id: demo
  entry: nap
  nodes:
    - { id: nap, type: wait, for: 3600, routes: [{ to: pause }] }
    - { id: pause, type: wait, signal: shipped, timeout: 3600, on_timeout: gate, routes: [{ to: end }] }
    - { id: gate, type: approval, message: "Pay?", timeout: 60 }
`;
  const ran = await sluice(RUN, { cwd: project('agents: {}\n', flow) });
  expect([ran.status, report(ran).path]).toEqual([3, ['nap', 'pause', 'gate']]);
});

test('a misspelt entry is one error with its place and the nearest name', async () => {
  const cwd = project('agents: {}\n');
  for (const [entry, message] of [
    ['{ expire: true }', 'Did you mean `expires`?'],
    ['{ text: no }', 'the answer to `gate` needs `choice`'],
    ['{ expires: false }', 'the answer to `gate` needs `choice`'],
  ] as const) {
    writeFileSync(join(cwd, 's.yaml'), `approvals:\n  gate: ${entry}\n`);
    const ran = await sluice(RUN.slice(0, -1), { cwd });
    expect(ran.status, readFileSync(join(cwd, 's.yaml'), 'utf8')).toBe(1);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).toContain('s.yaml: 1 error\n');
    expect(ran.stderr).toContain('s.yaml:2:');
  }
});
