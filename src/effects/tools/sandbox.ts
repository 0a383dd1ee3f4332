/**
 * The sandbox that commands run in: namespaces of their own without network, the work directory writable, the system's
 * programs readable, and nothing else of the machine there at all: no home, no environment, no processes but its own.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { MOUNT } from '../safe-path.ts';

export interface Sandbox {
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
export function sandboxArgs({ workDir, cwd = '.', readable, env }: Sandbox): string[] {
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
export function shellCommand(command: string): string[] {
  return existsSync('/bin/bash') ? ['/bin/bash', '-o', 'pipefail', '-c', command] : ['/bin/sh', '-c', command];
}

function mount(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}
