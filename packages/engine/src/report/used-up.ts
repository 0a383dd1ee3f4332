/** Who used a limit up. */
import { dimensionRow, isCounted, shortfall, shownAmount } from '@sluice-internal/kernel/ir';
import type { Meter, RunState } from '@sluice-internal/kernel/ir';
import type { RunCall } from './calls.ts';

type Unit = Meter['unit'];

const SHOWN_MAX = 3;

export function limitText(meter: Meter, trip: { readonly left: number; readonly needs: number }): string {
  return isCounted(meter.unit) ? shortfall(meter, trip) : `${meter.label} is used up`;
}

/** The calls that most of it went to. Time is that from a request to its end. */
export function usedUpBy(
  { calls, state }: { readonly calls: readonly RunCall[]; readonly state: RunState },
  unit: Unit,
): string {
  const sums = new Map<string, number>();
  for (const call of calls) {
    const amount = amountOf(call, unit, state.now);
    if (amount > 0) sums.set(call.name, (sums.get(call.name) ?? 0) + amount);
  }
  const most = [...sums].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN_MAX);
  const shown = most.map(([name, amount]) => `${name} (${shownOf(unit, amount)})`);
  return shown.length === 0 ? '' : `; used by ${shown.join(', ')}`;
}

function amountOf({ kind, at, attempts }: RunCall, unit: Unit, now: number): number {
  if (unit === 'time') return (attempts.at(-1)?.at ?? now) - at;
  if (!isCounted(unit)) return 0;
  if (dimensionRow(unit).call === kind) return attempts.length === 0 ? 0 : 1;
  return attempts.reduce((sum, { used }) => sum + (used[unit] ?? 0), 0);
}

function shownOf(unit: Unit, amount: number): string {
  if (!isCounted(unit)) return `${amount / 1000} s`;
  const shown = Number(shownAmount(unit, amount).toPrecision(6));
  return unit === 'costMicros' ? `$${shown}` : String(shown);
}
