/** Errors as RFC 9457 problems. Every error of the engine has one status here; a code without a row is a mistake of the server. */
import { SluiceError } from '@sluice-internal/engine/ports';
import type { ErrorCode } from '@sluice-internal/engine/ports';
import { CompileError } from '@sluice-internal/library';
import { DiagnosticsError } from '@sluice-internal/library/documents';
import { basename } from 'node:path';
import { ZodError } from 'zod';

const PROBLEM_TYPE = 'application/problem+json';

/** `bad-input` is a diagnostic of the command too. */
type ProblemCode = ErrorCode | 'bad-input';

/** The status of each error. The compiler refuses a code without a row. */
const STATUS: { readonly [code in ProblemCode]: number } = {
  'bad-request': 400,
  'bad-cursor': 400,
  'bad-run-id': 400,
  'bad-start': 400,
  'user-not-allowed': 400,
  'event-not-found': 400,
  unauthenticated: 401,
  'access-denied': 403,
  'cross-site': 403,
  'identity-unproven': 403,
  'memory-violation': 403,
  'not-an-approver': 403,
  'self-approval': 403,
  'wrong-tenant': 403,
  'route-not-found': 404,
  'run-not-found': 404,
  'flow-not-found': 404,
  'approval-not-found': 404,
  'attachment-not-found': 404,
  'breaker-not-found': 404,
  'call-not-found': 404,
  'memory-not-found': 404,
  'token-not-found': 404,
  'approval-closed': 409,
  'already-answered': 409,
  'chain-broken': 409,
  'code-changed': 409,
  'flow-changed': 409,
  'lease-lost': 409,
  'mcp-changed': 409,
  'replay-differs': 409,
  'resume-not-stopped': 409,
  'resume-undone': 409,
  'run-ended': 409,
  'run-exists': 409,
  'run-removed': 409,
  'scripted-run': 409,
  'not-here': 409,
  'signal-not-awaited': 409,
  'thread-busy': 409,
  'token-exists': 409,
  'stale-payload': 412,
  'stale-source': 412,
  'body-too-large': 413,
  'value-too-large': 413,
  'unsupported-media-type': 415,
  'wrong-host': 421,
  'attachment-not-taken': 422,
  'bad-answer': 422,
  'bad-attachment': 422,
  'bad-budget': 422,
  'bad-definition': 422,
  'bad-fork': 422,
  'bad-guidance': 422,
  'bad-retry': 422,
  'bad-input': 422,
  'bad-migration': 422,
  'bad-quota': 422,
  'bad-restore': 422,
  'bad-token': 422,
  'compile-failed': 422,
  'missing-package': 422,
  'missing-prerequisite': 422,
  'no-credentials': 422,
  'no-implementation': 422,
  'no-model': 422,
  'not-a-choice': 422,
  'not-recorded': 422,
  'pii-blocked': 422,
  'unknown-slot': 422,
  'unsafe-module': 422,
  'too-old': 426,
  'quota-exceeded': 429,
  'too-many-requests': 429,
  'too-many-runs': 429,
  'too-many-streams': 429,
  'bad-issuer': 502,
  'mcp-unreachable': 502,
  'pii-service': 502,
  'engine-closed': 503,
  'journal-busy': 503,
  'journal-unavailable': 503,
  'journal-read-only': 503,
  'journal-replaced': 503,
  'journal-unsafe': 503,
  'not-delivered': 503,
  'too-many-files': 503,
  'disk-full': 507,
  // What a request cannot cause: the machine, its settings, or a mistake of the server. The answer does not say which.
  'bad-answer-of-server': 500,
  'bad-baseline': 500,
  'bad-key-file': 500,
  'bad-lock': 500,
  'bad-module': 500,
  'bad-signing-key': 500,
  'file-not-found': 500,
  'file-unreadable': 500,
  'internal-error': 500,
  interrupted: 500,
  'invariant-broken': 500,
  'journal-damaged': 500,
  'journal-newer': 500,
  'journal-older': 500,
  'old-node': 500,
  'pii-key': 500,
  'journal-key': 500,
  'port-unavailable': 500,
  'run-failed': 500,
  'run-waits': 500,
  'serve-open': 500,
  'unknown-schema': 500,
  unreachable: 500,
  usage: 500,
};

