/** Runs one case in memory with the real engine, on a virtual clock that always starts at the same moment. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { LOOKALIKE, TOKEN } from '@sluice-internal/pii';
import type { OpenVault } from '@sluice-internal/pii';
import { vaultInProcess, worldBeside } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import type { ModelPerformerOptions } from '@sluice-internal/models';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { createVirtualClock, realClock } from '@sluice-internal/engine/ports';
import type { Performer, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { openMemory } from '@sluice-internal/engine/memory';
import type { Measured } from '../journal/record.ts';
import { measureRun } from '../metrics/measure.ts';

export interface CaseRun {
  readonly flow: CompiledFlow;
  readonly input: Json;
  readonly script: Script | undefined;
  readonly seed: number;
  readonly documentDir: string;
  /** The functions of tools, for a flow that is written in TypeScript. */
  readonly tools?: { readonly [name: string]: ToolFunction };
  readonly models?: ModelPerformerOptions;
  /** The values come from a journal. A token in them is plain text, because its value is not there. */
  readonly recorded?: boolean;
  /** Puts something between the engine and the world, such as faults. */
  readonly wrap?: (performer: Performer) => Performer;
  /** Reads the journal before the run is forgotten. */
  readonly inspect?: (store: Store, run: string) => Promise<void>;
}

const START = Date.UTC(2026, 0, 1);

export async function runCase(given: CaseRun): Promise<Measured> {
  const { flow, script, documentDir, tools = {}, models, wrap = (performer) => performer } = given;
  const isReal = models !== undefined || script === undefined || script.clock === 'real';
  const { world, close } = worldBeside(undefined, {
    toolOptions: { documentDir },
    tools,
    clock: isReal ? realClock : createVirtualClock(START),
    ...present({ script, models }),
    ...(given.recorded === true ? { vault: recordedVault() } : {}),
  });
  const store = openMemory();
  const engine = createRuntime({ store, performer: wrap(world.performer), clock: world.clock, pickUp: false });
  try {
    const run = await engine.start(flow, {
      input: given.input,
      seed: given.seed,
      origin: { pins: await world.pins(flow) },
    });
    await engine.wait(run);
    await given.inspect?.(store, run);
    return await measureRun(store.journal, run);
  } finally {
    await engine.close();
    await close();
  }
}

/** Tokens of another run stand for themselves. Other values get tokens as usual. */
function recordedVault(): OpenVault {
  const vault = vaultInProcess()(undefined, undefined);
  const isToken = (text: string): boolean => text.replace(TOKEN, '') === '';
  return () => ({
    ...vault,
    tokenFor: async (run, type, value) =>
      type === LOOKALIKE && isToken(value) ? value : vault.tokenFor(run, type, value),
    valueOf: async (run, token) => (await vault.valueOf(run, token)) ?? token,
  });
}
