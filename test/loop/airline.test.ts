/** Real runs of the airline domain under the bounded loop: approvals, budgets, and the journal decided again. */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openMemory } from '../../src/adapters/memory/open.ts';
import { policyPerformer } from '../../src/adapters/policy/performer.ts';
import { scriptedPerformer } from '../../src/adapters/scripted/performer.ts';
import { compile } from '../../src/compile/compile.ts';
import type { CompiledFlow } from '../../src/core/ir.ts';
import type { Json } from '../../src/core/json.ts';
import { replay } from '../../src/runtime/audit.ts';
import { createVirtualClock } from '../../src/runtime/clock.ts';
import type { Report } from '../../src/runtime/engine-types.ts';
import { createRuntime } from '../../src/runtime/engine.ts';
import { airlineDocument, callsOf, failuresInARow, isThere, MUTATING, playOf, trajectories } from './airline.ts';
import type { ToolCall, Trajectory } from './airline.ts';

const PLENTY = { steps: 200, tool_calls: 100 };

interface Ran {
  readonly report: Report;
  readonly dispatched: readonly ToolCall[];
  /** Keys of performed tool calls, with repetitions. */
  readonly keys: readonly string[];
  readonly approved: number;
  readonly unasked: readonly string[];
  readonly difference: unknown;
}

function compiled(budgets: { readonly [field: string]: number }): CompiledFlow {
  const { flow, diagnostics } = compile(airlineDocument(budgets), { hash: (text) => hash('sha256', text, 'hex') });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return flow as CompiledFlow;
}

async function drive(trajectory: Trajectory, flow: CompiledFlow): Promise<Ran> {
  const { script, input, answers } = playOf(trajectory);
  const inner = scriptedPerformer(script, policyPerformer());
  const dispatched: ToolCall[] = [];
  const keys: string[] = [];
  const unasked: string[] = [];
  let agreed: ToolCall | null = null;
  const store = openMemory();
  const engine = createRuntime({
    store,
    clock: createVirtualClock(),
    pickUp: false,
    performer: {
      perform: (call) => {
        const { kind, name, key } = call.command;
        if (kind === 'tool') {
          const made = { name, args: call.command.input['args'] as Json };
          if (MUTATING.has(name) && !isDeepStrictEqual(agreed, made)) unasked.push(name);
          agreed = null;
          dispatched.push(made);
          keys.push(key);
        }
        return inner.perform(call);
      },
    },
  });
  try {
    const run = await engine.start(flow, { input, seed: 1 });
    let report = await engine.settled(run);
    let [heard, approved] = [0, 0];
    while (report.state === 'suspended') {
      const waiting = report.waiting[0];
      if (waiting === undefined) break;
      if (waiting.code === 'MISSING_INFO')
        await engine.answer(waiting.id, { choice: 'answer', text: answers[heard++] ?? 'go on', by: 'customer' });
      else {
        const { tool, args } = waiting.payload as { tool: string; args: Json };
        agreed = { name: tool, args };
        approved += 1;
        await engine.answer(waiting.id, { choice: 'approve', by: 'supervisor' });
      }
      report = await engine.settled(run);
    }
    const { difference } = await replay(store.journal, run);
    return { report, dispatched, keys, approved, unasked, difference };
  } finally {
    await engine.close();
  }
}

const all = isThere() ? trajectories() : [];
if (all.length === 0) process.stdout.write('the airline runs are not here: nothing to show on them\n');

describe('the airline runs', () => {
  test('every mutating call waits, none is made twice, and the journal is decided again alike', async () => {
    const flow = all.length === 0 ? null : compiled(PLENTY);
    const off: string[] = [];
    const unexplained: string[] = [];
    for (const trajectory of all) {
      const ran = await drive(trajectory, flow as CompiledFlow);
      const expected = callsOf(trajectory);
      expect(ran.unasked).toEqual([]);
      expect(new Set(ran.keys).size).toBe(ran.keys.length);
      expect(ran.difference).toBeNull();
      expect(ran.report.state === 'completed' || ran.report.state === 'failed').toBe(true);
      if (isDeepStrictEqual(ran.dispatched, expected) && ran.report.code === 'SUCCESS') continue;
      const line = `${trajectory.task_id}/${trajectory.trial}: ${ran.dispatched.length} of ${expected.length} calls, ${String(ran.report.code)}: ${ran.report.error?.message ?? 'an identical call was stopped'}`;
      off.push(line);
      const tired = ran.report.code === 'REPEATED_FAILURE' && failuresInARow(trajectory) > 2;
      if (!tired && trajectory.exact_loop_5_3_at === null) unexplained.push(line);
    }
    process.stdout.write(
      `airline: ${all.length - off.length} of ${all.length} runs are exact\n${off.map((line) => `  ${line}\n`).join('')}`,
    );
    // Two limits of the loop change the course of a run, and nothing else does: the third identical call among five is
    // stopped, and a third failure in a row is not mended any more.
    expect(unexplained).toEqual([]);
  }, 120_000);

  test('a budget of tool calls stops before the first call that it does not cover', async () => {
    for (const trajectory of all.slice(0, 12)) {
      const expected = callsOf(trajectory);
      const limit = Math.floor(expected.length / 2);
      if (expected.length < 2) continue;
      const { report, dispatched } = await drive(trajectory, compiled({ ...PLENTY, tool_calls: limit }));
      expect(report).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { toolCalls: limit } });
      expect(dispatched).toEqual(expected.slice(0, limit));
    }
  }, 60_000);

  test('a budget of steps stops before the first turn that it does not cover', async () => {
    for (const trajectory of all.slice(0, 12)) {
      const turns = trajectory.messages.filter(({ role }) => role === 'assistant').length;
      const limit = Math.floor(turns / 2);
      if (limit < 1) continue;
      const { report } = await drive(trajectory, compiled({ ...PLENTY, steps: limit }));
      expect(report).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { steps: limit, modelCalls: limit } });
    }
  }, 60_000);
});
