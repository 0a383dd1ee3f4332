/** Faults below SQLite: every operation of a refund fails once. A round has one kind of fault. */
import { createChance } from '../crash/chance.ts';
import { FAULTS, FaultyDisk } from '../crash/faulty-disk.ts';
import type { Fault } from '../crash/faulty-disk.ts';
import type { Part, Round } from './part.ts';

export const faults: Part = {
  name: 'faults',
  promise: 'whatever operation of the disk fails, and if the power is cut, a refund is paid once',
  round: attack,
};

const AT_ONCE = 2;
const DRAWN = 5;

async function attack(seed: number, size: 'short' | 'long'): Promise<Round> {
  const disk = new FaultyDisk();
  try {
    const skipped = disk.build();
    if (skipped !== null) return { figures: {}, violations: [], skipped };
    const most = await disk.operations();
    const kind = FAULTS[seed % FAULTS.length] ?? 'eio';
    const every = Array.from({ length: most }, (_, index) => faultAt(kind, index + 1, most, seed));
    const made = size === 'long' ? every : every.filter((_, index) => index % Math.ceil(most / DRAWN) === 0);
    const next = made.values();
    const violations: string[] = [];
    const worker = async (): Promise<void> => {
      for (const fault of next) violations.push(...(await disk.refund(fault)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return { figures: { operations: most, [kind]: made.length }, violations };
  } finally {
    disk.remove();
  }
}

export function faultAt(kind: Fault['kind'], at: number, most: number, seed: number): Fault {
  const chance = createChance(seed + at);
  if (kind === 'lie') return { kind, at, cut: at + chance.below(most - at + 1) };
  // A disk that never answers again is waited for, so only a full one stays as it is.
  return { kind, at, times: chance.flip(0.25) ? (kind === 'enospc' ? 1000 : 4) : 1 };
}
