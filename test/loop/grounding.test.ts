/** Claims without an observation: measured on real traces with human notes, and on real runs whose actions were taken out. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LOOKUP_CLAIM } from '../../src/compile/dialects/loop/claims.ts';
import { compileExpr } from '../../src/core/expr/index.ts';
import { airlineDocument, isThere, MUTATING, playOf, trajectories } from './airline.ts';
import type { Report } from '../../src/runtime/engine-types.ts';
import type { Trajectory } from './airline.ts';
import { compileLoop, drive } from './drive.ts';

const TRAIL = new URL('../../../shared/eval/trail/traces.jsonl', import.meta.url);

interface Trace {
  readonly id: string;
  readonly label: { readonly ungrounded_observation: boolean };
  readonly events: readonly {
    readonly kind: string;
    readonly name: string;
    readonly step: string | null;
    readonly out: string | null;
  }[];
}

describe('grounding', () => {
  test('traces in which something was looked up by words alone', () => {
    const traces = existsSync(TRAIL)
      ? readFileSync(TRAIL, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Trace)
      : [];
    if (traces.length === 0) process.stdout.write('the TRAIL traces are not here: nothing to measure on them\n');
    const claims = compileExpr(`re(text, ${JSON.stringify(LOOKUP_CLAIM)})`);
    const found = traces.filter(({ events }) => {
      if (events.some(({ kind, name, out }) => kind === 'TOOL' && !name.includes('FinalAnswer') && out !== null))
        return false;
      return events.some(
        ({ kind, step, out }) =>
          kind === 'LLM' && step !== null && out !== null && claims({ text: out.split('Code:')[0] ?? '' }) === true,
      );
    });
    const right = found.filter(({ label }) => label.ungrounded_observation).length;
    const noted = traces.filter(({ label }) => label.ungrounded_observation).length;
    process.stdout.write(
      `TRAIL: ${found.length} of ${traces.length} traces claim a lookup that nothing shows; precision ${(right / Math.max(1, found.length)).toFixed(2)}, recall ${(right / Math.max(1, noted)).toFixed(2)}\n`,
    );
    expect(right).toBeGreaterThanOrEqual(noted * 0.5);
  });

  test('airline runs with their last action taken out, but not the words about it', async () => {
    const all = isThere() ? trajectories().flatMap((each) => withoutLastAction(each) ?? []) : [];
    const flow =
      all.length === 0
        ? null
        : compileLoop({
            ...airlineDocument({ steps: 200 }),
            loop: { agent: 'clerk', grounding: { on_violation: 'halt' } },
          });
    let caught = 0;
    for (const trajectory of all) {
      const { report } = await converse(flow as NonNullable<typeof flow>, trajectory);
      if (report.code === 'VALIDATION_FAIL') caught += 1;
    }
    process.stdout.write(
      `airline: the last action taken out of ${all.length} runs, ${caught} caught by what the answer says\n`,
    );
    expect(caught).toBeGreaterThanOrEqual(all.length * 0.5);
  }, 60_000);
});

/** Whoever asks is answered as the customer was; whoever wants to act is let. */
async function converse(
  flow: Parameters<typeof drive>[0],
  trajectory: Trajectory,
): Promise<{ readonly report: Report }> {
  const { script, input, answers } = playOf(trajectory);
  const told = answers.map((text) => ({ choice: 'answer', text }));
  const approvals = { missing_info: told, ...Object.fromEntries([...MUTATING].map((name) => [name, 'approve'])) };
  return drive(flow, { ...script, strict: false, approvals }, { input });
}

/** Without the last call that changes something, and what came of it; null where there is none, or the run ends without words. */
function withoutLastAction(trajectory: Trajectory): Trajectory | null {
  const { messages } = trajectory;
  const at = messages.findLastIndex((message) => message.tool_calls?.some(({ name }) => MUTATING.has(name)) ?? false);
  if (at < 0 || messages.findLastIndex(({ role }) => role === 'assistant') <= at || messages.at(-1)?.role === 'tool')
    return null;
  return { ...trajectory, messages: messages.filter((_, index) => index !== at && index !== at + 1) };
}
