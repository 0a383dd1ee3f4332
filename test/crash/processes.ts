/** Starts workers of the crash tests and hears what they say. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { CODE_CACHE } from '../../scripts/tool.ts';
import { program } from '../support/programs.ts';

export interface WorkerOrders {
  readonly name: string;
  readonly db: string;
  readonly space: string;
  /** The first seed; `count` runs have this one and those after it. */
  readonly seed: number;
  readonly count: number;
  readonly leaseMs: number;
  readonly snapshotEvery: number;
  /** The time of day of the process jumps back and forth by up to this many milliseconds. */
  readonly clockJumpMs?: number;
  /** The limit on open files. */
  readonly openFiles?: number;
  /** A file that each act is noted in, with its time. */
  readonly log?: string;
}
export type Said = 'ready' | 'done' | 'closed' | 'gone' | `fault ${string}`;

export interface WorkerProcess {
  readonly process: ChildProcess;
  /** Resolves when it has said that, or when it will say nothing any more. */
  said(what: 'ready'): Promise<void>;
  /** How often it has said that another one took its runs. */
  timesLost(): number;
  /** The last thing that it said, once it has exited. */
  ended(): Promise<Said>;
}

export function startWorker(orders: WorkerOrders): WorkerProcess {
  const command = [process.execPath, program('test/crash/worker.ts'), JSON.stringify(orders)];
  const [executable = '', ...args] =
    orders.openFiles === undefined ? command : ['prlimit', `--nofile=${orders.openFiles}`, ...command];
  const child = spawn(executable, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: CODE_CACHE },
  });
  const exit = once(child, 'exit');
  let last: Said = 'gone';
  let lost = 0;
  const lines = createInterface(child.stdout);
  const heard = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line === 'lost') lost += 1;
      else if (/^(ready|done|closed|fault)\b/.test(line)) last = line as Said;
      else last = `${last}\n${line}` as Said;
      resolve();
    });
    lines.on('close', resolve);
  });
  const closed = once(lines, 'close');
  return {
    process: child,
    said: () => heard,
    timesLost: () => lost,
    ended: async () => {
      await Promise.all([exit, closed]);
      return last;
    },
  };
}
