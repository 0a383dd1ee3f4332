/**
 * Tools that run JavaScript: code that an agent writes, and code that a document declares. Each call runs in a process of
 * its own, in the sandbox if bubblewrap is installed. The operating system limits its memory and CPU time.
 */
import { availableParallelism } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { PACKAGE_ROOT, resolveOptional } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import { calculate } from './calculator.ts';
import { DEFAULT_LIMITS, limited, type Limits } from './limits.ts';
import { runProcess, type ProcessRequest } from './process.ts';
import { QUICKJS_FILE, QUICKJS_START, type CodeAnswer, type CodeRequest, type CodeResult } from './quickjs.ts';
import { SHELL, findBubblewrap, sandboxArgs, sandboxed } from './sandbox.ts';
import type { CodeOptions, ToolCall, ToolKind, ToolOptions } from './tool.ts';

const MEMORY_MAX = 64 * 1024 * 1024;
/** Memory of the process without the code: Node.js and the interpreter. */
const PROCESS_MEMORY = 128 * 1024 * 1024;
const ANSWER_MAX = 32 * 1024 * 1024;
/** Extra time for starting the process, and for work that the interpreter cannot interrupt. */
const GRACE_MS = 5_000;

export function codeTools({ code = {}, shell = {} }: ToolOptions): ToolKind {
  const interpreter = new Interpreter(code, shell.bwrap);
  return {
    builtins: {
      code_run: async (call) => ({
        ...(await interpreter.run(call, call.args['code'] as string, call.args['input'] ?? null)),
      }),
      calculator: ({ args }) => Promise.resolve({ value: calculate(args['expression'] as string) }),
    },
    declared: (definition) => async (call) =>
      (await interpreter.run(call, (definition as { source: string }).source, call.args)).value,
  };
}

class Interpreter {
  readonly #options: CodeOptions;
  readonly #bwrap: string | undefined;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: CodeOptions, bwrap: string | undefined) {
    this.#options = options;
    this.#bwrap = bwrap;
  }

  run({ timeoutMs, signal }: ToolCall, source: string, args: Json): Promise<CodeResult> {
    const request: CodeRequest = {
      source,
      args,
      timeoutMs: Math.min(timeoutMs, this.#options.timeoutMs ?? Infinity),
      memoryMax: this.#options.memoryMax ?? MEMORY_MAX,
    };
    return this.#inTurn(() => this.#evaluate(request, signal));
  }

  async #evaluate(request: CodeRequest, signal: AbortSignal): Promise<CodeResult> {
    if (signal.aborted) throw fail('timeout', 'AbortError', 'the code was stopped');
    const limits = limitsFor(request);
    const { stdout, stderr } = await runProcess({
      ...(await processFor(limits, this.#bwrap)),
      stdin: JSON.stringify(request),
      timeoutMs: request.timeoutMs + GRACE_MS,
      outputMax: ANSWER_MAX,
      limits,
      signal,
    });
    if (stdout.truncated) throw fail('semantic', 'TooLargeError', 'the result of the code is larger than the limit');
    const answer = parsed(stdout.text(), stderr.text());
    if (answer.ok) return answer.result;
    throw fail(answer.type === 'TimeoutError' ? 'timeout' : 'semantic', answer.type, answer.message);
  }

  /** At most `widthMax` processes run at once; the other calls wait. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= (this.#options.widthMax ?? availableParallelism()))
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

function limitsFor({ memoryMax, timeoutMs }: CodeRequest): Limits {
  return {
    ...DEFAULT_LIMITS,
    cpuSeconds: Math.ceil((timeoutMs + GRACE_MS) / 1000),
    memoryMax: memoryMax + PROCESS_MEMORY,
    fileMax: 0,
  };
}

/** The command line of the interpreter: in the sandbox, or with limits only if there is no sandbox. */
async function processFor(limits: Limits, bwrap: string | undefined): Promise<Pick<ProcessRequest, 'argv' | 'feeds'>> {
  const library = resolveOptional('quickjs-emscripten', 'a tool with code');
  const program = [process.execPath, '--disable-warning=ExperimentalWarning', QUICKJS_FILE, QUICKJS_START];
  if (process.platform === 'win32') return { argv: program };
  const command = limited(SHELL, limits, program);
  const bubblewrap = await findBubblewrap(bwrap).catch(() => null);
  if (bubblewrap === null) return { argv: command };
  const readable = [process.execPath, ...moduleRoots(library)];
  return sandboxed(bubblewrap, sandboxArgs(bubblewrap, {}, { readable }, limits), command);
}

/** The folders that the interpreter loads its code from: this package, and the outermost `node_modules` of its library. */
function moduleRoots(library: string): readonly string[] {
  const modules = `${sep}node_modules${sep}`;
  const root = library.slice(0, library.indexOf(modules) + modules.length - 1);
  return QUICKJS_FILE.startsWith(root + sep) ? [root] : [join(PACKAGE_ROOT, 'package.json'), ownModules(), root];
}

/** The folder of all packages of a checkout. The bundle has no folders. */
function ownModules(): string {
  const folder = dirname(QUICKJS_FILE);
  const inside = join('tools', 'src', 'calls');
  return folder.endsWith(`${sep}${inside}`) ? folder.slice(0, -inside.length - 1) : folder;
}

function parsed(stdout: string, stderr: string): CodeAnswer {
  try {
    return parseJson(stdout) as unknown as CodeAnswer;
  } catch {
    const reason = /heap out of memory|Allocation failed|Cannot allocate/i.test(stderr)
      ? 'it used too much memory'
      : 'it ended without a result';
    return { ok: false, type: 'CodeError', message: `the interpreter failed: ${reason}` };
  }
}
