/** `sluice approvals` on a terminal is an inbox: list, choose, see the packet, answer. `run` asks only a person who may answer. */
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { folder, report } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { onTerminal } from '../cli/on-terminal.ts';
import { anna, ben } from '../../../engine/test/people/people.ts';

const FLOW = `flow:
  id: f
  entry: gate
  nodes: [{ id: gate, type: approval, message: "Go on?" }]
`;
const SIGNERS = `people:
  - { id: anna, key: "${anna.line}" }
  - { id: ben, key: "${ben.line}" }
`;
const HERE = `people:
  - { id: somebody_here, os_user: "${userInfo().username}" }
`;
const files = { 'signed.yaml': SIGNERS + FLOW, 'here.yaml': HERE + FLOW, 'anna.pem': anna.key, 'ben.pem': ben.key };

test('a person answers from the inbox, and a wrong key is shown', { timeout: 60_000 }, async () => {
  const cwd = folder(files);
  await sluice(['run', 'signed.yaml', '--run', 'r', '--json'], { cwd });
  const { status, lines } = await onTerminal(
    cwd,
    ['approvals'],
    [
      ['to leave: ', '7\r'],
      ['to leave: ', '1\r'],
      ['Your name', 'anna\r'],
      ['without one: ', 'ben.pem\r'],
      ['or name: ', 'approve\r'],
      ['to leave: ', '1\r'],
      ['Your name', 'anna\r'],
      ['without one: ', 'anna.pem\r'],
      ['or name: ', 'approve\r'],
    ],
  );
  expect(status).toBe(0);
  expect(lines.join('\n')).toContain('there are no open questions');
  expect(report(await sluice(['show', 'r', '--json'], { cwd }))).toMatchObject({ approvals: { gate: 'approve' } });
});

test('`run` on a terminal does not ask a person who may not answer', { timeout: 60_000 }, async () => {
  const cwd = folder(files);
  const { status, lines } = await onTerminal(cwd, ['run', 'signed.yaml'], []);
  expect(status).toBe(3);
  expect(lines.join('\n')).toContain('may answer: anna, ben');
});

test('`run` on a terminal asks the person whose user it is', { timeout: 60_000 }, async () => {
  const cwd = folder(files);
  const { status } = await onTerminal(cwd, ['run', 'here.yaml', '--run', 'r'], [['or name: ', 'approve\r']]);
  expect(status).toBe(0);
  const trace = await sluice(['trace', 'r', '--json'], { cwd });
  expect(trace.stdout).toContain('"by": "somebody_here"');
});
