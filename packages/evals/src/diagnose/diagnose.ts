/** Runs all detectors over a run. The part that failed is that of the report. */
import type { Report } from '@sluice-internal/engine/ports';
import type { RunRecord } from '../journal/record.ts';
import { PATHOLOGIES } from './pathologies.ts';
import type { Pathology } from './pathology.ts';
import { trajectoryOf } from './trajectory.ts';

export interface Finding extends Pick<Pathology, 'id' | 'title' | 'symptom' | 'mast'> {
  readonly seen: string;
  readonly events: readonly number[];
  /** The reaction that contained it, or the step to take now. */
  readonly containment: string;
  readonly contained: boolean;
  readonly remedy: string;
  readonly agent: string | null;
  readonly node: string | null;
}
export interface Diagnosis extends Pick<Report, 'run' | 'flow' | 'state' | 'code' | 'failure'> {
  readonly findings: readonly Finding[];
}

export function diagnose(record: RunRecord): Diagnosis {
  const { run, flow, state, code, failure } = record.report;
  return { run, flow, state, code, findings: findingsIn(record), failure };
}

function findingsIn(record: RunRecord): readonly Finding[] {
  const trajectory = trajectoryOf(record);
  return PATHOLOGIES.flatMap(({ id, title, symptom, mast, containment, detect }) => {
    const found = detect?.(trajectory) ?? null;
    if (found === null) return [];
    const { seen, contained, remedy, agent, node } = found;
    return [
      {
        ...{ id, title, symptom, seen },
        events: [...new Set(found.events)].sort((a, b) => a - b),
        containment: contained ?? `none took place. ${containment}`,
        contained: contained !== null,
        ...{ remedy, mast, agent, node },
      },
    ];
  });
}
