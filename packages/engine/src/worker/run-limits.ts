/** What every run has a maximum of, whatever its document says: events, and the bytes of its large values. */
import { LIMITS, NEAR } from '@sluice-internal/kernel/ir';
import type { Fact, RunLimit } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import type { EngineOptions } from '../ports/types.ts';
import type { OwnedRun } from './owned-run.ts';

export type RunLimits = { readonly [limit in RunLimit]: number };

const MOST = { events: LIMITS.runEvents, bytes: LIMITS.runBytes, runs: LIMITS.openRuns } as const;

/** A program can only lower a limit. */
export function runLimits(given: EngineOptions['limits'] = {}): RunLimits & { readonly runs: number } {
  for (const [name, value] of Object.entries(given)) {
    const most = MOST[name as keyof typeof MOST] as number | undefined;
    if (most !== undefined && Number.isInteger(value) && value >= 1 && value <= most) continue;
    const names = Object.entries(MOST).map(([each, max]) => `\`${each}\` up to ${max}`);
    throw new SluiceError(
      'bad-start',
      `\`limits.${name}\` is ${most === undefined ? 'no limit of an engine' : `not a whole number from 1 to ${most}`}`,
      `Give ${names.join(', ')}.`,
    );
  }
  return { ...MOST, ...given };
}

/** The facts about limits that the run was not told yet. */
export function limitsMet({ state, seq, shelf }: OwnedRun, limits: RunLimits): readonly Fact[] {
  if (seq < NEAR * limits.events && shelf.size < NEAR * limits.bytes) return NONE;
  if (state === null || state.outcome !== null) return NONE;
  const used: RunLimits = { events: seq, bytes: shelf.size };
  return (['events', 'bytes'] as const).flatMap((limit) => {
    const told = state.met?.[limit];
    const max = limits[limit];
    const ends = used[limit] >= max;
    if (told === 'all' || used[limit] < NEAR * max || (told === 'near' && !ends)) return [];
    return [{ type: 'limit', limit, used: used[limit], max, ends } as const];
  });
}

const NONE: readonly Fact[] = [];
