/**
 * Restate, one server on loopback with its defaults (the log waits for fsync), a service over HTTP/2 in this process.
 * A step is a `ctx.run`; the state of a run is that of a virtual object.
 */
import * as sdk from '@restatedev/restate-sdk';
import * as clients from '@restatedev/restate-sdk-clients';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import { bytesOnDisk, bytesResident } from '../disk.ts';
import { liveHeap, metered, payload, timed } from '../gauge.ts';
import { RESULT_BYTES } from '../shape.ts';
import type { Contestant, Measurement, Point } from '../shape.ts';
import { freePort } from './free-port.ts';
import { register, startRestate } from './restate-server.ts';
import type { RestateServer } from './restate-server.ts';
import { versionOf } from './version.ts';

const RESULT = payload(RESULT_BYTES);
const PAUSED_RUNS = 1_000;
const HISTORY_SIZES = [250, 500, 1_000, 2_000];

export const restate: Contestant = {
  name: 'restate',
  version: ['@restatedev/restate-sdk', '@restatedev/restate-server'].map(versionOf).join(', '),
  shapes: {
    'chain-100': () => timing(({ flows }) => flows.chain(100)),
    'loop-1000': () => timing(({ flows }) => flows.loop(1_000)),
    'fanout-1000': () => timing(({ flows }) => flows.fanout(1_000)),
    'runs-1000x10': () => timing(({ flows }) => Promise.all(Array.from({ length: 1_000 }, () => flows.chain(10)))),
    'paused-10000': paused,
    'state-1mb-100': state,
    'history-n': history,
  },
  missing: {
    'resume-10000': 'a server resumes when it likes, so there is no moment to time',
    'resume-snapshot': 'a server resumes when it likes, so there is no moment to time',
    'compile-2000': 'workflows are code',
  },
  notes: {
    'paused-10000': `with ${PAUSED_RUNS} runs; memory is the worker's live heap and the growth of the server`,
    'state-1mb-100': 'written by the server, which compresses and flushes tables later',
    'history-n': `with ${HISTORY_SIZES.join(', ')} messages as results of steps`,
  },
  close: async () => {
    await (await opened)?.close();
  },
};

let waiting = 0;

const flows = sdk.service({
  name: 'flows',
  handlers: {
    chain: async (ctx: sdk.Context, length: number) => {
      let last = '';
      for (let step = 0; step < length; step += 1) last = await ctx.run('step', () => RESULT);
      return last;
    },
    loop: async (ctx: sdk.Context, rounds: number) => {
      let count = 0;
      for (;;) {
        const result = await ctx.run('body', () => RESULT);
        count += 1;
        if (count >= rounds) return result;
      }
    },
    fanout: async (ctx: sdk.Context, width: number) => {
      const branches = Array.from({ length: width }, () => ctx.run('branch', () => RESULT));
      return (await sdk.RestatePromise.all(branches)).length;
    },
    pause: sdk.handlers.handler({ inactivityTimeout: 500 }, async (ctx: sdk.Context, _run: number) => {
      await ctx.run('draft', () => RESULT);
      const { promise } = ctx.awakeable<string>();
      waiting += 1;
      return promise;
    }),
  },
});

const carriers = sdk.object({
  name: 'carriers',
  handlers: {
    carry: async (ctx: sdk.ObjectContext, steps: number) => {
      ctx.set('blob', payload(1_000_000));
      for (let step = 0; step < steps; step += 1) await ctx.run('step', () => RESULT);
    },
  },
});

interface Session {
  server: RestateServer;
  ingress: clients.Ingress;
  flows: clients.IngressClient<typeof flows extends sdk.ServiceDefinition<string, infer M> ? M : never>;
  close: () => Promise<void>;
}

let opened: Promise<Session> | undefined;

function open(): Promise<Session> {
  opened ??= start();
  return opened;
}

async function start(): Promise<Session> {
  const server = await startRestate();
  const port = await freePort();
  const handler = sdk.createEndpointHandler({ services: [flows, carriers], logger: () => undefined });
  const endpoint = createServer(handler).listen(port, '127.0.0.1');
  await once(endpoint, 'listening');
  await register(server, `http://127.0.0.1:${port}`);
  const ingress = clients.connect({ url: server.ingress });
  return {
    server,
    ingress,
    flows: ingress.serviceClient(flows),
    close: async () => {
      await server.close();
      endpoint.close();
    },
  };
}

async function timing(work: (session: Session) => PromiseLike<unknown>): Promise<Measurement> {
  const session = await open();
  return { ms: await timed(() => work(session)) };
}

async function paused(): Promise<Measurement> {
  const { server, ingress } = await open();
  const sender = ingress.serviceSendClient(flows);
  const heap = await liveHeap();
  const resident = bytesResident([server.pid]);
  const disk = bytesOnDisk(server.dir);
  waiting = 0;
  for (let run = 0; run < PAUSED_RUNS; run += 1) await sender.pause(run);
  while (waiting < PAUSED_RUNS) await setTimeout(50);
  // Past the inactivity timeout nothing of a paused run is left in this process.
  await setTimeout(2_000);
  const memory = (await liveHeap()) - heap + bytesResident([server.pid]) - resident;
  return {
    bytesMemory: Math.max(0, memory) / PAUSED_RUNS,
    bytesDisk: (bytesOnDisk(server.dir) - disk) / PAUSED_RUNS,
  };
}

let carried = 0;

async function state(): Promise<Measurement> {
  const { server, ingress } = await open();
  carried += 1;
  const carrier = ingress.objectClient(carriers, `carrier-${carried}`);
  const { bytes } = await metered(
    () => carrier.carry(100),
    () => [server.pid],
  );
  return bytes === undefined ? {} : { bytesWritten: bytes };
}

async function history(): Promise<Measurement> {
  const { server, flows: client } = await open();
  const points: Point[] = [];
  for (const n of HISTORY_SIZES) {
    const point = await metered(
      () => client.chain(n),
      () => [server.pid],
    );
    points.push({ n, ...point });
  }
  return { points };
}
