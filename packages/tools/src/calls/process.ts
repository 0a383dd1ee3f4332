/**
 * Starts a program with limits, collects its output, and ends it with all its descendants on a timeout, an abort or an
 * exceeded limit. The program gets an empty environment and no descriptor of the engine.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { childrenOf, entriesOf, readProc, watch, type Limits } from './limits.ts';
import { Output } from './output.ts';
import { fail } from '@sluice-internal/engine/ports';

export interface ProcessRequest {
  /** The program by its full path, and its arguments. */
  readonly argv: readonly string[];
  readonly stdin?: string;
  /** Bytes that the program reads from the descriptors 4 and up. */
  readonly feeds?: readonly (Buffer | null)[];
  readonly timeoutMs: number;
  readonly outputMax: number;
  readonly limits: Limits;
  /** The folder whose growth is limited. */
  readonly watchedDir?: string | null;
  readonly signal?: AbortSignal | undefined;
  /** Removes secrets from the output in an error. */
  readonly clean?: ((text: string) => string) | undefined;
}
export interface ProcessResult {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Text that the program wrote to descriptor 3. */
  readonly status: string;
}

const STATUS_FD = 3;
export const FEED_FD = 4;
const MARK = 'sluice-child';

export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  endLeftovers();
  const { argv, stdin, timeoutMs, limits, signal, clean = (text) => text } = request;
  const [program = '', ...args] = argv;
  const child = start(program, args, request);
  const streams = collect(child, request);
  // A program that reads nothing closes its standard input.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);

  let failure: Error | null = null;
  const kill = (reason: () => Error): void => {
    failure ??= reason();
    killGroup(child);
  };
  const lastOutput = (): string => {
    const output = clean(`${streams.stdout.text()}${streams.stderr.text()}`).trim().slice(-500);
    return output === '' ? '' : `; its last output: ${output}`;
  };
  const late = `the command did not end within ${timeoutMs} ms and was killed`;
  const timer = setTimeout(() => kill(() => fail('timeout', 'TimeoutError', `${late}${lastOutput()}`)), timeoutMs);
  const onAbort = (): void => kill(() => fail('timeout', 'AbortError', 'the command was stopped'));
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  const stopWatching = watch(
    () => sandboxInit(streams.status) ?? child.pid ?? null,
    request.watchedDir ?? null,
    limits,
    (message) => kill(() => fail('semantic', 'LimitError', `the command was killed: ${message}${lastOutput()}`)),
  );
  try {
    await once(child, 'close');
    if (failure !== null) throw failure as Error;
    return streams;
  } finally {
    clearTimeout(timer);
    stopWatching();
    signal?.removeEventListener('abort', onAbort);
  }
}

function start(program: string, args: readonly string[], { stdin, feeds = [] }: ProcessRequest): ChildProcess {
  const nothing = openSync('/dev/null', 'r');
  try {
    const stdio: StdioOptions = [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'];
    for (const [index, feed] of feeds.entries()) stdio[FEED_FD + index] = feed === null ? 'ignore' : 'pipe';
    for (const fd of inheritedDescriptors()) if (stdio[fd] === undefined || stdio[fd] === 'ignore') stdio[fd] = nothing;
    const filled = Array.from(stdio, (entry) => entry ?? 'ignore') as StdioOptions;
    return spawn(program, args, { stdio: filled, detached: true, env: {}, argv0: `${MARK}:${ownMark()}` });
  } finally {
    closeSync(nothing);
  }
}

function collect(
  child: ChildProcess,
  { feeds = [], outputMax }: ProcessRequest,
): { readonly stdout: Output; readonly stderr: Output; status: string } {
  const streams = { stdout: new Output(outputMax), stderr: new Output(outputMax), status: '' };
  child.stdout?.on('data', (chunk: Buffer) => streams.stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => streams.stderr.push(chunk));
  const status = child.stdio[STATUS_FD] as Readable | null;
  status?.on('data', (chunk: Buffer) => (streams.status += chunk.toString('latin1')));
  for (const [index, feed] of feeds.entries()) {
    if (feed === null) continue;
    const pipe = child.stdio[FEED_FD + index] as Writable | null;
    pipe?.on('error', () => undefined);
    pipe?.end(feed);
  }
  return streams;
}

/**
 * The first process of the sandbox has left the group. It dies with bubblewrap, but not if bubblewrap ends while the sandbox is
 * being set up, so it is killed as well.
 */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  const children = readProc(`/proc/${pid}/task/${pid}/children`).split(' ').map(Number);
  for (const target of [-pid, ...children.filter((child) => child > 0)]) kill(target, 'SIGKILL');
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or belongs to another user.
  }
}

/** Notes the programs that a process has started. The function that it returns ends those that still run. */
export function endDescendants(pid: number | null): () => void {
  const found = pid === null ? [] : childrenOf(pid);
  for (const each of found) found.push(...childrenOf(each));
  const started = found.map((each) => [each, startTimeOf(String(each))] as const);
  return () => {
    for (const [each, since] of started)
      if (since !== undefined && startTimeOf(String(each)) === since) kill(each, 'SIGTERM');
  };
}

/** The first process of the sandbox, as bubblewrap reports it. */
function sandboxInit(status: string): number | null {
  const pid = /"child-pid"\s*:\s*(\d+)/.exec(status)?.[1];
  return pid === undefined ? null : Number(pid);
}

/** Descriptors above 2 that a child would inherit: those without the close-on-exec flag. */
function inheritedDescriptors(): number[] {
  return entriesOf('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      const flags = /^flags:\s+(\d+)/m.exec(readProc(`/proc/self/fdinfo/${fd}`))?.[1];
      return fd > 2 && flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
    });
}
const CLOSE_ON_EXEC = 0o2000000;

let isSwept = false;
/**
 * Ends programs that an engine left behind when it was killed. They carry the id and the start time of their engine in the
 * name of the program, so a reused process id is not mistaken for a living engine.
 */
function endLeftovers(): void {
  if (isSwept) return;
  isSwept = true;
  for (const pid of entriesOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const [, owner, startedAt] = new RegExp(`^${MARK}:(\\d+):(\\d+)\0`).exec(readProc(`/proc/${pid}/cmdline`)) ?? [];
    if (owner === undefined || startTimeOf(owner) === startedAt) continue;
    for (const target of [-Number(pid), Number(pid)]) kill(target, 'SIGKILL');
  }
}

let mark: string | null = null;
function ownMark(): string {
  return (mark ??= `${process.pid}:${startTimeOf('self') ?? 0}`);
}

/** Clock ticks since the system started, from field 22 of /proc/PID/stat. */
function startTimeOf(pid: string): string | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}
