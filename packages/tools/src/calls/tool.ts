/** Types that all kinds of tools share: the options of a set of tools, one call, and one kind of implementation. */
import type { AttachmentRef, FailureClass, RunId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { hasEffects } from '@sluice-internal/platform';
import type { AttachTo, AttachmentSource, HoldsSecret } from '@sluice-internal/platform';

/** The instant at which the engine stops waiting for a call, as text: `2026-12-01T09:00:00.000Z`. */
export function deadlineText({ command: { deadline } }: Call): string | null {
  return deadline === null ? null : new Date(deadline).toISOString();
}

export type Args = { readonly [field: string]: Json };

/**
 * Options of the tools that documents declare.
 * @example
 * const options: ToolOptions = { workDir: () => './work', http: { hosts: ['api.example.com'] } };
 */
export interface ToolOptions {
  /** The folder that a run works in. It is created on first use. */
  readonly workDir: string | ((run: RunId) => string);
  /** The folder that relative paths in the document start from: modules and MCP servers. Default: the current folder. */
  readonly documentDir?: string;
  readonly http?: HttpOptions;
  readonly shell?: ShellOptions;
  readonly code?: CodeOptions;
  readonly files?: { readonly readMax?: number; readonly writeMax?: number };
  /** MCP servers in addition to those of the document. Fields given here win over the document's. */
  readonly mcp?: { readonly [server: string]: McpServer };
  /** The largest result in bytes of JSON. Default 4 MiB. */
  readonly resultMax?: number;
  /** Takes images and files that tools return. Without it, they are only written to the work directory. */
  readonly attach?: AttachTo;
  /** Values for `{{env.NAME}}` in documents. Default: the environment of the process. */
  readonly env?: { readonly [name: string]: string | undefined };
}
export interface HttpOptions {
  /** Hosts that the built-in tools may call: a name, `*.` and a domain, or `*` for every public host. Default: none. */
  readonly hosts?: readonly string[];
  /** Hosts that may have a private address. Default: none. */
  readonly privateHosts?: readonly string[];
  readonly responseMax?: number;
  readonly timeoutMs?: number;
  /** Returns every address of a host. Default: the resolver of the system. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}
export interface ShellOptions {
  /** The longest time of a command, also if its tool declares more. Default: the time of the tool. */
  readonly timeoutMs?: number;
  /** Bytes kept of each output stream. */
  readonly outputMax?: number;
  /** Folders that commands may read in addition to the system folders. */
  readonly readable?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** The bubblewrap program. Default `bwrap`. */
  readonly bwrap?: string;
  /** Limits for each command. A limit of Infinity is not set. */
  readonly limits?: ResourceLimits;
}
/** Limits for a command and the processes that it starts. Sizes are in bytes. */
export interface ResourceLimits {
  /** CPU time of each process. Default 300, or the timeout of the call times the number of processors, if that is more. */
  readonly cpuSeconds?: number;
  /** Memory of all processes together. Default 512 MiB. */
  readonly memoryMax?: number;
  /** Processes and threads. Default 256. */
  readonly processesMax?: number;
  /** The largest file. Default 256 MiB. */
  readonly fileMax?: number;
  /** New or changed files in the work directory, and separately in `/tmp`. Default 1 GiB. */
  readonly diskMax?: number;
}
export interface CodeOptions {
  /** The longest time of a call, also if its tool declares more. Default: the time of the tool. */
  readonly timeoutMs?: number;
  /** Bytes that the code may allocate. Default 64 MiB. */
  readonly memoryMax?: number;
  /** Calls that run at once; others wait. Default: the number of processors. */
  readonly widthMax?: number;
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
  /** The effect of an undeclared tool follows from the hints of the server. */
  readonly trusted?: boolean;
  /** For a server that needs OAuth: client credentials, or the login of a person. */
  readonly oauth?: {
    readonly client_id?: string;
    readonly client_secret?: string;
    /** A key in PEM form that signs for the client, instead of a secret. */
    readonly private_key?: string;
    /** The algorithm of the signature. Default RS256. */
    readonly algorithm?: string;
    /** A person logs in with `sluice mcp login`. */
    readonly login?: boolean;
    readonly scope?: string;
    /** The only authorization server that gets the credentials. Default: the origin of `url`. */
    readonly issuer?: string;
  };
}

/** One call of one tool. */
export interface ToolCall {
  readonly name: string;
  readonly args: Args;
  /** In a compensation: the result of the call that it undoes. Otherwise null. */
  readonly result: Json;
  readonly workDir: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly call: Call;
  /** Adds an image or a file to the run. A path must be in the work directory. */
  readonly attach: (source: AttachmentSource, holdsSecret?: HoldsSecret) => Promise<AttachmentRef>;
  /** True for data that contains a secret of the tool or a key of a provider. */
  readonly holdsSecret?: HoldsSecret;
  /** Removes these secrets. A text is cut after this, because a part of a secret is not found. */
  readonly clean: (text: string) => string;
}
export type ToolWork = (call: ToolCall) => Promise<Json>;

/** One kind of implementation: the built-in tools that it provides, and the tools that a document declares with it. */
export interface ToolKind {
  readonly builtins?: { readonly [name: string]: ToolWork };
  /** `definition` is the value under the key of this kind; `implementation` is the whole object. */
  readonly declared?: (definition: Json, implementation: { readonly [key: string]: Json }) => ToolWork;
  /** Ends every process and thread that this kind has started. */
  readonly close?: () => Promise<void>;
}

/** The class of a call that was sent and got no answer. It may have happened, as after a timeout, unless the tool only reads. */
export function classUnanswered({ call }: ToolCall): FailureClass {
  return hasEffects(call) ? 'timeout' : 'transient';
}
