/** The live view and the approval box on a real pseudo terminal, made by `script` of util-linux. */
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder } from './cli.ts';
import { newProject, sluice } from './in-process.ts';
import { onTerminal } from './on-terminal.ts';

const RUN = ['run', 'support.flow.yaml', '--script', 'slow.yaml', '--input', '@input.json'];

async function project(text: string): Promise<string> {
  const cwd = await newProject();
  const slow = `clock: real
agents:
  triage_bot: [ { delayMs: 1200, text: ${JSON.stringify(text)} } ]
tools: { payments.refund: [ { delayMs: 600, result: { paid: true } } ] }
`;
  writeFileSync(join(cwd, 'slow.yaml'), slow);
  return cwd;
}

const TRIAGED = '{"category": "refund", "amount": 250}';

test('Enter answers no question and leaves no lines; a choice is typed', { timeout: 60_000 }, async () => {
  const cwd = await project(TRIAGED);
  const { lines, status } = await onTerminal(cwd, RUN, [
    ['agent triage_bot', '\r\r\r'],
    ['or name: ', '\r'],
    ['or name: ', 'approve\r'],
    ['payments.refund', '\r\r'],
  ]);
  expect(status).toBe(0);
  const first = lines.findIndex((line) => line.startsWith('run r_'));
  const box = lines.findIndex((line) => line === '┌ gate asks');
  expect(lines.slice(first, box).filter((line) => line === '')).toEqual([]);
  expect(lines.slice(first, box).filter((line) => line.includes('triage'))).toHaveLength(1);
  expect(lines.slice(box, box + 3)).toEqual(['┌ gate asks', '│ Refund $250 for order A-1001?', '│']);
  expect(lines).toContain('│ 1  approve');
  expect(lines).toContain('│ 3  decide later');
  expect(lines).toContain('Type a number from 1 to 3, a name, or `more`.');
  const after = lines.slice(lines.indexOf('Your choice, as number or name: approve') + 1);
  expect(after.filter((line) => line.includes('✓ pay'))).toHaveLength(1);
  expect(after.join('\n')).toContain('"refunded": 250');
  expect(after.slice(0, -1).filter((line) => line === '')).toEqual([]);
});

test('a person can decide later, and Ctrl-C stops a run', { timeout: 60_000 }, async () => {
  const cwd = await project(TRIAGED);
  const later = await onTerminal(cwd, RUN, [['or name: ', '3\r']]);
  expect(later.status).toBe(3);
  const left = await onTerminal(cwd, RUN, [['or name: ', '\u0003']]);
  expect(left.status).toBe(3);
  const asked = left.lines.findIndex((line) => line.startsWith('Your choice'));
  expect(left.lines[asked]).toBe('Your choice, as number or name:');
  expect(left.lines[asked + 1]).toMatch(/^\? suspended/);
  const stopped = await onTerminal(cwd, RUN, [['agent triage_bot', '\u0003']]);
  expect(stopped.status).toBe(1);
  expect(stopped.lines.join(' ')).toContain('error[interrupted]: stopped; run');
});

const STAGED = `agents: [{ id: planner }, { id: worker }, { id: critic }]
budgets: { model_calls: 20 }
staged:
  id: notes
  tier: regulated
  topology: supervisor
  plan: { agent: planner }
  workers: { agent: worker, max: 2 }
  validate: { agent: critic, confidence: 0.8 }
`;

const STAGED_SCRIPT = `agents:
  planner: '{"tasks":[{"id":"a","brief":"look"}]}'
  worker: nothing
  critic:
    - '{"ok": false, "confidence": 0.9, "problem": "thin"}'
    - '{"ok": true, "confidence": 0.9, "problem": ""}'
`;

test('the inbox takes the data of an edit as JSON, also for the result of a stage', { timeout: 60_000 }, async () => {
  const cwd = folder({ 'notes.yaml': STAGED, 'script.yaml': STAGED_SCRIPT });
  const waiting = await sluice(['run', 'notes.yaml', '--script', 'script.yaml', '--run', 's1'], { cwd });
  expect(waiting.status).toBe(3);
  const { lines, status } = await onTerminal(
    cwd,
    ['approvals'],
    [
      ['q to leave: ', '1\r'],
      ['or name: ', 'edit\r'],
      ['as JSON: ', 'better\r'],
      ['as JSON: ', '[{"id":"a","summary":"better"}]\r'],
    ],
  );
  expect([status, lines]).toEqual([0, expect.arrayContaining(['That is not valid JSON.'])]);
  const shown = JSON.parse((await sluice(['show', 's1', '--json'], { cwd })).stdout) as Record<string, unknown>;
  expect(shown).toMatchObject({ code: 'SUCCESS', output: [{ id: 'a', summary: 'better' }] });
});

const PEOPLE = `people: [{ id: ivy, os_user: ${userInfo().username} }, { id: kim, key: "ed25519:bfDjiC6-MgS0Zs04eVyB7y8TYAe-MfUCfGWpUEcVrV4" }]
flow: { id: ask, entry: gate, nodes: [{ id: gate, type: approval, message: "Send it?" }] }
`;

test('the inbox asks only people who sign for a key', { timeout: 60_000 }, async () => {
  const cwd = folder({ 'ask.yaml': PEOPLE });
  await sluice(['run', 'ask.yaml', '--run', 'r1'], { cwd });
  const { lines, status } = await onTerminal(
    cwd,
    ['approvals'],
    [
      ['q to leave: ', '1\r'],
      ['Your name', 'kim\r'],
      ['Your key', 'nothing\r'],
      ['or name: ', 'approve\r'],
      ['q to leave: ', '1\r'],
      ['Your name', 'ivy\r'],
      ['or name: ', 'approve\r'],
    ],
  );
  expect(status).toBe(0);
  expect(lines.filter((line) => line.startsWith('Your key'))).toHaveLength(1);
  expect(lines).toContain('there is no file `nothing`');
  expect(lines).toContain('there are no open questions');
});

test('at 40 columns sentences are broken between words', { timeout: 120_000 }, async () => {
  const cwd = await newProject();
  const page = async (...args: string[]): Promise<string> => (await onTerminal(cwd, args, [], 40)).lines.join('\n');
  expect(await page('check', 'support.flow.yaml')).toMatch(/ {2}ends {4}SUCCESS, [A-Z_, ]+\n {4}[A-Z_, ]+\n/);
  expect(await page('check', 'suport.flow.yaml')).toContain('there is no file\n  `suport.flow.yaml`\n');
});
