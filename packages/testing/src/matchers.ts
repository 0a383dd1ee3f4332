/**
 * Matchers for runs, for `expect.extend` of vitest or jest. They take a report, as `engine.get(run)` and `sluice show --json`
 * give it.
 *
 * @example
 * expect.extend(sluiceMatchers);
 * expect(report).toFollow(['triage', '...', 'pay']);
 * expect(report).toEndWith('SUCCESS');
 * expect(report).toStayWithin({ modelCalls: 3, costUsd: 0.01 });
 */
import type { TerminalCode } from '@sluice-internal/kernel/ir';
import type { Report } from '@sluice-internal/engine/ports';

type Checked = Pick<Report, 'run' | 'path' | 'code' | 'state' | 'usage' | 'error'>;
interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/**
 * The matchers as methods of `expect(…)`. Declare them for your test framework: `interface Assertion extends SluiceMatchers {}`.
 * @example
 * const check = (expected: SluiceMatchers) => expected.toFollow(['triage', '...', 'pay']);
 */
export interface SluiceMatchers<Result = unknown> {
  /** The path is this one. `'...'` stands for any number of nodes. */
  toFollow(path: readonly string[]): Result;
  toEndWith(code: TerminalCode): Result;
  /** No amount of `usage` is above its limit. */
  toStayWithin(limits: { readonly [measure in keyof Report['usage']]?: number }): Result;
}

/**
 * Matchers for `expect.extend` of vitest or jest. They take a report.
 * @example
 * const { pass, message } = sluiceMatchers.toEndWith(await engine.get('r_1'), 'SUCCESS');
 */
export const sluiceMatchers = {
  toFollow: (run: Checked, path: readonly string[]): MatcherResult => ({
    pass: follows(run.path, path),
    message: () => `run ${run.run} took the path ${shown(run.path)}, compared with ${shown(path)}`,
  }),
  toEndWith: (run: Checked, code: TerminalCode): MatcherResult => ({
    pass: run.code === code,
    message: () =>
      `run ${run.run} ended with ${run.code ?? run.state}, compared with ${code}${run.error === null ? '' : `: ${run.error.message}`}`,
  }),
  toStayWithin: (run: Checked, limits: { readonly [measure in keyof Report['usage']]?: number }): MatcherResult => {
    const over = (Object.entries(limits) as [keyof Report['usage'], number][]).filter(
      ([measure, most]) => !(run.usage[measure] <= most),
    );
    return {
      pass: over.length === 0,
      message: () =>
        over.length === 0
          ? `run ${run.run} stays within ${JSON.stringify(limits)}`
          : over
              .map(([measure, most]) => `${measure} is ${run.usage[measure] ?? 'unknown'}, and may be at most ${most}`)
              .join('; '),
    };
  },
};

function follows(path: readonly string[], wanted: readonly string[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return path.length === 0;
  if (first !== '...') return path[0] === first && follows(path.slice(1), rest);
  return Array.from({ length: path.length + 1 }, (_, skipped) => skipped).some((skipped) =>
    follows(path.slice(skipped), rest),
  );
}

function shown(path: readonly string[]): string {
  return path.length === 0 ? '(empty)' : path.join(' > ');
}
