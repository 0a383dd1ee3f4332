/** Errors of the client: those of the server as the library throws them, and those of the connection. */

/**
 * An error of the server or of the connection. `code` is the same as in the library; each code has a page.
 * @example
 * try {
 *   await run.cancel('changed his mind');
 * } catch (error) {
 *   if (!(error instanceof SluiceError && error.code === 'run-ended')) throw error;
 * }
 */
export class SluiceError extends Error {
  readonly code: string;
  readonly help: string | undefined;
  /** The status of the answer; 0 if there was none. */
  readonly status: number;
  /** The facts of the message as data, such as who answered first. */
  readonly details: { readonly [field: string]: unknown };

  constructor(code: string, message: string, { help, status = 0, details = {}, cause }: Given = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.code = code;
    this.help = help;
    this.status = status;
    this.details = details;
  }
}

interface Given {
  readonly help?: string | undefined;
  readonly status?: number;
  readonly details?: SluiceError['details'];
  readonly cause?: unknown;
}

/**
 * The run ended without a result. `report` has its state, its code and the error.
 * @example
 * const output = await run.result().then(
 *   (report) => report.output,
 *   (error: unknown) => (error instanceof RunFailedError ? null : Promise.reject(error)),
 * );
 */
export class RunFailedError extends SluiceError {
  readonly report: Report;
  readonly outcome: string | null;

  constructor(report: Report) {
    const { run, flow, state, code, error } = report;
    const reason = error === null ? '' : `: ${error.type} in \`${error.node}\`: ${error.message}`;
    super('run-failed', `run \`${run}\` of \`${flow}\` ${state} with ${code ?? 'no code'}${reason}`);
    this.name = 'RunFailedError';
    this.report = report;
    this.outcome = code;
  }
}

/**
 * The report on a run. Other fields are those of `sluice show --json`.
 * @example
 * const report: Report<{ paid: number }> = await run.report();
 * show(report.state, report.path);
 */
export interface Report<Output = unknown> {
  readonly run: string;
  readonly flow: string;
  readonly state: 'pending' | 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled';
  readonly code: string | null;
  readonly output: Output;
  readonly path: readonly string[];
  readonly waiting: readonly { readonly id: string; readonly node: string; readonly message: string }[];
  readonly error: {
    readonly class: string;
    readonly type: string;
    readonly message: string;
    readonly node: string;
  } | null;
  readonly usage: { readonly [measure: string]: number };
  readonly [field: string]: unknown;
}

interface ProblemBody {
  readonly code?: unknown;
  readonly title?: unknown;
  readonly help?: unknown;
  readonly [field: string]: unknown;
}

/** A problem of the server, or an answer of something else in between. */
export async function errorOf(response: Response): Promise<SluiceError> {
  const { status } = response;
  const body = (await response.json().catch(() => null)) as ProblemBody | null;
  const { code, title, help, ...details } = body ?? {};
  if (typeof code !== 'string')
    return new SluiceError('bad-answer-of-server', `the server answered ${status} without a problem`, { status });
  return new SluiceError(code, typeof title === 'string' ? title : code, {
    ...{ status, details },
    help: typeof help === 'string' ? help : undefined,
  });
}
