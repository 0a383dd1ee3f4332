/** The world of authored documents: calls give 0, 1 or 2, fail in two ways or never return; some signals come. */
import { createHash } from 'node:crypto';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Settled } from '@sluice-internal/kernel/ir';
import type { RandomWorld } from './world.ts';

type Result = number | 'odd' | 'even' | 'silent';

export function createDocumentWorld(seed: number): RandomWorld {
  const sent = (_: string, signal: string): Json | undefined => (draw(seed, signal) % 3 === 0 ? undefined : signal);
  return {
    person: () => null,
    sent,
    latencyMs: ({ key, attempt }) => draw(seed, `latency ${key} ${attempt}`) % 30,
    answer: ({ key, attempt, kind, input }) => {
      if (kind !== 'wait') return settledAs(RESULTS[draw(seed, `${key} ${attempt}`) % RESULTS.length] as Result, kind);
      const data = 'signal' in input ? sent(key, String(input['signal'])) : undefined;
      return data === undefined ? null : { ok: true, value: { data, by: 'script' } };
    },
  };
}

const RESULTS: readonly Result[] = [0, 0, 1, 1, 1, 2, 'odd', 'odd', 'even', 'silent'];

function settledAs(result: Result, kind: string): Settled | null {
  if (result === 'silent') return null;
  if (typeof result === 'number')
    return {
      ok: true,
      value: kind === 'model' ? { text: `{"v": ${result}}`, toolCalls: [], parts: [] } : { v: result },
    };
  const error =
    result === 'odd'
      ? ({ class: 'transient', type: 'OddError', message: 'odd' } as const)
      : ({ class: 'semantic', type: 'EvenError', message: 'even' } as const);
  return { ok: false, error };
}

function draw(seed: number, label: string): number {
  return createHash('sha256').update(`${seed} ${label}`).digest().readUInt32LE();
}
