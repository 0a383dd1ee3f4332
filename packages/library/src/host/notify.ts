/**
 * Calls the hooks that announce questions: a webhook with a signature that the receiver can check, or a program that reads the
 * message from its standard input.
 */
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import type { Notification } from '@sluice-internal/engine/ports';

export async function notify(notification: Notification): Promise<void> {
  const { hook } = notification;
  await ('webhook' in hook ? post(hook, notification) : run(hook.command, notification));
}

/** The receiver computes the HMAC over `<timestamp>.<body>` and refuses old timestamps. */
async function post(
  { webhook, secretEnv }: { readonly webhook: string; readonly secretEnv: string },
  { body, id, signal }: Notification,
): Promise<void> {
  const secret = process.env[secretEnv] ?? '';
  if (secret === '') throw new Error(`the environment variable ${secretEnv} is not set`);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'sluice-delivery': id,
    'sluice-timestamp': timestamp,
    'sluice-signature': `v1=${signature}`,
  };
  const response = await fetch(webhook, { method: 'POST', body, headers, signal, redirect: 'manual' });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
}

/** The program gets the path and the home of this process, and no other variable. */
function run(command: readonly string[], { body, documentDir, signal }: Notification): Promise<void> {
  const [program = '', ...args] = command;
  const cwd = documentDir ?? process.cwd();
  const path = /^\.{1,2}\//.test(program) ? resolve(cwd, program) : program;
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  return new Promise((done, failed) => {
    const child = spawn(path, args, { cwd, env, signal, stdio: ['pipe', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr = `${stderr}${chunk.toString()}`.slice(0, 500)));
    child.once('error', failed);
    child.once('close', (code) =>
      code === 0 ? done() : failed(new Error(`exit ${code ?? 'by signal'} ${stderr}`.trim())),
    );
    // A program that reads nothing closes its standard input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(body);
  });
}