/** Codes come as text from descriptions of routes. */
export function statusOf(code: string): number {
  return Object.hasOwn(STATUS, code) ? STATUS[code as ProblemCode] : 500;
}

const DOCS = 'https://github.com/sluice-dev/sluice/blob/main/docs/errors';

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly help?: string;
  /** The request as the log of the server names it. */
  readonly request: string;
  readonly [more: string]: unknown;
}

/** What an error adds to its problem, such as who answered first. */
export type Details = { readonly [field: string]: unknown };

/** A refusal of the server itself, with what the problem and the headers carry. */
export class Refusal extends Error {
  readonly code: ProblemCode;
  readonly help: string | undefined;
  readonly details: Details;
  readonly headers: { readonly [name: string]: string };

  constructor(
    code: ProblemCode,
    message: string,
    {
      help,
      details = {},
      headers = {},
    }: { help?: string; details?: Details; headers?: { readonly [name: string]: string } } = {},
  ) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.help = help;
    this.details = details;
    this.headers = headers;
  }
}

export function problemResponse(error: unknown, request: string): Response {
  const { code, title, help, details, headers } = known(error);
  const status = statusOf(code);
  const problem: Problem = {
    ...{ type: `${DOCS}/${code}.md`, title, status, code },
    ...(help === undefined ? {} : { help }),
    ...details,
    request,
  };
  return new Response(JSON.stringify(problem), {
    status,
    headers: { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store', ...headers },
  });
}

interface Known {
  readonly code: ProblemCode;
  readonly title: string;
  readonly help?: string | undefined;
  readonly details: Details;
  readonly headers: { readonly [name: string]: string };
}

function known(error: unknown): Known {
  if (error instanceof Refusal) return { ...error, code: error.code, title: error.message, help: error.help };
  if (error instanceof DiagnosticsError) return ofScript(error);
  // A server that cannot go on says no more than that: paths and settings are for its log.
  if (error instanceof SluiceError && statusOf(error.code) !== 500) {
    const { code, message: title, help } = error;
    const details = error instanceof CompileError ? { diagnostics: withoutPaths(error.diagnostics) } : error.details;
    return { code, title, help, details, headers: code === 'journal-busy' ? { 'retry-after': '1' } : {} };
  }
  if (error instanceof ZodError) return { ...mistakeIn(error), headers: {} };
  // The log has the error itself. A stranger learns nothing from it.
  return {
    code: 'internal-error',
    title: 'the server made a mistake',
    help: 'The log of the server has the cause under the id of the request.',
    details: {},
    headers: {},
  };
}

function ofScript({ report }: DiagnosticsError): Known {
  const { diagnostics = [] } = report as { readonly diagnostics?: readonly { readonly file: string }[] };
  const details = { diagnostics: withoutPaths(diagnostics) };
  return { code: 'compile-failed', title: 'the script has mistakes', details, headers: {} };
}

/** The place of a file on this machine is nobody's business. */
function withoutPaths<Each extends { readonly file: string }>(diagnostics: readonly Each[]): readonly Each[] {
  return diagnostics.map((each) => ({ ...each, file: basename(each.file) }));
}

/** The first mistake, with its place in the body. */
function mistakeIn({ issues }: ZodError): Omit<Known, 'headers'> {
  const [first] = issues;
  const place = (first?.path ?? []).map(String).join('.');
  const what =
    first?.code === 'unrecognized_keys'
      ? `\`${first.keys[0] ?? ''}\` is not known`
      : (first?.message ?? 'is not valid');
  const at = first?.code === 'unrecognized_keys' || place === '' ? what : `\`${place}\`: ${what}`;
  return { code: 'bad-request', title: at, help: 'See /openapi.json.', details: { field: place } };
}
