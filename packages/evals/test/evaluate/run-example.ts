/** Runs an example with its script in memory, and gives back its journal. */
import { readFileSync } from 'node:fs';
import { openMemory } from '@sluice-internal/engine/memory';
import { readScript, worldBeside } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import { createRuntime } from '@sluice-internal/engine/worker';
import { readRun } from '@sluice-internal/engine/journal';
import type { ReadRun } from '@sluice-internal/engine/journal';
import { compileFile } from '@sluice-internal/library/documents';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';

const folder = new URL('../../../../examples/', import.meta.url);

export async function runExample(file: string, input?: Json): Promise<ReadRun> {
  const { result } = await compileFile(new URL(file, folder).pathname);
  const flow = result.flow as CompiledFlow;
  const name = file.replace(/\.\w+\.yaml$/, '.script.yaml');
  const text = readFileSync(new URL(name, folder), 'utf8');
  const { script } = readScript(text, name, flow);
  const { world, close } = worldBeside(undefined, { script: { ...(script as Script), clock: 'virtual' } });
  const store = openMemory();
  const engine = createRuntime({ store, performer: world.performer, clock: world.clock, pickUp: false });
  try {
    const run = await engine.start(flow, {
      input: input ?? (flow.notation === 'flow' ? { message: 'go' } : 'go'),
      seed: 1,
    });
    await engine.settled(run);
    return await readRun(store.journal, run);
  } finally {
    await engine.close();
    await close();
  }
}
