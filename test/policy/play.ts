/** Runs a document by a script, with the real checks between a proposal and a call, and shows what happened. */
import { openMemory } from '../../src/stores/memory/open.ts';
import type { Script } from '../../src/effects/scripted/script.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import type { Json } from '../../src/expr/json.ts';
import type { ChainedEvent, Report } from '../../src/runtime/engine/types.ts';
import { compile } from '../../src/surfaces/library/compile.ts';
import { createEngine } from '../../src/surfaces/library/create-engine.ts';

export interface Played {
  readonly flow: CompiledFlow;
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
  /** The nodes that acted, in order, without the agent's own name in front. */
  readonly steps: readonly string[];
  /** What was really asked of tools. */
  readonly dispatched: readonly string[];
}

export interface Setting {
  readonly input?: Json;
  readonly origin?: { readonly tenant?: string; readonly user?: string };
}

export async function play(document: string | object, script: Script, setting: Setting = {}): Promise<Played> {
  const result = compile(document);
  if (result.flow === undefined) throw new Error(JSON.stringify(result.diagnostics, null, 2));
  const engine = createEngine({ journal: openMemory(), script });
  try {
    const run = await engine.start(result.flow, {
      input: setting.input ?? { message: 'please' },
      ...(setting.origin === undefined ? {} : { origin: setting.origin }),
    });
    const report = await engine.settled(run);
    const events: ChainedEvent[] = [];
    for await (const event of engine.events(run, { live: false })) events.push(event);
    return { flow: result.flow, report, events, steps: stepsOf(events), dispatched: dispatchedIn(events) };
  } finally {
    await engine.close();
  }
}

function stepsOf(events: readonly ChainedEvent[]): readonly string[] {
  return events.flatMap((event) => ('node' in event && event.node !== undefined ? [String(event.node)] : []));
}

function dispatchedIn(events: readonly ChainedEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'effect.requested' && event.kind === 'tool' ? [event.name] : []));
}
