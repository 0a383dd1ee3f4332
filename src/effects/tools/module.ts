/** A function of the user's own, in a module beside the document. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Json } from '../../expr/json.ts';
import type { Args, ToolWork } from './tool.ts';
import { fail, reasonOf } from './tool.ts';

/** What such a function gets besides its arguments. */
export interface ModuleContext {
  readonly signal: AbortSignal;
  /** The same for every attempt of this call, and for no other call. */
  readonly idempotencyKey: string;
  readonly run: string;
  readonly node: string;
  readonly attempt: number;
  readonly workDir: string;
  /** What the call that is being undone had given; null for an ordinary call. */
  readonly result: Json;
}
export type ModuleTool = (args: Args, context: ModuleContext) => unknown;

/** `reference` is a path and an export, such as `./tools.ts#send`. */
export function moduleTool(reference: string, documentDir: string): ToolWork {
  const [path = '', name = ''] = reference.split('#');
  return ({ args, result, workDir, timeoutMs, signal: wanted, call }) =>
    inTime(timeoutMs, wanted, async (signal) => {
      const work = await load(resolve(documentDir, path), name);
      const { idempotencyKey } = call;
      const { run, node, attempt } = call.command;
      return ((await work(args, { signal, idempotencyKey, run, node, attempt, workDir, result })) ?? null) as Json;
    });
}

/** Real time, whatever clock the run goes by: what hangs is told to stop and no longer waited for. */
async function inTime(
  timeoutMs: number,
  wanted: AbortSignal,
  work: (signal: AbortSignal) => Promise<Json>,
): Promise<Json> {
  const late = new AbortController();
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(fail('timeout', 'TimeoutError', `the function did not end within ${timeoutMs} ms`));
    late.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(AbortSignal.any([wanted, late.signal])), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

async function load(file: string, name: string): Promise<ModuleTool> {
  const module = await (import(pathToFileURL(file).href) as Promise<{ readonly [name: string]: unknown }>).catch(
    (error: unknown) => {
      throw fail('fatal', 'ModuleError', `\`${file}\` cannot be loaded: ${reasonOf(error)}`);
    },
  );
  const work = Object.hasOwn(module, name) ? module[name] : undefined;
  if (typeof work !== 'function') throw fail('fatal', 'ModuleError', `\`${file}\` exports no function \`${name}\``);
  return work as ModuleTool;
}
