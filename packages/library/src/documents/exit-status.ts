/** The exit status of a command, and the status that the end of a run gives. */
import { isGood } from '@sluice-internal/kernel/ir';
import type { Report } from '@sluice-internal/engine/ports';

export const OK = 0 as const;
export const FAILED = 1 as const;
export const USAGE = 2 as const;
const WAITING = 3 as const;
/** The work ended, and nothing shows that it is right. */
const UNVERIFIED = 4 as const;
/** A command that returns no status exits with 0. */
export type ExitStatus = typeof OK | typeof FAILED | typeof USAGE | typeof WAITING | typeof UNVERIFIED;

export function statusOfRun(report: Pick<Report, 'state' | 'code'>): ExitStatus {
  if (report.state === 'suspended') return WAITING;
  if (report.code === 'UNVERIFIED') return UNVERIFIED;
  return isGood(report.code) ? OK : FAILED;
}

/** The worst of several statuses: a failure, else the first that is not OK. */
export function worst(statuses: readonly ExitStatus[]): ExitStatus {
  if (statuses.includes(FAILED)) return FAILED;
  return statuses.find((status) => status !== OK) ?? OK;
}
