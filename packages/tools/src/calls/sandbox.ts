/**
 * The sandbox that commands run in, made by bubblewrap. It has namespaces of its own without network. The work directory is
 * writable, the programs of the system are readable, and nothing else of the machine is visible.
 */
import { execFile } from 'node:child_process';
import { constants, existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { MOUNT, createFolder } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import { limited, limitsOf, type Limits } from './limits.ts';
import { FEED_FD, runProcess, type ProcessRequest, type ProcessResult } from './process.ts';
import { seccompFilter } from './seccomp.ts';
import type { ShellOptions } from './tool.ts';

export interface ShellRequest {
  readonly workDir: string;
  /** The folder below the work directory in which the command starts. */
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  readonly stdin?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly clean?: ProcessRequest['clean'];
}
interface ShellResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** True if either stream was cut. */
  readonly truncated: boolean;
  readonly stdoutTruncated: boolean;
}
export type ShellRunner = (command: string | readonly string[], request: ShellRequest) => Promise<ShellResult>;

/** The bubblewrap of this machine. */
export interface Bubblewrap {
  readonly path: string;
  /** Options that this version supports. */
  readonly options: readonly string[];
  readonly hasSize: boolean;
}

const TIMEOUT_MS = 120_000;
const OUTPUT_MAX = 64 * 1024;
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
  // Not the folders as a whole: they have private keys.
  'ssl/certs',
  'ssl/cert.pem',
  'ssl/openssl.cnf',
  'ca-certificates',
  'pki/ca-trust/extracted',
  'pki/tls/certs',
  'pki/tls/cert.pem',
  'pki/tls/openssl.cnf',
  'mime.types',
  'os-release',
];
/** Files of /proc that describe the machine and not the sandbox. */
const HIDDEN = [
  'cmdline',
  'config.gz',
  'kallsyms',
  'kcore',
  'key-users',
  'keys',
  'kmsg',
  'sysrq-trigger',
  'timer_list',
];
/** The `node` that runs the engine, so that commands find it in any installation. */
const NODE_DIR = '/run/sluice';
const PATH = `${NODE_DIR}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
export const INSTALL_BUBBLEWRAP =
  'install it (Debian, Ubuntu: `apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`)';

/**
 * Runs shell commands, or programs with an argument list, in the sandbox.
 * @example
 * const run = shellRunner({ timeoutMs: 10_000 });
 * const performer = evidencePerformer({ workDir: () => './work', documentDir: '.', run });
 */
export function shellRunner(options: ShellOptions = {}): ShellRunner {
  return async (command, request) => {
    const timeoutMs = Math.min(request.timeoutMs ?? TIMEOUT_MS, options.timeoutMs ?? Infinity);
    const limits = limitsOf(options.limits, timeoutMs);
    createFolder(request.workDir);
    const bubblewrap = await findBubblewrap(options.bwrap);
    const argv = typeof command === 'string' ? shellCommand(command) : command;
    const result = await runProcess({
      ...sandboxed(bubblewrap, sandboxArgs(bubblewrap, request, options, limits), limited(SHELL, limits, argv)),
      ...(request.stdin === undefined ? {} : { stdin: request.stdin }),
      timeoutMs,
      outputMax: options.outputMax ?? OUTPUT_MAX,
      limits,
      watchedDir: request.workDir,
      signal: request.signal,
      clean: request.clean,
    });
    return resultOf(result);
  };
}

const probed = new Map<string, Promise<Bubblewrap>>();

/** Finds bubblewrap and the options that work on this machine. Throws a `SandboxError` with the command that installs it. */
export async function findBubblewrap(name = 'bwrap'): Promise<Bubblewrap> {
  const path = await findProgram(name);
  if (path === null)
    throw fail(
      'fatal',
      'SandboxError',
      `commands run in bubblewrap, and \`${name}\` is not installed; ${INSTALL_BUBBLEWRAP}`,
    );
  const known = probed.get(path) ?? probe(path);
  probed.set(path, known);
  return known;
}

