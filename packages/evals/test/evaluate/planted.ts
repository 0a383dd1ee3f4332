/** The planted runs of all pathologies, and the remedies that their detectors give in every notation. */
import { PATHOLOGIES } from '../../src/diagnose/diagnose.ts';
import { trajectoryOf, type Trajectory } from '../../src/diagnose/trajectory.ts';
import { recordOf } from '../../src/journal/record.ts';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';
import { FIRST } from './planted-first.ts';
import type { Planted } from './planted-kit.ts';
import { REST } from './planted-rest.ts';

export const CASES: { readonly [id: string]: Planted } = { ...FIRST, ...REST };

export interface PlantedRun {
  readonly run: Trajectory;
  /** The remedy of the pathology, as if the document of the run were in this notation. Empty if nothing is found. */
  remedyIn(notation: string): string;
}

export async function plantedRun(id: string): Promise<PlantedRun> {
  const { document, script, peers, ...options } = await (CASES[id] as Planted)[0]();
  const { read } = await drive(compileLoop(document), script, options);
  const run = trajectoryOf(recordOf(read));
  const around = { successes: [], openQuestions: 0, now: read.state.now, ...peers };
  const detector = PATHOLOGIES.find((each) => each.id === id);
  return { run, remedyIn: (notation) => detector?.detect({ ...run, notation }, around)?.remedy ?? '' };
}
