/** A `staged` section that is checked, and the stages in it. */
import type { Tier } from '../../../ir/protections.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { ReadDocument } from '../../document/document.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import type { Path } from '../../source/located.ts';
import type { RawStage, RawStaged, Topology } from './schema.ts';

export interface Section {
  readonly body: Shaped<RawStaged>;
  readonly document: ReadDocument;
  readonly definitions: Definitions;
  readonly report: Report;
  readonly tier: Tier;
  /** Where the section is inside `staged`: empty, or the path of a team. */
  readonly path: Path;
  /** 1 for the section itself, 2 for its teams. */
  readonly depth: number;
}

interface Placed {
  readonly at: Path;
  readonly stage: RawStage;
}

/** Every map with stage keys. */
export function stagesOf(raw: RawStaged, topology: Topology): readonly Placed[] {
  const keys = ['plan', 'workers', 'debate', 'peers', 'board', 'swarm', 'aggregate', 'validate', 'finalize'] as const;
  const stages = keys.flatMap((key): Placed[] => {
    const stage = raw[key];
    return stage === undefined ? [] : [{ at: [key], stage }];
  });
  if (topology !== 'sop') return stages;
  return [...stages, ...(raw.sop ?? []).map((stage, index): Placed => ({ at: ['sop', index], stage }))];
}
