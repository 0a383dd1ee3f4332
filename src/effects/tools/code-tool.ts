/** Code as tools: what an agent writes, and what a document declares. */
import type { Json } from '../../expr/json.ts';
import type { CodeOptions, ToolCall, ToolWork } from './context.ts';
import { runCode } from './quickjs.ts';
import type { CodeResult } from './quickjs.ts';

const TIMEOUT_MS = 5_000;
const MEMORY_MAX = 64 * 1024 * 1024;

export function codeRun(options: CodeOptions = {}): ToolWork {
  return async (call) => ({ ...(await run(call, call.args['code'] as string, call.args['input'] ?? null, options)) });
}

/** The arguments are `args`; the value of the last expression, or of the function that it is, is the result. */
export function declaredCode({ source }: { readonly source: string }, options: CodeOptions = {}): ToolWork {
  return async (call) => (await run(call, source, call.args, options)).value;
}

function run({ timeoutMs, signal }: ToolCall, source: string, args: Json, options: CodeOptions): Promise<CodeResult> {
  return runCode(
    {
      source,
      args,
      timeoutMs: Math.min(timeoutMs, options.timeoutMs ?? TIMEOUT_MS),
      memoryMax: options.memoryMax ?? MEMORY_MAX,
    },
    signal,
  );
}
