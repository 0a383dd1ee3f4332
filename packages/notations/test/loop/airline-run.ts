/** Plays an airline run through the loop: customers answer, a supervisor approves, and everything that is done is noted. */
import { questionsOf } from '@sluice-internal/engine/report';
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { openMemory } from '@sluice-internal/engine/memory';
import { policyPerformer } from '@sluice-internal/guard/policy';
import { compile } from '@sluice-internal/notations/driver';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { replay } from '@sluice-internal/engine/audit';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Report } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { scriptedPerformer } from '../../../library/src/host/scripted/performer.ts';
import { airlineDocument, MUTATING, playOf } from './airline.ts';
import type { ToolCall, Trajectory } from './airline.ts';

const PLENTY: { readonly [field: string]: number } = { steps: 200, tool_calls: 100 };

export interface Ran {
  readonly report: Report;
  readonly dispatched: readonly ToolCall[];
  /** In which turn of the agent each of them was made. */
  readonly turns: readonly number[];
  /** Keys of performed tool calls, with repetitions. */
  readonly keys: readonly string[];
  readonly approved: number;
  /** Calls that change something and that nobody had approved. */
  readonly unasked: readonly string[];
  readonly difference: unknown;
}

const flows = new Map<string, CompiledFlow>();

/** Many runs have the same limits, and a graph is made once for each. */
function flowWith(budgets: { readonly [field: string]: number }): CompiledFlow {
  const key = JSON.stringify(budgets);
  let flow = flows.get(key);
  if (flow === undefined) {
    const result = compile(airlineDocument(budgets), { hash: (text) => hash('sha256', text, 'hex') });
    if (result.flow === undefined) throw new Error(JSON.stringify(result.diagnostics));
    flow = result.flow;
    flows.set(key, flow);
  }
  return flow;
}

export async function playAirline(trajectory: Trajectory, budgets: { readonly [field: string]: number }): Promise<Ran> {
  const { script, input, answers } = playOf(trajectory);
  const inner = scriptedPerformer(script, policyPerformer());
  const [dispatched, turns, keys, unasked]: [ToolCall[], number[], string[], string[]] = [[], [], [], []];
  let agreed: ToolCall | null = null;
  let turn = 0;
  const store = openMemory();
  const engine = createRuntime({
    store,
    clock: createVirtualClock(),
    pickUp: false,
    performer: {
      perform: (call) => {
        const { kind, name, key } = call.command;
        if (kind === 'model') turn += 1;
        if (kind === 'tool') {
          const made = { name, args: call.command.input['args'] as Json };
          if (MUTATING.has(name) && !isDeepStrictEqual(agreed, made)) unasked.push(name);
          agreed = null;
          dispatched.push(made);
          turns.push(turn);
          keys.push(key);
        }
        return inner.perform(call);
      },
    },
  });
  try {
    const run = await engine.start(flowWith({ ...PLENTY, ...budgets }), { input, seed: 1 });
    let [heard, approved] = [0, 0];
    for (;;) {
      await engine.wait(run);
      // The questions alone: a packet for each of them would cost as much as the run.
      const { program, state } = await engine.read(run);
      const [waiting] = questionsOf(program, state);
      if (waiting === undefined) break;
      if (waiting.code === 'MISSING_INFO')
        await engine.answer(waiting.id, { choice: 'respond', text: answers[heard++] ?? 'go on', by: 'customer' });
      else {
        const { tool, args } = waiting.data as { tool: string; args: Json };
        agreed = { name: tool, args };
        approved += 1;
        await engine.answer(waiting.id, { choice: 'approve', by: 'supervisor' });
      }
    }
    const report = await engine.get(run);
    const { difference } = await replay(store.journal, run);
    return { report, dispatched, turns, keys, approved, unasked, difference };
  } finally {
    await engine.close();
  }
}
