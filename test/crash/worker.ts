/**
 * A process that works on random flows until they have ended, or until it is killed. It starts all of them each time: a
 * start under the same id is the run that is there. Says `ready` when it works, `lost` when another one has taken its runs,
 * `done` when all have ended, and `fault` when it had to stop by itself.
 */
import { hash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { functionPerformer } from '../../packages/library/src/host/functions.ts';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { createRuntime } from '@sluice-internal/engine/worker';
import { PerformError, SluiceError } from '@sluice-internal/engine/ports';
import type { Engine, Performer, Store } from '@sluice-internal/engine/ports';
import { callEffect } from './effects.ts';
import type { EffectReply } from './effects.ts';
import { ANSWERED_AT_ONCE, CANCELLED, sceneOf } from './random-flow.ts';
import type { WorkerOrders } from './processes.ts';

const orders = JSON.parse(process.argv[2] ?? '{}') as WorkerOrders;
const LOOK_MS = 25;
if (orders.clockJumpMs !== undefined) jumpClock(orders.clockJumpMs);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const leave = (line: string, status: number): void => {
  say(line);
  process.exitCode = status;
  // Whatever is still under way belongs to whoever comes next.
  setImmediate(() => process.exit());
};
const stopWith = (error: Error): void => leave(`fault ${error.stack ?? error.message}`, 1);
/** One that has lost runs goes on as another worker: it joins under a new name before it can claim any. */
let names = 0;
function renamed(store: Store): Store {
  const seen = new Set<string>();
  const renew: Store['leases']['renew'] = (worker, termMs) => {
    if (seen.size > 0 && !seen.has(worker)) {
      names += 1;
      say('lost');
    }
    seen.add(worker);
    return store.leases.renew(worker, termMs);
  };
  return { ...store, leases: { ...store.leases, renew } };
}
const self = (): string => `${orders.name}+${names}`;

const effect =
  (tool: string): ToolFunction =>
  async (args, context) => {
    const { idempotencyKey: key, run, node, attempt, signal } = context;
    let reply: EffectReply;
    try {
      reply = await callEffect(orders.space, { worker: self(), run, node, tool, key, attempt, args }, signal);
    } catch (error) {
      throw new PerformError({
        class: 'transient',
        type: 'ConnectionError',
        message: (error as Error).name === 'AbortError' ? 'aborted' : 'the line was cut',
      });
    }
    if ('error' in reply)
      throw new PerformError({ class: reply.error, type: 'ServerError', message: 'the server said no' });
    return reply.value;
  };
const performer = functionPerformer({
  tools: { apply: effect('apply'), revert: effect('revert') },
  model: ({ messages }) => hash('sha256', messages.map(({ content }) => content).join('\n'), 'hex').slice(0, 12),
});

const perform: Performer['perform'] = (call) => {
  // The time is taken in the same breath as the look at the lease: writing it down may fall after a long sleep.
  const at = Date.now();
  if (orders.log !== undefined) appendFileSync(orders.log, `${at} ${call.command.run} ${self()}\n`);
  return performer.perform(call);
};

const scenes = Array.from({ length: orders.count }, (_, index) => sceneOf(orders.seed + index));
const engine = createRuntime({
  store: renamed(openSqlite(orders.db)),
  performer: { perform, answer: ({ name }) => (name === ANSWERED_AT_ONCE ? { choice: 'yes', by: 'somebody' } : null) },
  leaseMs: orders.leaseMs,
  snapshotEvery: orders.snapshotEvery,
  onFault: stopWith,
});
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void engine.close().then(() => leave('closed', 0)));

try {
  const started = Promise.all(scenes.map(({ flow, run, input, seed }) => engine.start(flow, { run, input, seed })));
  say('ready');
  await started;
  while (!(await isOver(engine))) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  await engine.close();
  leave('done', 0);
} catch (error) {
  if (!(error instanceof SluiceError && error.code === 'engine-closed')) stopWith(error as Error);
}

/** Looks after the runs that wait, as people would. */
async function isOver(running: Engine): Promise<boolean> {
  let open = 0;
  for (const { run, status } of await running.list()) {
    if (status === 'pending' || status === 'running') open += 1;
    if (status !== 'suspended') continue;
    open += 1;
    for (const { id, node } of await running.approvals(run)) await attend(running, run, id, node).catch(unlessSettled);
  }
  return open === 0;
}

async function attend(running: Engine, run: string, id: string, node: string): Promise<void> {
  const asking = scenes.find((scene) => scene.run === run)?.flow.nodes[node];
  if (asking?.op !== 'do' || asking.effect.kind !== 'ask') return;
  if (asking.effect.about === CANCELLED) await running.cancel(run, 'somebody');
  else if (asking.timeoutMs === 3_600_000) await running.answer(id, { choice: 'yes', by: 'somebody' });
}

/** Somebody else may have been quicker. */
function unlessSettled(error: unknown): void {
  const settled = ['approval-closed', 'run-ended', 'approval-not-found'];
  if (!(error instanceof SluiceError) || !settled.includes(error.code)) throw error;
}

/** All code of the process reads the time of day through Date. */
function jumpClock(byMs: number): void {
  const real = Date.now;
  let offset = 0;
  const jump = (): void => {
    offset = Math.round((Math.random() * 2 - 1) * byMs);
    setTimeout(jump, 20 + Math.random() * 100).unref();
  };
  jump();
  Date.now = () => real() + offset;
}
