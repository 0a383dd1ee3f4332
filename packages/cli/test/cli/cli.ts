/** Runs the real command as a user would, in a folder of its own, and returns the output that a shell would see. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

export const root: string = resolve(import.meta.dirname, '../../../..');
export const bin: string = join(root, 'bin/sluice.js');

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SpawnOptions {
  readonly cwd: string;
  readonly env?: { readonly [name: string]: string };
  readonly uid?: number;
}

/** The variables of this process, without those that change the output of a command. */
export function cleanEnvironment(): { [name: string]: string | undefined } {
  // The variables that npm sets would change the printed commands to `npx sluice`.
  const left = (name: string): boolean =>
    !name.startsWith('npm_') && !['NO_COLOR', 'FORCE_COLOR', 'SLUICE_LAUNCHER'].includes(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => left(name)));
}

export function start(args: readonly string[], { cwd, env = {}, uid }: SpawnOptions): ChildProcess {
  const who = uid === undefined ? {} : { uid, gid: uid };
  return spawn(process.execPath, [bin, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...who,
  });
}

export async function sluice(args: readonly string[], options: SpawnOptions): Promise<Ran> {
  return ended(start(args, options));
}

export async function ended(child: ChildProcess): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const status = await new Promise<number | null>((done, failed) => {
    child.once('error', failed);
    child.once('close', done);
  });
  return { status, stdout, stderr };
}

/** A folder with these files, gone after the test. */
export function folder(files: { readonly [path: string]: string } = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

export const RUN: readonly string[] = [
  'run',
  'support.flow.yaml',
  '--script',
  'support.script.yaml',
  '--input',
  '@input.json',
];

export interface RunJson {
  readonly run: string;
  readonly flow: string;
  readonly hash: string;
  readonly state: string;
  readonly code: string | null;
  readonly output: unknown;
  readonly path: readonly string[];
  readonly approvals: { readonly [node: string]: string };
  readonly usage: { readonly [dimension: string]: number };
  readonly waiting: readonly {
    readonly id: string;
    readonly node: string;
    readonly message: string;
    readonly choices: readonly string[];
  }[];
  readonly error: {
    readonly class: string;
    readonly type: string;
    readonly message: string;
    readonly node: string;
  } | null;
}

/** Fails unless standard output is exactly one JSON document. */
export function json({ stdout, stderr }: Ran): unknown {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`not one JSON document:\n${stdout}\n${stderr}`);
  }
}

export function report(ran: Ran): RunJson {
  return json(ran) as RunJson;
}
