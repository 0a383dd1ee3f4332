/** Errors of the library that carry data. All of them are `SluiceError`s, so one `catch` can tell them apart by `code`. */
import type { Diagnostic } from '@sluice-internal/compile/source';
import type { TerminalCode } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Report, Waiting } from '@sluice-internal/engine/ports';

/**
 * A definition or a document does not compile. `diagnostics` has every error and warning.
 * @example
 * try {
 *   await engine.run(refunds, { message: 'money back' });
 * } catch (error) {
 *   if (error instanceof CompileError) for (const { code, message } of error.diagnostics) console.error(code, message);
 * }
 */
export class CompileError extends SluiceError {
  readonly diagnostics: readonly Diagnostic[];

  constructor(id: string, diagnostics: readonly Diagnostic[]) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const lines = errors.map(
      ({ code, message, help }) => `  ${code}: ${message}${help === undefined ? '' : `. ${help}`}`,
    );
    const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
    super('compile-failed', [`\`${id}\` has ${count}:`, ...lines].join('\n'));
    this.name = 'CompileError';
    this.diagnostics = diagnostics;
  }
}

/**
 * The run ended without a result. `report` has its state, its code and the error.
 * @example
 * const { output } = await run.result().catch((error) => {
 *   if (error instanceof RunFailedError && error.outcome === 'BUDGET_EXHAUSTED') return { output: null };
 *   throw error;
 * });
 */
export class RunFailedError extends SluiceError {
  readonly report: Report;
  /** The code that the run ended with. */
  readonly outcome: TerminalCode | null;

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
 * The run waits for a person, and the caller of `result` asked not to wait with it. `waiting` has the open questions.
 * @example
 * const answer = await run.result({ onQuestion: 'throw' }).catch((error) => {
 *   if (error instanceof RunWaitsError) return { waiting: error.waiting };
 *   throw error;
 * });
 */
export class RunWaitsError extends SluiceError {
  readonly waiting: readonly Waiting[];

  constructor(run: string, waiting: readonly Waiting[]) {
    const asks = waiting.map(({ node, message }) => `\`${node}\` asks: ${message}`).join('; ');
    super('run-waits', `run \`${run}\` waits for a person: ${asks}`, 'Answer with `run.answer(node, choice, { by })`.');
    this.name = 'RunWaitsError';
    this.waiting = waiting;
  }
}
