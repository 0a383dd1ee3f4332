/** The MCP client library, loaded when the first server is used. */
import type * as ClientLibrary from '@modelcontextprotocol/client';
import type * as StdioLibrary from '@modelcontextprotocol/client/stdio';
import { importOptional } from '@sluice-internal/platform';

type Sdk = typeof ClientLibrary & typeof StdioLibrary;

let loaded: Sdk | null = null;

export async function loadSdk(): Promise<void> {
  const [client, stdio] = await Promise.all([
    load('@modelcontextprotocol/client'),
    load('@modelcontextprotocol/client/stdio'),
  ]);
  loaded ??= { ...(client as typeof ClientLibrary), ...(stdio as typeof StdioLibrary) };
}

function load(path: string): Promise<unknown> {
  return importOptional('@modelcontextprotocol/client', 'an MCP server', path);
}

/** Call `loadSdk` before. */
export function sdk(): Sdk {
  if (loaded === null) throw new Error('the MCP client library is not loaded');
  return loaded;
}

/** True for an error of the library with one of these codes. */
export function isSdkError(error: unknown, codes: (all: Sdk['SdkErrorCode']) => readonly string[]): error is Error {
  return loaded !== null && error instanceof loaded.SdkError && codes(loaded.SdkErrorCode).includes(error.code);
}

/** True for an error that the server itself reported. */
export function isProtocolError(error: unknown): error is Error {
  return loaded !== null && error instanceof loaded.ProtocolError;
}

/** The HTTP status of an error of the library. */
export function statusOf(error: unknown): number | undefined {
  return loaded !== null && error instanceof loaded.SdkHttpError ? error.status : undefined;
}

/** True for an error of the login, which comes before the call. */
export function isLogin(error: unknown): boolean {
  if (loaded === null) return false;
  const { UnauthorizedError, OAuthError, OAuthClientFlowError } = loaded;
  return [UnauthorizedError, OAuthError, OAuthClientFlowError].some((kind) => error instanceof kind);
}
