/** Runs a document under a script, with the real checks between a proposal and a call. */
import { openMemory } from '@sluice-internal/engine/memory';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ChainedEvent, Report } from '@sluice-internal/engine/ports';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';
import { playOn, remembered } from '../../../../test/support/harness.ts';

export interface Played {
  readonly flow: CompiledFlow;
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
  /** The nodes that acted, in order, without the agent's own name in front. */
  readonly steps: readonly string[];
  /** The tools that were really called. */
  readonly dispatched: readonly string[];
}

export interface Setting {
  readonly input?: Json;
  readonly origin?: { readonly tenant?: string; readonly user?: string };
}

/** All stages of a staged flow, for documents with these agents. */
export const STAGED = {
  id: 'demo',
  plan: { agent: 'planner' },
  workers: { agent: 'clerk' },
  aggregate: { agent: 'writer' },
  validate: { agent: 'critic' },
  finalize: { agent: 'writer' },
};

export async function play(document: string | object, script: Script, setting: Setting = {}): Promise<Played> {
  const flow = compiled(document);
  const { input = { message: 'please' }, origin } = setting;
  const engine = createEngine({ journal: openMemory(), script });
  const { report, events } = await playOn(engine, flow, { input, ...(origin === undefined ? {} : { origin }) });
  return { flow, report, events, steps: stepsOf(events), dispatched: dispatchedIn(events) };
}

const compiled = remembered((document) => {
  const { flow, diagnostics } = compile(document);
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics, null, 2));
  return flow;
});

function stepsOf(events: readonly ChainedEvent[]): readonly string[] {
  return events.flatMap((event) => ('node' in event && event.node !== undefined ? [String(event.node)] : []));
}

function dispatchedIn(events: readonly ChainedEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'effect.requested' && event.kind === 'tool' ? [event.name] : []));
}
