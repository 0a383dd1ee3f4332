/** Runs a command from the project's root, with the project's own tools and its pinned Node first in the path. */
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

export const root: string = join(import.meta.dirname, '..');

export interface Ran {
  readonly ok: boolean;
  /** What it said; empty when its output went straight to ours. */
  readonly output: string;
}

export function run(command: string, args: readonly string[], options: { readonly show?: boolean } = {}): Ran {
  const done = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, PATH: [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter) },
    stdio: options.show === true ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  const said = [done.stdout, done.stderr, done.error?.message].filter(
    (text) => typeof text === 'string' && text !== '',
  );
  return { ok: done.status === 0, output: said.join('\n') };
}
