/** The failure of a call that took effect and whose result cannot be used. */
import { builtinTool } from '@sluice-internal/kernel/catalog';
import { onlyReads } from '@sluice-internal/kernel/ir';
import { PerformError, failureOf } from '@sluice-internal/engine/ports';
import type { Call } from '@sluice-internal/engine/ports';

/** The failure of a call whose result cannot be used. The call took effect, unless the tool only reads. */
export function refusedResult(call: Call, error: unknown): PerformError {
  return new PerformError({ ...failureOf(error), ...(hasEffects(call) ? { ran: true } : {}) });
}

export function hasEffects({ command: { name }, flow }: Call): boolean {
  const { effect = 'write' } = flow.tools[name] ?? builtinTool(name) ?? {};
  return !onlyReads(effect);
}
