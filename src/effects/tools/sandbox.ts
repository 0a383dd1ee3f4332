/**
 * Runs a command in the sandbox and gives its exit code, which is evidence. When time is up or nobody wants the answer any
 * more, everything that the command has started is killed with it. Long output keeps its beginning and its end.
 */
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { ShellOptions } from './tool.ts';
import { fail } from './tool.ts';
import { Output } from './output.ts';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { MOUNT } from '../safe-path.ts';

export interface ShellRequest {
  readonly workDir: string;
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
  readonly truncated: boolean;
  /** Whether what was left out was part of the output, not only of the errors. */
  readonly stdoutTruncated: boolean;
}
export type ShellRunner = (command: string, request: ShellRequest) => Promise<ShellResult>;

const TIMEOUT_MS = 120_000;
const OUTPUT_MAX = 64 * 1024;
const STATUS_FD = 3;

export function shellRunner(options: ShellOptions = {}): ShellRunner {
  return async (command, request) => {
    await mkdir(request.workDir, { recursive: true });
    return run(command, request, options);
  };
}

function run(command: string, request: ShellRequest, options: ShellOptions): Promise<ShellResult> {
  const { workDir, cwd, stdin, signal } = request;
  const { bwrap = 'bwrap', readable = [], outputMax = OUTPUT_MAX } = options;
  const timeoutMs = Math.min(request.timeoutMs ?? Infinity, options.timeoutMs ?? TIMEOUT_MS);
  const args = sandboxArgs({ workDir, cwd, readable, env: { ...options.env, ...request.env } });
  const child = spawn(bwrap, ['--json-status-fd', String(STATUS_FD), ...args, ...shellCommand(command)], {
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const stdout = new Output(outputMax);
  const stderr = new Output(outputMax);
  let status = '';
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  (child.stdio[STATUS_FD] as Readable | null)?.on('data', (chunk: Buffer) => (status += chunk.toString('latin1')));
  // A command that reads nothing closes its end; that is no failure.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);

  return new Promise((resolve, reject) => {
    let killed: 'time' | 'abort' | null = null;
    const kill = (why: 'time' | 'abort') => (): void => {
      killed ??= why;
      if (child.pid !== undefined) killGroup(child.pid);
    };
    const timer = setTimeout(kill('time'), timeoutMs);
    const onAbort = kill('abort');
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    child.on('error', (error) => {
      end();
      reject(noSandbox(bwrap, error));
    });
    child.on('close', () => {
      end();
      const exit = /"exit-code"\s*:\s*(\d+)/.exec(status)?.[1];
      if (exit !== undefined && killed === null)
        resolve({
          exitCode: Number(exit),
          stdout: stdout.text(),
          stderr: stderr.text(),
          truncated: stdout.truncated || stderr.truncated,
          stdoutTruncated: stdout.truncated,
        });
      else if (killed === 'time')
        reject(
          fail(
            'timeout',
            'TimeoutError',
            `the command did not end within ${timeoutMs} ms and was killed${lastWords(stdout, stderr)}`,
          ),
        );
      else if (killed === 'abort') reject(fail('timeout', 'AbortError', 'the command was stopped'));
      else
        reject(
          fail(
            'fatal',
            'SandboxError',
            `the sandbox could not be made: ${stderr.text().trim() || 'bubblewrap ended without a word'}`,
          ),
        );
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself in the meantime.
  }
}

function lastWords(stdout: Output, stderr: Output): string {
  const said = `${stdout.text()}${stderr.text()}`.trim().slice(-500);
  return said === '' ? '' : `; it had said: ${said}`;
}

function noSandbox(bwrap: string, error: Error): Error {
  if (!('code' in error) || error.code !== 'ENOENT')
    return fail('fatal', 'SandboxError', `\`${bwrap}\` cannot be started: ${error.message}`);
  return fail(
    'fatal',
    'SandboxError',
    `commands run in bubblewrap, and \`${bwrap}\` is not on this machine; install it (Debian, Ubuntu: \`apt-get install bubblewrap\`; Fedora: \`dnf install bubblewrap\`)`,
  );
}

interface Sandbox {
  readonly workDir: string;
  /** Where in the work directory the command starts. */
  readonly cwd?: string;
  readonly readable: readonly string[];
  readonly env: { readonly [name: string]: string };
}

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
/** The Node that runs us is there for commands too, wherever it is installed. */
const NODE_DIR = '/run/sluice';
const PATH = `${NODE_DIR}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

/** The arguments of bubblewrap for one command. */
function sandboxArgs({ workDir, cwd = '.', readable, env }: Sandbox): string[] {
  const variables = { PATH, HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8', TERM: 'dumb', ...env };
  return [
    ...[
      '--unshare-all',
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      '--clearenv',
      '--hostname',
      'sluice',
    ],
    ...SYSTEM.flatMap(mount),
    ...SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...['--ro-bind-try', process.execPath, `${NODE_DIR}/node`],
    ...readable.flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', realpathSync(workDir), MOUNT, '--chdir', cwd === '.' ? MOUNT : `${MOUNT}/${cwd}`],
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

/** With a shell that notices a failure inside a pipeline, where there is one: an exit code is evidence. */
function shellCommand(command: string): string[] {
  return existsSync('/bin/bash') ? ['/bin/bash', '-o', 'pipefail', '-c', command] : ['/bin/sh', '-c', command];
}

function mount(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}
