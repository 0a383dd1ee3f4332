/**
 * `sluice worker`: continues the runs of a database that no live process owns, until it is stopped. Any number of workers can share a
 * database, beside `sluice serve` and other commands.
 */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { present } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { EngineHealth } from '@sluice-internal/engine/ports';
import { composeEngine } from '@sluice-internal/library/compose';
import { FAILED, OK, definitionTools, readNumber, readWhole, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { withoutPassword } from '@sluice-internal/library/host';
import type { Options } from '../table/command-table.ts';
import { openFor } from '../session/store.ts';
import { engineWorld } from '../session/world.ts';

const READY_POLL_MS = 20;

export async function workerCommand(cli: Cli, options: Options<'worker'>): Promise<ExitStatus> {
  const { script, ...others } = options;
  if (script !== undefined)
    throw usage('a worker plays no script', 'Continue a scripted run with `sluice resume RUN`, which uses its script.');
  const concurrency = readWhole('--concurrency', options.concurrency, 1);
  const drainMs = (readNumber('--drain', options.drain) ?? 0) * 1000;
  const port = readWhole('--port', options.port, 0, 65_535) ?? 0;
  const stop = stopRequested();
  const store = openFor(cli);
  await store.ready?.();
  let fault: Error | null = null;
  const { promise: failed, resolve } = Promise.withResolvers<Error>();
  const { options: world } = engineWorld(cli, others);
  // A call whose model, key or tool is missing fails. A command would pause the run for a person to add it; nobody watches a worker.
  const { onMissing: _, ...engineOptions } = world;
  const { engine } = composeEngine(
    {
      ...engineOptions,
      journal: cli.db,
      pickUp: true,
      ...present({ concurrency }),
      onNotice: (message) => cli.warn(message),
      onFault: (error) => {
        if (engine.health().store !== 'failed') return cli.warn(error.message);
        fault = error;
        resolve(error);
      },
    },
    { store, flowTools: definitionTools, checked: true },
  );
  const health = await listening(options.host ?? '127.0.0.1', port, () => engine.health());
  try {
    const url = addressOf(health);
    const over = Promise.race([stop.requested, failed.then(() => null)]);
    if (await leased(() => engine.health(), over)) {
      if (cli.json) cli.screen.printData(JSON.stringify({ ready: true, health: url }));
      else cli.screen.print(`working on ${withoutPassword(cli.db)}; health at ${url}`);
    }
    const why = await over;
    if (why !== null) cli.hint(`stopping (${why}): calls in flight have ${drainMs / 1000} s`);
    await engine.drain(fault === null ? drainMs : 0);
  } finally {
    health.close();
    health.closeAllConnections();
    await engine.close();
    stop.dispose();
  }
  if (fault !== null) throw fault as Error;
  return process.exitCode === FAILED ? FAILED : OK;
}

/** True as soon as the worker has its lease, and false if it ends before. */
async function leased(health: () => EngineHealth, over: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  void over.then(() => (isOver = true));
  while (!isOver && !health().lease) await sleep(READY_POLL_MS);
  return !isOver;
}

/** The first signal drains, the second one ends the process. */
function stopRequested(): { readonly requested: Promise<NodeJS.Signals>; dispose(): void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isRequested = false;
  const listener = (signal: NodeJS.Signals): void => {
    if (isRequested) process.exit(signal === 'SIGINT' ? 130 : 143);
    isRequested = true;
    resolve(signal);
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, listener);
  return {
    requested: promise,
    dispose: () => {
      for (const signal of signals) process.removeListener(signal, listener);
    },
  };
}

/** 200 while the worker can work, and 503 while it waits for its store or has stopped. Both say why. */
function listening(host: string, port: number, health: () => EngineHealth): Promise<Server> {
  const server = createServer((request, response) => {
    const found = health();
    const ok = found.store === 'reached' && found.lease;
    const isKnown = request.method === 'GET' || request.method === 'HEAD';
    response.writeHead(isKnown ? (ok ? 200 : 503) : 405, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
    });
    response.end(isKnown && request.method === 'GET' ? `${JSON.stringify({ ok, ...found })}\n` : undefined);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another process listens there' : error.message;
      const help = 'Choose another port with `--port`.';
      reject(new SluiceError('port-unavailable', `\`${host}:${port}\` cannot be used: ${why}`, help, error));
    });
    server.listen(port, host, () => resolve(server));
  });
}

function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/`;
}
