/** Runs a command from the project's root, with the project's own tools and its pinned Node first in the path. */
import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { delimiter, join } from 'node:path';

export const root: string = join(import.meta.dirname, '..');

/** Node keeps compiled code here, as `bin/sluice.js` does: the build and the simulation load sources that the tests load again. */
export const CODE_CACHE: string = process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache');

export interface Ran {
  readonly ok: boolean;
  /** The output of the command; empty if it was shown at once. */
  readonly output: string;
}

export function run(
  command: string,
  args: readonly string[],
  options: { readonly show?: boolean; readonly cwd?: string } = {},
): Ran {
  const done = spawnSync(command, args, {
    cwd: options.cwd ?? root,
    env: environment(),
    stdio: options.show === true ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  const output = [done.stdout, done.stderr, done.error?.message].filter(
    (part) => typeof part === 'string' && part !== '',
  );
  return { ok: done.status === 0, output: output.join('\n') };
}

/** As `run`, without waiting. */
export async function start(command: string, args: readonly string[]): Promise<Ran> {
  const child = spawn(command, args, { cwd: root, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<Ran>((resolve) => {
    child.once('error', ({ message }) => resolve({ ok: false, output: message }));
    child.once('close', (code) => resolve({ ok: code === 0, output: '' }));
  });
  const [out, errors, { ok, output }] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { ok, output: [out, errors, output].filter((part) => part !== '').join('\n') };
}

function environment(): NodeJS.ProcessEnv {
  const PATH = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
  // The compiler and the linter are Go programs. With more room they collect less garbage, a tenth of their time.
  return { GOGC: '400', NODE_COMPILE_CACHE: CODE_CACHE, ...process.env, PATH };
}
