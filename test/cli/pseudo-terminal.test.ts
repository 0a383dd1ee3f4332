/** The live view and the approval box on a real pseudo terminal, made by `script` of util-linux. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newProject } from './in-process.ts';
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
  expect(lines).toContain('Type a number from 1 to 3, or a name.');
  const after = lines.slice(lines.indexOf('Your choice, as number or name: approve') + 1);
  expect(after.filter((line) => line.includes('✓ pay'))).toHaveLength(1);
  expect(after.join('\n')).toContain('"refunded": 250');
  expect(after.slice(0, -1).filter((line) => line === '')).toEqual([]);
});

test('a person can decide later, and Ctrl-C stops a run', { timeout: 60_000 }, async () => {
  const cwd = await project(TRIAGED);
  const later = await onTerminal(cwd, RUN, [['or name: ', '3\r']]);
  expect(later.status).toBe(3);
  const stopped = await onTerminal(cwd, RUN, [['agent triage_bot', '\u0003']]);
  expect(stopped.status).toBe(1);
  expect(stopped.lines.join(' ')).toContain('error[interrupted]: stopped; run');
});
