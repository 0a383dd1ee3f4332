/** A private Restate server on loopback ports with its data in a temporary folder; it ends with this process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { freshDir, removeDir } from '../disk.ts';
import { freePort } from './free-port.ts';

const START_MS = 30_000;

export interface RestateServer {
  pid: number;
  dir: string;
  ingress: string;
  admin: string;
  close: () => Promise<void>;
}

export async function startRestate(): Promise<RestateServer> {
  const dir = freshDir('restate');
  const [fabric, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(binary(), ['--no-logo', '--base-dir', dir], {
    stdio: ['ignore', 'ignore', 2],
    env: {
      ...process.env,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_LOG_FILTER: 'error,octocrab=off',
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const server: RestateServer = {
    pid: child.pid ?? 0,
    dir,
    ingress: `http://127.0.0.1:${ingress}`,
    admin: `http://127.0.0.1:${admin}`,
    close: async () => {
      const exited = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGKILL')) await exited;
      removeDir(dir);
    },
  };
  await healthy(`${server.admin}/health`);
  await healthy(`${server.ingress}/restate/health`);
  return server;
}

export async function register(server: RestateServer, uri: string): Promise<void> {
  const response = await fetch(`${server.admin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri }),
  });
  if (!response.ok) throw new Error(`Restate refused the services: ${await response.text()}`);
}

function binary(): string {
  const require = createRequire(import.meta.url);
  return require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
}

async function healthy(url: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok === true) return;
    await setTimeout(100);
  }
  throw new Error(`Restate did not answer at ${url} within ${START_MS / 1_000} s`);
}
