/** Runs a loop under a script to its next wait or its end, and returns all that can be seen of it. */
import { promptText } from '@sluice-internal/platform';
import type { MemoryStore, Report } from '@sluice-internal/engine/ports';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { replay } from '@sluice-internal/engine/audit';
import { readRun, streamRun } from '@sluice-internal/engine/journal';
import type { ReadRun } from '@sluice-internal/engine/journal';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { playOn, scriptedEngine } from '../../../../test/support/harness.ts';
import type { Play } from '../../../../test/support/harness.ts';

export { compiled as compileLoop } from '../../../../test/support/harness.ts';

export interface Driven {
  readonly report: Report;
  readonly read: ReadRun;
  readonly hashes: readonly string[];
  /** Every prompt that a model received, as text. */
  readonly prompts: readonly string[];
  readonly difference: unknown;
}

interface DriveOptions extends Partial<Play> {
  readonly memory?: MemoryStore;
}

export async function drive(flow: CompiledFlow, script: Script, options: DriveOptions = {}): Promise<Driven> {
  const { memory, ...given } = options;
  const { engine, store, prompts } = scriptedEngine(script, memory);
  const start = { input: 'what is it?', seed: 1, origin: {}, ...given };
  const { report, read, hashes, difference } = await playOn(engine, flow, start, async (run) => ({
    read: await readRun(store.journal, run),
    hashes: [...(await streamRun(store.journal, run)).events].map(({ hash }) => hash),
    difference: (await replay(store.journal, run)).difference,
  }));
  return { report, read, hashes, prompts: prompts.map(({ messages }) => promptText(messages)), difference };
}
