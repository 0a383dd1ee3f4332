/** Runs documents against a provider that a test controls, on a virtual clock. */
import { expect } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Call, Clock, Store } from '@sluice-internal/engine/ports';
import type { Settled } from '@sluice-internal/kernel/ir';
import { compile, createEngine, openMemory, replay } from '@sluice-internal/library';
import type { CompiledFlow, Report } from '@sluice-internal/library';

export const AGENTS = {
  models: {
    main: { provider: 'openai', model: 'big', price: { input: 10, output: 10 } },
    cheap: { provider: 'openai', model: 'small', price: { input: 1, output: 1 } },
  },
  agents: [{ id: 'bot', model: 'main', instructions: 'Answer.' }],
};

export const FLOW = {
  id: 'ask',
  entry: 'a',
  nodes: [{ id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] }],
};

export function flowOf(document: object): CompiledFlow {
  const { flow, diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return flow as CompiledFlow;
}

export type Provider = (call: Call, at: number) => Settled | Promise<Settled>;

export const DOWN: Settled = { ok: false, error: { class: 'transient', type: 'APIError', message: '503 overloaded' } };

export function says(text: string, toolCalls?: Json): Settled {
  return { ok: true, value: toolCalls === undefined ? { text } : { text, toolCalls }, used: USED };
}
const USED = { inputTokens: 100, outputTokens: 100, costMicros: 1000 };

export interface Lab {
  readonly clock: Clock;
  readonly store: Store;
  /** Every model call that reached the provider. */
  readonly sent: { readonly at: number; readonly model: string | undefined; readonly run: string }[];
  run(flow: CompiledFlow, input?: Json): Promise<Report>;
  start(flow: CompiledFlow, options?: { readonly input?: Json; readonly seed?: number }): Promise<string>;
  settled(run: string): Promise<Report>;
  answer(id: string, choice: string): Promise<void>;
  /** The events of a run. Checks first that a replay decides the same. */
  events(run: string): Promise<readonly { readonly type: string; readonly [field: string]: unknown }[]>;
  close(): Promise<void>;
}

export function lab(provider: Provider, options: { store?: Store; clock?: Clock } = {}): Lab {
  const { store = openMemory(), clock = createVirtualClock(0) } = options;
  const sent: { at: number; model: string | undefined; run: string }[] = [];
  const engine = createEngine({
    journal: store,
    clock,
    performer: {
      perform: async (call) => {
        if (call.command.kind === 'model')
          sent.push({ at: clock.now(), model: call.command.target, run: call.command.run });
        return provider(call, clock.now());
      },
    },
  });
  return {
    clock,
    store,
    sent,
    run: async (flow, input = 'hello') => engine.settled(await engine.start(flow, { input })),
    start: (flow, given = {}) => engine.start(flow, { input: 'hello', ...given }),
    settled: (run) => engine.settled(run),
    answer: async (id, choice) => void (await engine.answer(id, { choice, by: 'anna' })),
    events: async (run) => {
      const events: { type: string; [field: string]: unknown }[] = [];
      for await (const event of engine.events(run, { live: false })) events.push({ ...event });
      expect(await replay(store.journal, run)).toMatchObject({ agrees: true });
      return events;
    },
    close: () => engine.close(),
  };
}
