/** Runs an example with its script in memory, and gives back its journal. */
import { readFileSync } from 'node:fs';
import { openMemory } from '../../src/stores/memory/open.ts';
import { worldBeside } from '../../src/surfaces/world-beside.ts';
import { createRuntime } from '../../src/runtime/engine/engine.ts';
import { readRun } from '../../src/runtime/journal/read.ts';
import type { ReadRun } from '../../src/runtime/journal/read.ts';
import { compileFile } from '../../src/surfaces/cli/document.ts';
import { readScript } from '../../src/surfaces/script.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import type { Script } from '../../src/effects/scripted/script.ts';
import type { Json } from '../../src/expr/json.ts';

const folder = new URL('../../examples/', import.meta.url);

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
