/** What a tool is given besides its arguments, and what a set of tools is set up with. */
import type { Json } from '../../expr/json.ts';
import type { RunId } from '../../ir/events.ts';
import type { Call } from '../../runtime/ports.ts';
import type { FailureClass } from '../../ir/codes.ts';
import { PerformError } from '../../runtime/failures.ts';

export type Args = { readonly [field: string]: Json };

export interface ToolOptions {
  /** Where a run's files are; made when it is first needed. */
  readonly workDir: string | ((run: RunId) => string);
  /** Where relative paths of the document lead: modules, MCP servers. Default: where the process runs. */
  readonly documentDir?: string;
  readonly http?: HttpOptions;
  readonly shell?: ShellOptions;
  readonly code?: CodeOptions;
  readonly files?: { readonly readMax?: number; readonly writeMax?: number };
  /** Added to, and stronger than, the servers that a document declares. */
  readonly mcp?: { readonly [server: string]: McpServer };
  /** Bytes of JSON that a result may have. Default 4 MiB. */
  readonly resultMax?: number;
  /** Values for `{{env.NAME}}` in documents. Default: the process's environment. */
  readonly env?: { readonly [name: string]: string | undefined };
}
export interface HttpOptions {
  /** Hosts that the built-in tools may call: a name, `*.` and a domain, or `*` for every public one. Default: none. */
  readonly hosts?: readonly string[];
  /** Hosts whose address may be private. Default: none. */
  readonly privateHosts?: readonly string[];
  readonly responseMax?: number;
  readonly timeoutMs?: number;
  readonly redirectsMax?: number;
  /** Every address of a host. Default: the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}
export interface ShellOptions {
  readonly timeoutMs?: number;
  /** Bytes of each stream that are kept. */
  readonly outputMax?: number;
  /** Folders of this machine that commands may read besides the system's. */
  readonly readable?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** The program that makes the sandbox. Default `bwrap`. */
  readonly bwrap?: string;
}
export interface CodeOptions {
  readonly timeoutMs?: number;
  readonly memoryMax?: number;
}
export interface McpServer {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: { readonly [name: string]: string };
  /** Seconds. */
  readonly timeout?: number;
  readonly tools?: readonly string[];
}

/** One call of one tool. */
export interface ToolCall {
  readonly name: string;
  readonly args: Args;
  /** What the call that is being undone had given; null for an ordinary call. */
  readonly result: Json;
  readonly workDir: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly call: Call;
}
export type ToolWork = (call: ToolCall) => Promise<Json>;

export function fail(failure: FailureClass, type: string, message: string): PerformError {
  return new PerformError({ class: failure, type, message });
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
