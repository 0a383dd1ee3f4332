/** The entry of a run in the index, as its state says it. */
import { earliest, statusOf } from '@sluice-internal/kernel/core';
import type { RunState } from '@sluice-internal/kernel/ir';
import type { RunEntryChange } from '../ports/ports.ts';

export function entryOf(state: RunState): RunEntryChange {
  const status = statusOf(state);
  if (state.outcome !== null) return { status, code: state.outcome.code, due: null };
  let code: RunEntryChange['code'] = null;
  if (status === 'suspended') for (const { question } of state.pending.values()) code ??= question?.code ?? null;
  // `wake` is a lower bound. A suspended run needs the exact time, or it would be claimed for nothing.
  return { status, code, due: status === 'suspended' ? earliest(state, -Infinity) : state.wake };
}
