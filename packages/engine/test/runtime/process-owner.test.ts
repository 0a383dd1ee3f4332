/** Who is certainly dead. The price of a wrong yes is work that is done twice, so every doubt is a no. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { thisProcess, isDeadProcess } from '../../src/ports/process-owner.ts';

const CHILD = join(import.meta.dirname, 'process-owner-child.ts');
const own = thisProcess() ?? '';

test('a process that lives is not dead, be it this one, another, or one that was stopped', async () => {
  expect(own).not.toBe('');
  expect(isDeadProcess(own)).toBe(false);
  const child = started(process.execPath, CHILD, 'stay');
  const holder = await said(child);
  expect(isDeadProcess(holder)).toBe(false);
  child.kill('SIGSTOP');
  await until(() => /\) T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8')));
  expect(isDeadProcess(holder)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isDeadProcess(holder)).toBe(true);
});

test('what a parent has not looked at yet is dead all the same', async () => {
  // The shell becomes a program that never asks what became of its child.
  const shell = started('sh', '-c', `"${process.execPath}" "${CHILD}" & exec sleep 1000`);
  const holder = await said(shell);
  await until(() => isDeadProcess(holder));
  const pid = holder.split(' ').at(-2);
  expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
});

test('a later process under the same number is another one', () => {
  const [pid, start] = own.split(' ').slice(-2);
  expect(isDeadProcess(own.replace(/ \d+$/, ` ${Number(start) - 1}`))).toBe(true);
  expect(own.endsWith(` ${pid} ${start}`)).toBe(true);
});

test('of other machines, other boots and other containers we know nothing', () => {
  const [host, boot, space] = own.split(' ');
  expect(isDeadProcess(`${host} ${boot} ${space} 2147483647 1`)).toBe(true);
  for (const place of [`elsewhere ${boot} ${space}`, `${host} before ${space}`, `${host} ${boot} pid:[1]`])
    expect(isDeadProcess(`${place} 2147483647 1`)).toBe(false);
});

test.each(['', 'nonsense', `${own.split(' ').slice(0, 3).join(' ')} 0 1`, own.split(' ').slice(0, 4).join(' ')])(
  'what does not name a process is not dead: `%s`',
  (holder) => {
    expect(isDeadProcess(holder)).toBe(false);
  },
);

function started(command: string, ...args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function said(child: ChildProcess): Promise<string> {
  const lines = createInterface(child.stdout as NonNullable<ChildProcess['stdout']>);
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
