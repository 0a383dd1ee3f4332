/** Runs a loop under a script to its next wait or its end, and gives back all that can be seen of it. */
import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { openMemory } from '../../src/stores/memory/open.ts';
import { policyPerformer } from '../../src/effects/policy/performer.ts';
import { scriptedPerformer } from '../../src/effects/scripted/performer.ts';
import type { Script } from '../../src/effects/scripted/script.ts';
import { compile } from '../../src/compile/compile.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import type { Answer, Origin } from '../../src/ir/events.ts';
import { replay } from '../../src/runtime/journal/audit.ts';
import { createVirtualClock } from '../../src/runtime/engine/clock.ts';
import type { Report } from '../../src/runtime/engine/types.ts';
import { createRuntime } from '../../src/runtime/engine/engine.ts';
import { isMemoryCheck, memoryPerformer } from '../../src/effects/memory/memory.ts';
import { promptOf, promptText } from '../../src/effects/prompt/prompt.ts';
import { readRun } from '../../src/runtime/journal/read.ts';
import type { ReadRun } from '../../src/runtime/journal/read.ts';
import { createMemoryStore } from '../../src/effects/memory/store.ts';
import type { MemoryStore } from '../../src/effects/memory/store.ts';

export function compileLoop(document: object): CompiledFlow {
  const { flow, diagnostics } = compile(document, { hash: (text) => hash('sha256', text, 'hex') });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return flow as CompiledFlow;
}

export interface Driven {
  readonly report: Report;
  readonly read: ReadRun;
  /** Every prompt that a model was sent, as text. */
  readonly prompts: readonly string[];
  readonly difference: unknown;
}

interface DriveOptions {
  readonly memory?: MemoryStore;
  readonly answers?: readonly Omit<Answer, 'by'>[];
  readonly input?: string;
  readonly origin?: Origin;
}

export async function drive(flow: CompiledFlow, script: Script, options: DriveOptions = {}): Promise<Driven> {
  const prompts: string[] = [];
  const store = openMemory();
  const memory = memoryPerformer(options.memory ?? createMemoryStore());
  const policy = policyPerformer();
  const scripted = scriptedPerformer(script, {
    perform: (call) => (isMemoryCheck(call.command) ? memory : policy).perform(call),
  });
  const engine = createRuntime({
    store,
    clock: createVirtualClock(),
    pickUp: false,
    performer: {
      ...scripted,
      perform: (call) => {
        if (call.command.kind === 'model') prompts.push(promptText(promptOf(call.flow, call.command)));
        return scripted.perform(call);
      },
    },
  });
  try {
    const { origin = {} } = options;
    const run = await engine.start(flow, { input: options.input ?? 'what is it?', seed: 1, origin });
    let report = await engine.settled(run);
    for (const answer of options.answers ?? []) {
      await engine.answer(report.waiting[0]?.id ?? '', { ...answer, by: 'ann' });
      report = await engine.settled(run);
    }
    const { difference } = await replay(store.journal, run);
    return { report, read: await readRun(store.journal, run), prompts, difference };
  } finally {
    await engine.close();
  }
}