async function probe(path: string): Promise<Bubblewrap> {
  const works = (args: readonly string[]): Promise<boolean> =>
    new Promise((resolve) => {
      const all = [...args, '--ro-bind', '/', '/', SHELL, '-c', ':'];
      execFile(path, all, { env: {}, timeout: 10_000 }, (error) => resolve(error === null));
    });
  const nested = ['--unshare-user', '--disable-userns'];
  const [canDisable, hasSize] = await Promise.all([works(nested), works(['--size', '1048576', '--tmpfs', '/tmp'])]);
  return { path, options: canDisable ? nested : [], hasSize };
}

/** Null if a program is not there for commands in the sandbox. A path is looked for by the command itself. */
export async function findInSandbox(name: string): Promise<string | null> {
  return name.includes('/') || name.includes('{{') ? name : findProgram(name, PATH);
}

export async function findProgram(name: string, path = process.env['PATH'] ?? ''): Promise<string | null> {
  const candidates = name.includes('/') ? [name] : path.split(delimiter).map((folder) => join(folder, name));
  for (const candidate of candidates)
    if (
      await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return candidate;
  return null;
}

/**
 * The command line of the sandbox. Bubblewrap reads its arguments from a descriptor: the command can read the command line of
 * bubblewrap, and the arguments have folders of the machine and values of variables.
 */
export function sandboxed(
  { path }: Bubblewrap,
  args: readonly string[],
  command: readonly string[],
): Pick<ProcessRequest, 'argv' | 'feeds'> {
  const filter = seccompFilter();
  const all = [...(filter === null ? [] : ['--seccomp', String(FEED_FD)]), ...args];
  // Bubblewrap would read the text after a NUL as an option of its own, such as one that mounts the whole machine.
  if ([...all, ...command].some((each) => each.includes('\0')))
    throw fail('semantic', 'ArgumentError', 'an argument of the command contains a NUL character');
  const text = Buffer.from(all.map((arg) => `${arg}\0`).join(''));
  return { argv: [path, '--args', String(FEED_FD + 1), ...command], feeds: [filter, text] };
}

/** The arguments of bubblewrap before the command. */
export function sandboxArgs(
  { options: supported, hasSize }: Bubblewrap,
  { workDir, cwd = '.', env }: Partial<ShellRequest>,
  options: Pick<ShellOptions, 'readable' | 'env'>,
  { diskMax }: Limits,
): string[] {
  const variables = { PATH, HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8', TERM: 'dumb', ...options.env, ...env };
  const size = hasSize && Number.isFinite(diskMax) ? ['--size', String(Math.ceil(diskMax))] : [];
  return [
    ...['--json-status-fd', '3', '--unshare-all', ...supported, '--die-with-parent', '--new-session'],
    ...['--cap-drop', 'ALL', '--clearenv', '--hostname', 'sluice'],
    ...SYSTEM.flatMap(mount),
    ...SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    // The kernel lets the owner of the root account write to /proc/sys even without capabilities.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', ...HIDDEN.flatMap(hide)],
    ...['--dev', '/dev', ...size, '--tmpfs', '/dev/shm', '--remount-ro', '/dev', ...size, '--tmpfs', '/tmp'],
    ...['--ro-bind-try', process.execPath, `${NODE_DIR}/node`],
    ...(options.readable ?? []).flatMap((path) => ['--ro-bind', path, path]),
    ...(workDir === undefined ? ['--dir', MOUNT] : ['--bind', realpathSync(workDir), MOUNT]),
    ...['--remount-ro', '/', '--chdir', cwd === '.' ? MOUNT : `${MOUNT}/${cwd}`],
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

function mount(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function hide(name: string): string[] {
  return existsSync(`/proc/${name}`) ? ['--ro-bind', '/dev/null', `/proc/${name}`] : [];
}

export const SHELL = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';

/** With bash, a failure inside a pipeline fails the command, so that the exit code can be used as evidence. */
function shellCommand(command: string): string[] {
  return [SHELL, ...(SHELL === '/bin/bash' ? ['-o', 'pipefail'] : []), '-c', command];
}

function resultOf({ status, stdout, stderr }: ProcessResult): ShellResult {
  const exit = /"exit-code"\s*:\s*(\d+)/.exec(status)?.[1];
  if (exit === undefined) {
    const reason = stderr.text().trim() || 'bubblewrap ended without a message';
    throw fail('fatal', 'SandboxError', `the sandbox could not be created: ${reason}`);
  }
  return {
    exitCode: Number(exit),
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.truncated || stderr.truncated,
    stdoutTruncated: stdout.truncated,
  };
}
