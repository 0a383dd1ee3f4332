/**
 * Runs a command in a bubblewrap sandbox and returns its exit code. The sandbox has namespaces of its own without network,
 * the work directory writable and the system's programs readable. On a timeout or an abort, every process that the command
 * has started is killed.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { MOUNT } from '../safe-path.ts';
import { Output } from './output.ts';
import { fail } from './tool.ts';
import type { ShellOptions } from './tool.ts';

export interface ShellRequest {
  readonly workDir: string;
  /** The folder below the work directory in which the command starts. */
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  readonly stdin?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
export interface ShellResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** True if either stream was cut. */
  readonly truncated: boolean;
  readonly stdoutTruncated: boolean;
}
export type ShellRunner = (command: string, request: ShellRequest) => Promise<ShellResult>;

interface Streams {
  readonly stdout: Output;
  readonly stderr: Output;
  /** JSON lines that bubblewrap writes about the sandbox. */
  status: string;
}

const TIMEOUT_MS = 120_000;
const OUTPUT_MAX = 64 * 1024;
const STATUS_FD = 3;
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
const SETTINGS = [
  'alternatives',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'passwd',
  'group',
  'nsswitch.conf',
  'localtime',
  'ssl',
  'ca-certificates',
  'pki',
  'mime.types',
  'os-release',
];
/** The `node` that runs the engine, so that commands find it wherever it is installed. */
const NODE_DIR = '/run/sluice';
const PATH = `${NODE_DIR}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

export function shellRunner(options: ShellOptions = {}): ShellRunner {
  return async (command, request) => {
    await mkdir(request.workDir, { recursive: true });
    return run(command, request, options);
  };
}

function run(command: string, request: ShellRequest, options: ShellOptions): Promise<ShellResult> {
  const { stdin, signal } = request;
  const { bwrap = 'bwrap', outputMax = OUTPUT_MAX } = options;
  const timeoutMs = Math.min(request.timeoutMs ?? Infinity, options.timeoutMs ?? TIMEOUT_MS);
  const child = spawn(bwrap, [...sandboxArgs(request, options), ...shellCommand(command)], {
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const streams = streamsOf(child, outputMax);
  // A command that reads nothing closes its standard input.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);

  return new Promise((resolve, reject) => {
    let killed: 'timeout' | 'abort' | null = null;
    const kill = (why: 'timeout' | 'abort') => (): void => {
      killed ??= why;
      if (child.pid !== undefined) killGroup(child.pid);
    };
    const timer = setTimeout(kill('timeout'), timeoutMs);
    const onAbort = kill('abort');
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    child.on('error', (error) => {
      end();
      reject(notStarted(bwrap, error));
    });
    child.on('close', () => {
      end();
      const result = killed === null ? resultOf(streams) : null;
      if (result === null) reject(failureOf(killed, timeoutMs, streams));
      else resolve(result);
    });
  });
}

/** The arguments of bubblewrap for one command. */
function sandboxArgs({ workDir, cwd = '.', env }: ShellRequest, options: ShellOptions): string[] {
  const variables = { PATH, HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8', TERM: 'dumb', ...options.env, ...env };
  return [
    ...['--json-status-fd', String(STATUS_FD), '--unshare-all', '--die-with-parent', '--new-session'],
    ...['--cap-drop', 'ALL', '--clearenv', '--hostname', 'sluice'],
    ...SYSTEM.flatMap(mount),
    ...SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...['--ro-bind-try', process.execPath, `${NODE_DIR}/node`],
    ...(options.readable ?? []).flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', realpathSync(workDir), MOUNT, '--chdir', cwd === '.' ? MOUNT : `${MOUNT}/${cwd}`],
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

function mount(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** With bash, a failure inside a pipeline fails the command, so that the exit code can be used as evidence. */
function shellCommand(command: string): string[] {
  return existsSync('/bin/bash') ? ['/bin/bash', '-o', 'pipefail', '-c', command] : ['/bin/sh', '-c', command];
}

function streamsOf(child: ChildProcess, outputMax: number): Streams {
  const streams: Streams = { stdout: new Output(outputMax), stderr: new Output(outputMax), status: '' };
  child.stdout?.on('data', (chunk: Buffer) => streams.stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => streams.stderr.push(chunk));
  (child.stdio[STATUS_FD] as Readable | null)?.on(
    'data',
    (chunk: Buffer) => (streams.status += chunk.toString('latin1')),
  );
  return streams;
}

/** Null if bubblewrap reported no exit code, which means that the command was never started. */
function resultOf({ stdout, stderr, status }: Streams): ShellResult | null {
  const exit = /"exit-code"\s*:\s*(\d+)/.exec(status)?.[1];
  if (exit === undefined) return null;
  return {
    exitCode: Number(exit),
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.truncated || stderr.truncated,
    stdoutTruncated: stdout.truncated,
  };
}

function failureOf(killed: 'timeout' | 'abort' | null, timeoutMs: number, { stdout, stderr }: Streams): Error {
  if (killed === 'abort') return fail('timeout', 'AbortError', 'the command was stopped');
  if (killed === null) {
    const reason = stderr.text().trim() || 'bubblewrap ended without a message';
    return fail('fatal', 'SandboxError', `the sandbox could not be created: ${reason}`);
  }
  const output = `${stdout.text()}${stderr.text()}`.trim().slice(-500);
  const last = output === '' ? '' : `; its last output: ${output}`;
  return fail('timeout', 'TimeoutError', `the command did not end within ${timeoutMs} ms and was killed${last}`);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}

function notStarted(bwrap: string, error: Error): Error {
  if (!('code' in error) || error.code !== 'ENOENT')
    return fail('fatal', 'SandboxError', `\`${bwrap}\` cannot be started: ${error.message}`);
  return fail(
    'fatal',
    'SandboxError',
    `commands run in bubblewrap, and \`${bwrap}\` is not installed; install it (Debian, Ubuntu: \`apt-get install bubblewrap\`; Fedora: \`dnf install bubblewrap\`)`,
  );
}
