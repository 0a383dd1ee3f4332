/** Faults that a test puts between the engine and its world: calls that fail, hang, return nonsense or are denied. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Settled } from '@sluice-internal/kernel/ir';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { createChance } from '@sluice-internal/testing/chance';
import type { FaultPlan } from './schema.ts';

/** `seed` decides which calls a plan with a rate hits. */
export function withFaults(
  inner: Performer,
  plan: FaultPlan,
  seed: number,
  onHit: () => void = () => undefined,
): Performer {
  const chance = createChance(seed);
  return {
    ...inner,
    perform: async (call) => {
      if (!isHit(call, plan, () => chance.below(1000) / 1000)) return inner.perform(call);
      onHit();
      if (plan.kind !== 'delay') return faulty(call, plan);
      await call.clock.sleep(DELAY_MS, call.signal);
      return inner.perform(call);
    },
  };
}

const DELAY_MS = 3_600_000;

function isHit({ command }: Call, plan: FaultPlan, draw: () => number): boolean {
  const isOne = command.kind === 'model' || command.kind === 'tool';
  const isNamed = plan.agent !== undefined || plan.tool !== undefined;
  const isTarget = command.kind === 'model' ? plan.agent === command.name : plan.tool === command.name;
  if (!isOne || (isNamed && !isTarget)) return false;
  if (plan.rate !== undefined) return draw() < plan.rate;
  // Without a number, every call is hit.
  return plan.at === undefined || command.ordinal === plan.at - 1;
}

function faulty({ command }: Call, { kind }: FaultPlan): Settled {
  const fail = (failure: 'transient' | 'fatal' | 'policy', type: string, message: string): Settled => ({
    ok: false,
    error: { class: failure, type, message },
  });
  if (kind === 'fail') return fail('transient', 'TransientError', 'an injected failure');
  if (kind === 'fatal') return fail('fatal', 'FatalError', 'an injected failure');
  if (kind === 'deny') return fail('policy', 'PermissionError', '403 an injected denial');
  const value: Json = command.kind === 'model' ? { text: '{"injected": [' } : { injected: 'malformed' };
  return { ok: true, value, used: command.kind === 'model' ? { inputTokens: 1, outputTokens: 1, costMicros: 0 } : {} };
}

export function faultName({ name, agent, tool, kind, at, rate }: FaultPlan): string {
  if (name !== undefined) return name;
  const where = agent ?? tool ?? 'every call';
  return `${kind} ${where}${at === undefined ? '' : ` #${at}`}${rate === undefined ? '' : ` at ${Math.round(rate * 100)} %`}`;
}
