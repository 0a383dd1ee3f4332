/** Starts the child of these tests and reads what it says, line by line. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { program } from '../../../../test/support/programs.ts';

export interface Child {
  readonly process: ChildProcess;
  /** The next thing that it says; null when it has said everything. */
  said(): Promise<unknown>;
  exited(): Promise<void>;
}

export function startChild(...args: readonly (string | number)[]): Child {
  const process_ = spawn(
    process.execPath,
    [program('packages/store-sqlite/test/journals/child.ts'), ...args.map(String)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const exit = once(process_, 'exit');
  const lines = createInterface(process_.stdout)[Symbol.asyncIterator]();
  return {
    process: process_,
    said: async () => {
      const { value, done } = await lines.next();
      return done === true ? null : JSON.parse(value);
    },
    exited: async () => void (await exit),
  };
}
