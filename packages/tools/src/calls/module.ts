/** Tools that are functions in a module beside the document. */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Pins } from '@sluice-internal/kernel/ir';
import { loadFunction } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import { withHeartbeat } from './heartbeat.ts';
import type { ToolContext } from './function.ts';
import type { Args, ToolKind, ToolOptions } from './tool.ts';

/**
 * The second parameter of such a function.
 * @example
 * const send = async (args: { readonly to?: string }, { idempotencyKey, signal }: ModuleContext) =>
 *   fetch('https://mail.example/send', { method: 'POST', signal, headers: { 'Idempotency-Key': idempotencyKey } });
 */
export interface ModuleContext extends ToolContext {
  readonly workDir: string;
}
/**
 * A function that a document names as `module: ./tools.ts#send`.
 * @example
 * const send: ModuleTool = async ({ to }, { idempotencyKey }) => ({ sent: to, key: idempotencyKey });
 */
export type ModuleTool = (args: Args, context: ModuleContext) => unknown;

export function moduleTools({ documentDir = '.' }: ToolOptions): ToolKind {
  return {
    /** A path and an export, such as `./tools.ts#send`. */
    declared:
      (reference) =>
      ({ args, result, workDir, timeoutMs, signal: wanted, call, attach }) =>
        withTimeout(timeoutMs, wanted, async (awaited) => {
          const work = await loadModuleTool(String(reference), call.pins?.documentDir ?? documentDir, call.pins);
          const { idempotencyKey } = call;
          const { run, node, attempt, deadline } = call.command;
          const own = { idempotencyKey, run, node, attempt, deadline, workDir, result, attach };
          const done = await withHeartbeat(
            call,
            async ({ beat: heartbeat, signal }) => work(args, { ...own, heartbeat, signal }),
            awaited,
          );
          return (done ?? null) as Json;
        }),
  };
}

/** Counts real time, also in a run with a virtual clock. After a timeout or an abort, the function is no longer awaited. */
async function withTimeout(
  timeoutMs: number,
  wanted: AbortSignal,
  work: (signal: AbortSignal) => Promise<Json>,
): Promise<Json> {
  const late = new AbortController();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(fail('timeout', 'AbortError', 'the function was stopped'));
  if (wanted.aborted) onAbort();
  wanted.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => {
    reject(fail('timeout', 'TimeoutError', `the function did not end within ${timeoutMs} ms`));
    late.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(AbortSignal.any([wanted, late.signal])), stopped]);
  } finally {
    clearTimeout(timer);
    wanted.removeEventListener('abort', onAbort);
  }
}

/** Loads the function that a document names, such as `./tools.ts#send`. */
export async function loadModuleTool(
  reference: string,
  documentDir: string,
  pins: Pins | undefined,
): Promise<ModuleTool> {
  return loadFunction(reference, documentDir, pins).catch((error: unknown) => {
    throw fail('fatal', 'ModuleError', reasonOf(error));
  }) as Promise<ModuleTool>;
}
