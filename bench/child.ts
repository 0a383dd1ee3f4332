/**
 * One contestant in a process of its own: answers each `measure` message with a measurement. Fast shapes are repeated
 * within one message and answered with the median, because a single millisecond says little.
 */
import { median } from './stats.ts';
import type { Contestant, Measurement } from './shape.ts';

const REPEAT_MS = 150;
const REPEATS_MAX = 9;

/** What the parent learns about a contestant before it asks for anything. */
export interface Hello {
  name: string;
  version: string;
  shapes: readonly string[];
  missing: { [shapeId: string]: string };
  notes: { [shapeId: string]: string };
  unavailable: string | undefined;
}

export type Request = { kind: 'measure'; shape: string } | { kind: 'close' };
export type Reply =
  | { kind: 'hello'; hello: Hello }
  | { kind: 'measured'; measurement: Measurement }
  | { kind: 'failed'; message: string };

async function serve(modulePath: string, name: string): Promise<void> {
  const contestant = await load(modulePath, name);
  // One request at a time: a close that arrives during a measurement waits for its end.
  let turn = Promise.resolve();
  process.on('message', (request: Request) => {
    turn = turn.then(async () => send(await answer(contestant, request))).catch(fail);
  });
  process.on('disconnect', () => process.exit(0));
  // Leaving through exit lets the hooks there stop servers and remove files.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  send({
    kind: 'hello',
    hello: {
      name: contestant.name,
      version: contestant.version,
      shapes: Object.keys(contestant.shapes),
      missing: contestant.missing ?? {},
      notes: contestant.notes ?? {},
      unavailable: contestant.unavailable,
    },
  });
}

async function load(modulePath: string, name: string): Promise<Contestant> {
  const exported = (await import(modulePath)) as { [name: string]: Contestant | undefined };
  const contestant = exported[name];
  if (contestant === undefined) throw new Error(`${modulePath} exports no ${name}`);
  return contestant;
}

async function answer(contestant: Contestant, request: Request): Promise<Reply | undefined> {
  if (request.kind === 'close') {
    await contestant.close?.();
    process.disconnect();
    return undefined;
  }
  const run = contestant.shapes[request.shape];
  if (run === undefined) throw new Error(`${contestant.name} has no ${request.shape}`);
  return { kind: 'measured', measurement: await repeat(run) };
}

async function repeat(run: () => Promise<Measurement>): Promise<Measurement> {
  const first = await run();
  if (first.ms === undefined) return first;
  const all = [first.ms];
  let spent = first.ms;
  while (spent < REPEAT_MS && all.length < REPEATS_MAX) {
    const { ms = 0 } = await run();
    all.push(ms);
    spent += ms;
  }
  return { ms: median(all) };
}

function send(reply: Reply | undefined): void {
  if (reply !== undefined) process.send?.(reply);
}

function fail(error: unknown): void {
  send({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

const [modulePath, name] = process.argv.slice(2);
if (modulePath === undefined || name === undefined) throw new Error('usage: child.ts MODULE EXPORT');
await serve(modulePath, name).catch((error: unknown) => {
  fail(error);
  process.exitCode = 1;
  process.disconnect();
});
