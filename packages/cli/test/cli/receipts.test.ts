/** Receipts, marked statements and refused answers are printed beside the words of the agent, and are in the JSON. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, report } from './cli.ts';
import { sluice } from './in-process.ts';

const DOCUMENT = `
tools:
  crm.get: { effect: read, trust: trusted }
  mail.send: { effect: communication, approval: always }
agents: [{ id: bot, instructions: Help., tools: [crm.get, mail.send] }]
boundary: { tools: { allow: ['*'] } }
loop: { id: desk, agent: bot }
`;
const script = (answer: string): string => `
agents:
  bot:
    - { text: '', tools: [{ name: crm.get, args: { id: c-1 } }] }
    - { text: '', tools: [{ name: mail.send, args: { to: ann@firm.example } }] }
    - ${JSON.stringify(answer)}
tools:
  crm.get: [{ result: { mail: ann@firm.example } }]
  mail.send: [{ result: { sent: true } }]
approvals: { mail.send: approve }
`;

async function run(answer: string, ...more: string[]) {
  const cwd = folder();
  writeFileSync(join(cwd, 'desk.yaml'), DOCUMENT);
  writeFileSync(join(cwd, 'desk.script.yaml'), script(answer));
  const done = await sluice(['run', 'desk.yaml', '--script', 'desk.script.yaml', '--input', 'Write to c-1', ...more], {
    cwd,
  });
  return { cwd, done };
}

test('the JSON lists every call in order, with arguments, result and the person who approved', async () => {
  const { done } = await run('I wrote to ann@firm.example.', '--json');
  expect(report(done)).toMatchObject({
    code: 'SUCCESS',
    receipts: [
      { tool: 'crm.get', effect: 'read', args: { id: 'c-1' }, result: { mail: 'ann@firm.example' }, approvedBy: null },
      {
        ...{ tool: 'mail.send', effect: 'communication', args: { to: 'ann@firm.example' }, status: 'committed' },
        approvedBy: 'script',
      },
    ],
  });
});

test('a run prints what it changed, and `show` prints what it read as well', async () => {
  const { cwd, done } = await run('I wrote to ann@firm.example.');
  expect(`${done.stdout}${done.stderr}`).toMatch(/receipt: mail\.send .*ann@firm\.example.*approved by script/);
  const id = /r_\w+/.exec(`${done.stdout}${done.stderr}`)?.[0] ?? '';
  const shown = await sluice(['show', id], { cwd });
  expect(shown.stdout).toMatch(/crm\.get .*c-1.* -> .*ann@firm\.example/);
  expect(shown.stdout).toMatch(/mail\.send/);
});

test('a false statement is printed beside the answer, once', async () => {
  const { done } = await run('I wrote to ann@firm.example and deleted the account A-77121.');
  const lines = `${done.stdout}\n${done.stderr}`.split('\n').map((line) => line.trim());
  const [violation = ''] = lines.filter((line) => line.startsWith('violation: '));
  expect(violation).not.toBe('');
  expect(lines).not.toContain(violation.replace('violation: ', 'partial: '));
});

test('an approval node approves the call that it leads to', async () => {
  const cwd = folder();
  const gate = `{ id: gate, type: approval, message: "Pay?", routes: [{ when: "approvals.gate == 'approve'", to: pay }] }`;
  writeFileSync(
    join(cwd, 'pay.yaml'),
    `
tools: { pay.out: { effect: financial, input: { type: object }, module: './pay.mjs#pay' } }
flow: { id: pay, entry: gate, nodes: [${gate}, { id: pay, type: tool, tool: pay.out, params: {} }] }
`,
  );
  writeFileSync(join(cwd, 'pay.mjs'), 'export const pay = () => ({ paid: true });');
  const waiting = report(await sluice(['run', 'pay.yaml', '--json'], { cwd }));
  const [question] = waiting['waiting'] as readonly { readonly id: string }[];
  const done = await sluice(['answer', question?.id ?? '', 'approve', '--as', 'anna', '--json'], { cwd });
  expect(report(done)).toMatchObject({ code: 'SUCCESS', receipts: [{ tool: 'pay.out', approvedBy: 'anna' }] });
});
