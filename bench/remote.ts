/** The parent's end of a contestant's process: start it, ask it for measurements one at a time, end it. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Hello, Reply, Request } from './child.ts';
import type { Entry } from './contestants.ts';
import type { Measurement } from './shape.ts';

export interface Remote {
  hello: Hello;
  measure: (shapeId: string) => Promise<Measurement>;
  close: () => Promise<void>;
}

export async function startRemote(entry: Entry): Promise<Remote> {
  const child = fork(join(import.meta.dirname, 'child.ts'), [entry.module, entry.name], {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning', '--disable-warning=DeprecationWarning'],
    // Standard output belongs to the table; what a contestant prints there goes to standard error.
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  const first = await reply(child);
  if (first.kind !== 'hello') throw new Error(`${entry.name} did not start: ${describe(first)}`);
  return {
    hello: { ...first.hello, name: entry.title ?? first.hello.name },
    measure: async (shapeId) => {
      const answer = await reply(child, { kind: 'measure', shape: shapeId });
      if (answer.kind !== 'measured') throw new Error(`${entry.name} failed at ${shapeId}: ${describe(answer)}`);
      return answer.measurement;
    },
    close: async () => {
      if (!child.connected) return;
      const exited = once(child, 'exit');
      child.send({ kind: 'close' } satisfies Request);
      await exited;
    },
  };
}

function reply(child: ChildProcess, request?: Request): Promise<Reply> {
  return new Promise((resolve) => {
    const settle = (answer: Reply): void => {
      child.off('message', onMessage).off('exit', onExit);
      resolve(answer);
    };
    const onMessage = (message: unknown): void => settle(message as Reply);
    const onExit = (code: number | null): void =>
      settle({ kind: 'failed', message: `its process exited with ${code}` });
    child.on('message', onMessage).on('exit', onExit);
    if (request !== undefined) child.send(request);
  });
}

function describe(answer: Reply): string {
  return answer.kind === 'failed' ? answer.message : `unexpected answer ${answer.kind}`;
}
