/**
 * Tools that run JavaScript: code that an agent writes, and code that a document declares. The code runs in a QuickJS
 * interpreter in a thread of its own. It sees only its input, and its time and memory are limited. The thread loads this
 * same file.
 */
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort as engine, workerData } from 'node:worker_threads';
import { getQuickJS } from 'quickjs-emscripten';
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten';
import type { Json } from '../../expr/json.ts';
import { fail, reasonOf } from './tool.ts';
import { calculate } from './calculator.ts';
import type { CodeOptions, ToolCall, ToolKind, ToolOptions } from './tool.ts';

interface CodeRequest {
  readonly source: string;
  readonly args: Json;
  readonly timeoutMs: number;
  readonly memoryMax: number;
}
interface CodeResult {
  readonly value: Json;
  readonly logs: string[];
}
type Answer =
  | { readonly ok: true; readonly result: CodeResult }
  | { readonly ok: false; readonly type: string; readonly message: string };

const TIMEOUT_MS = 5_000;
const MEMORY_MAX = 64 * 1024 * 1024;
const MARK = 'sluice-quickjs';
/** Extra time for loading the interpreter, and for work that it cannot interrupt. */
const GRACE_MS = 5_000;
const STACK_MAX = 512 * 1024;
const LOGS_MAX = 100;
const LOG_LENGTH_MAX = 2_000;

export function codeTools({ code = {} }: ToolOptions): ToolKind {
  return {
    builtins: {
      code_run: async (call) => ({
        ...(await run(call, call.args['code'] as string, call.args['input'] ?? null, code)),
      }),
      calculator: ({ args }) => Promise.resolve({ value: calculate(args['expression'] as string) }),
    },
    declared: (definition) => async (call) =>
      (await run(call, (definition as { source: string }).source, call.args, code)).value,
  };
}

function run({ timeoutMs, signal }: ToolCall, source: string, args: Json, options: CodeOptions): Promise<CodeResult> {
  const request = {
    source,
    args,
    timeoutMs: Math.min(timeoutMs, options.timeoutMs ?? TIMEOUT_MS),
    memoryMax: options.memoryMax ?? MEMORY_MAX,
  };
  return runCode(request, signal);
}

async function runCode(request: CodeRequest, signal?: AbortSignal): Promise<CodeResult> {
  const thread = new Worker(fileURLToPath(import.meta.url), {
    workerData: { mark: MARK, request },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  const answer = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => answer.resolve(late(request.timeoutMs)), request.timeoutMs + GRACE_MS);
  const onAbort = (): void => answer.resolve({ ok: false, type: 'AbortError', message: 'the code was stopped' });
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  thread.on('message', answer.resolve);
  thread.on('error', (error) =>
    answer.resolve({ ok: false, type: 'CodeError', message: `the interpreter failed: ${reasonOf(error)}` }),
  );
  thread.on('exit', () =>
    answer.resolve({ ok: false, type: 'CodeError', message: 'the interpreter ended without a result' }),
  );
  try {
    const reply = await answer.promise;
    if (reply.ok) return reply.result;
    throw fail(
      reply.type === 'TimeoutError' || reply.type === 'AbortError' ? 'timeout' : 'semantic',
      reply.type,
      reply.message,
    );
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    await thread.terminate();
  }
}

async function evaluate({ source, args, timeoutMs, memoryMax }: CodeRequest): Promise<Answer> {
  const runtime = (await getQuickJS()).newRuntime();
  runtime.setMemoryLimit(memoryMax);
  runtime.setMaxStackSize(STACK_MAX);
  const context = runtime.newContext();
  const logs: string[] = [];
  provide(context, args, logs);
  const until = performance.now() + timeoutMs;
  let isLate = false;
  runtime.setInterruptHandler(() => (isLate = performance.now() > until));
  const failed = (error: QuickJSHandle): Answer =>
    isLate ? late(timeoutMs) : { ok: false, type: 'CodeError', message: errorText(context, error) };

  const run = context.evalCode(wrapped(source), 'code.js');
  if (run.error !== undefined) return failed(run.error);
  const jobs = runtime.executePendingJobs();
  if (jobs.error !== undefined) return failed(jobs.error);
  const state = context.getPromiseState(run.value);
  if (isLate) return late(timeoutMs);
  if (state.type === 'pending')
    return { ok: false, type: 'CodeError', message: 'the promise of the code never settles' };
  if (state.type === 'rejected') return failed(state.error);
  const value = context.dump(state.value) as string;
  return { ok: true, result: { value: JSON.parse(value) as Json, logs } };
}

/** The source is an expression, a function of the input, or the body of a function. The result is JSON text. */
function wrapped(source: string): string {
  return `(async () => {
    const source = ${JSON.stringify(source)};
    let value;
    try {
      value = (0, eval)(source);
    } catch (error) {
      if (!(error instanceof SyntaxError) || !/\\breturn\\b/.test(source)) throw error;
      value = new Function('args', source)(args);
    }
    if (typeof value === 'function') value = value(args);
    value = await value;
    return JSON.stringify(value === undefined ? null : value) ?? 'null';
  })()`;
}

function provide(context: QuickJSContext, args: Json, logs: string[]): void {
  const made = context.unwrapResult(context.evalCode(`(${JSON.stringify(args)})`));
  context.setProp(context.global, 'args', made);
  context.setProp(context.global, 'input', made);
  const log = context.newFunction('log', (...values) => {
    if (logs.length >= LOGS_MAX) return;
    logs.push(
      values
        .map((value) => textOf(context.dump(value)))
        .join(' ')
        .slice(0, LOG_LENGTH_MAX),
    );
  });
  const console = context.newObject();
  for (const name of ['log', 'info', 'warn', 'error']) context.setProp(console, name, log);
  context.setProp(context.global, 'console', console);
}

function errorText(context: QuickJSContext, error: QuickJSHandle): string {
  const dumped = context.dump(error) as unknown;
  if (typeof dumped !== 'object' || dumped === null) return `the code threw ${String(dumped)}`;
  const { name = 'Error', message = '' } = dumped as { name?: string; message?: string };
  return `${name}: ${message}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}

function late(timeoutMs: number): Answer {
  return { ok: false, type: 'TimeoutError', message: `the code did not end within ${timeoutMs} ms` };
}

if (!isMainThread && (workerData as { mark?: string } | null)?.mark === MARK) {
  const { request } = workerData as { request: CodeRequest };
  const answer = await evaluate(request).catch((error: unknown): Answer => ({
    ok: false,
    type: 'CodeError',
    message: reasonOf(error),
  }));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  engine?.postMessage(answer);
}
