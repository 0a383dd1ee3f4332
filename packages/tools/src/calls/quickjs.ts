/**
 * The program that runs JavaScript for `code_run` in a process of its own. It reads one request as JSON from standard input
 * and writes one answer as JSON to standard output. The memory of the interpreter is one WebAssembly memory with a maximum.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { fileURLToPath } from 'node:url';
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten';

export interface CodeRequest {
  readonly source: string;
  readonly args: Json;
  readonly timeoutMs: number;
  readonly memoryMax: number;
}
export interface CodeResult {
  readonly value: Json;
  readonly logs: string[];
}
export type CodeAnswer =
  | { readonly ok: true; readonly result: CodeResult }
  | { readonly ok: false; readonly type: 'CodeError' | 'TimeoutError'; readonly message: string };

/** The types of Node.js do not declare WebAssembly. */
interface WithWebAssembly {
  readonly WebAssembly: {
    readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => object;
  };
}

export const QUICKJS_FILE = fileURLToPath(import.meta.url);
/** The argument that starts the program. Without it, the file is only imported. */
export const QUICKJS_START = 'sluice-quickjs';

const STACK_MAX = 512 * 1024;
const LOGS_MAX = 100;
const LOG_LENGTH_MAX = 2_000;
const PAGE = 64 * 1024;
/** The initial memory of the interpreter, which holds its own data too. */
const INITIAL = 16 * 1024 * 1024;

async function evaluate(request: CodeRequest): Promise<CodeAnswer> {
  const { source, args, timeoutMs, memoryMax } = request;
  const runtime = (await loadInterpreter(memoryMax)).newRuntime();
  runtime.setMemoryLimit(memoryMax);
  runtime.setMaxStackSize(STACK_MAX);
  const context = runtime.newContext();
  const logs: string[] = [];
  provide(context, args, logs);
  const until = performance.now() + timeoutMs;
  let isLate = false;
  runtime.setInterruptHandler(() => (isLate = performance.now() > until));
  const failed = (error: QuickJSHandle): CodeAnswer =>
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

/** Loaded only in the process that needs it. */
async function loadInterpreter(memoryMax: number): Promise<QuickJSWASMModule> {
  const { RELEASE_SYNC, newQuickJSWASMModule, newVariant } = await import('quickjs-emscripten');
  const maximum = Math.ceil((INITIAL + memoryMax) / PAGE);
  const { WebAssembly: wasm } = globalThis as unknown as WithWebAssembly;
  const wasmMemory = new wasm.Memory({ initial: INITIAL / PAGE, maximum });
  return newQuickJSWASMModule(newVariant(RELEASE_SYNC, { wasmMemory }));
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
    const line = values.map((value) => textOf(context.dump(value))).join(' ');
    logs.push(line.slice(0, LOG_LENGTH_MAX));
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

function late(timeoutMs: number): CodeAnswer {
  return { ok: false, type: 'TimeoutError', message: `the code did not end within ${timeoutMs} ms` };
}

if (process.argv[2] === QUICKJS_START) void serve();

/** Without `await` at the top of the module, which a `require` of the library could not load. */
async function serve(): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const request = JSON.parse(Buffer.concat(chunks).toString('utf8')) as CodeRequest;
  const answer = await evaluate(request).catch((error: unknown): CodeAnswer => ({
    ok: false,
    type: 'CodeError',
    message: `the interpreter failed: ${reasonOf(error)}`,
  }));
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
}
